// Calls and heritage of a TypeScript project as the compiler's own language service resolves them.
//
// node truth_typescript.mjs FOLDER > truth.jsonl      (needs the npm package `typescript`)
//
// One JSON object a line: {kind, path, line, name, targets: [{path, line, name}], others, resolved}.
// `targets` are functions, methods and classes of the folder, `others` what else of it is called
// (parameters, properties, members of interfaces); `resolved` is false where the compiler has no answer.
import { createRequire } from "node:module";
import path from "node:path";
import fs from "node:fs";

const require = createRequire(path.join(process.cwd(), "index.js"));
const ts = require("typescript");
const root = fs.realpathSync(process.argv[2]);
const LEFT_OUT = new Set(["node_modules", "dist", "build", ".git"]);

function sources(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const place = path.join(folder, entry.name);
    if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : sources(place);
    return /\.(ts|tsx|mts|cts|js|jsx|mjs)$/.test(entry.name) && !/\.d\.[mc]?ts$/.test(entry.name) ? [place] : [];
  });
}

// Nothing is installed: packages of one workspace find each other by name, as their manager would link them.
function workspace(folder) {
  const manifest = path.join(folder, "package.json");
  const own = {};
  if (fs.existsSync(manifest)) {
    const { name } = JSON.parse(fs.readFileSync(manifest, "utf8"));
    const place = path.relative(root, path.join(folder, "src"));
    if (name) Object.assign(own, { [name]: [`./${place}/index`], [`${name}/*`]: [`./${place}/*`] });
  }
  for (const entry of fs.readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory() && !LEFT_OUT.has(entry.name)) Object.assign(own, workspace(path.join(folder, entry.name)));
  return own;
}

const program = ts.createProgram(sources(root), {
  allowJs: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler, jsx: ts.JsxEmit.Preserve, noEmit: true,
  strict: true, skipLibCheck: true, esModuleInterop: true, allowImportingTsExtensions: true,
  baseUrl: root, paths: workspace(root),
});
const checker = program.getTypeChecker();

const lineOf = (file, node) => file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
const relative = (file) => path.relative(root, file.fileName).split(path.sep).join("/");
const inside = (file) => !relative(file).startsWith("..") && !relative(file).includes("node_modules/");

function isFunctionLike(declaration) {
  if (ts.isFunctionDeclaration(declaration) || ts.isMethodDeclaration(declaration)) return true;
  if (ts.isClassDeclaration(declaration) || ts.isConstructorDeclaration(declaration)) return true;
  const value = declaration.initializer;
  return Boolean(value) && (ts.isArrowFunction(value) || ts.isFunctionExpression(value));
}

function resolve(name) {
  let symbol = checker.getSymbolAtLocation(name);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  return symbol;
}

function emit(kind, file, name, symbol, keep) {
  const declarations = symbol?.declarations ?? [];
  const here = declarations.filter((d) => inside(d.getSourceFile()));
  const place = (d) => ({
    path: relative(d.getSourceFile()), line: lineOf(d.getSourceFile(), d.name ?? d), name: symbol.name,
  });
  console.log(JSON.stringify({
    kind, path: relative(file), line: lineOf(file, name), name: name.text, resolved: declarations.length > 0,
    targets: here.filter(keep).map(place), others: here.filter((d) => !keep(d)).map(place),
  }));
}

for (const file of program.getSourceFiles()) {
  if (file.isDeclarationFile || !inside(file)) continue;
  const visit = (node) => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const called = node.expression;
      const name = ts.isIdentifier(called) ? called : ts.isPropertyAccessExpression(called) ? called.name : null;
      if (name) emit("call", file, name, resolve(name), isFunctionLike);
    }
    if ((ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) && node.name) {
      for (const clause of node.heritageClauses ?? [])
        for (const type of clause.types) {
          const base = ts.isPropertyAccessExpression(type.expression) ? type.expression.name : type.expression;
          if (ts.isIdentifier(base))
            emit("inherit", file, base, resolve(base), (d) => ts.isClassDeclaration(d) || ts.isInterfaceDeclaration(d));
        }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
}
