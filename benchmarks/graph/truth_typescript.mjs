// Calls, supertypes and imports of a TypeScript or JavaScript project as the TypeScript compiler resolves them.
//
// node truth_typescript.mjs FOLDER > truth.jsonl      (needs the npm package `typescript`, version 5)
//
// The truth is written in the format of `benchmarks.graph.measure`. A call counts for the declaration of what
// is called: a function, method, method of an interface, or class. Where that is a variable, parameter or
// property, it counts for the named function that the compiler knows to be its value, if any. An element of
// JSX is a call of its component; a decorator is no call. What has the type `any` is not resolved.
import { createRequire } from "node:module";
import path from "node:path";
import fs from "node:fs";

const require = createRequire(path.join(process.cwd(), "index.js"));
const ts = require("typescript");
const root = fs.realpathSync(process.argv[2]);
const LEFT_OUT = new Set(["node_modules", "dist", "build", ".git"]);
const SUFFIXES = ["", ".ts", ".tsx", ".mts", ".js", ".mjs", ".cjs", ".jsx"];

function sources(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const place = path.join(folder, entry.name);
    if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : sources(place);
    const isSource = /\.(ts|tsx|mts|cts|js|jsx|mjs|cjs)$/.test(entry.name) && !/\.d\.[mc]?ts$/.test(entry.name);
    return entry.isFile() && isSource ? [place] : [];
  });
}

function isFile(place) {
  return SUFFIXES.some((suffix) => fs.existsSync(place + suffix) && fs.statSync(place + suffix).isFile());
}

// Nothing is installed: packages of one workspace find each other by name, as their manager would link them.
function workspace(folder) {
  const manifest = path.join(folder, "package.json");
  const own = {};
  if (fs.existsSync(manifest)) {
    let written = {};
    try { written = JSON.parse(fs.readFileSync(manifest, "utf8")); } catch { /* a fixture */ }
    const entries = ["src/index", written.main, "index", "lib/index"].filter((entry) => typeof entry === "string");
    const entry = entries.find((each) => isFile(path.join(folder, each)));
    const place = path.relative(root, folder);
    if (written.name && entry)
      Object.assign(own, {
        [written.name]: [`./${path.join(place, entry)}`],
        [`${written.name}/*`]: [`./${path.join(place, "src")}/*`, `./${place}/*`],
      });
  }
  for (const entry of fs.readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory() && !LEFT_OUT.has(entry.name)) Object.assign(own, workspace(path.join(folder, entry.name)));
  return own;
}

// The paths of the project's own tsconfig, which lead to its sources.
function configured() {
  const place = path.join(root, "tsconfig.json");
  if (!fs.existsSync(place)) return {};
  const { config } = ts.readConfigFile(place, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config ?? {}, ts.sys, root);
  const base = options.baseUrl ?? root;
  const below = ([pattern, targets]) =>
    [pattern, targets.map((each) => `./${path.relative(root, path.resolve(base, each))}`)];
  return Object.fromEntries(Object.entries(options.paths ?? {}).map(below));
}

const options = {
  allowJs: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler, jsx: ts.JsxEmit.Preserve, noEmit: true,
  strict: true, skipLibCheck: true, esModuleInterop: true, allowImportingTsExtensions: true,
  experimentalDecorators: true, maxNodeModuleJsDepth: 0, baseUrl: root,
  paths: { ...workspace(root), ...configured() },
};
const host = ts.createCompilerHost(options);
const { fileExists } = host;
// Declarations beside the code that they declare would hide it.
host.fileExists = (file) => {
  const code = /^(.*)\.d\.([mc]?)ts$/.exec(file);
  const isInProject = code && !file.includes("node_modules") && file.startsWith(root);
  return fileExists(file) && !(isInProject && fileExists(`${code[1]}.${code[2]}js`));
};
const program = ts.createProgram(sources(root), options, host);
const checker = program.getTypeChecker();

const lineOf = (file, node) => file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
const relative = (file) => path.relative(root, file.fileName).split(path.sep).join("/");
const isInside = (place) => !place.startsWith("..") && !place.split("/").some((part) => LEFT_OUT.has(part));
const inside = (file) => isInside(relative(file));

function bare(node) {
  while (node && (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node)
    || ts.isNonNullExpression(node) || ts.isAwaitExpression(node)))
    node = node.expression;
  return node;
}

const isFunction = (node) => ts.isFunctionExpression(node) || ts.isArrowFunction(node) || ts.isClassExpression(node);

// What a declaration makes its name stand for: the right side of an assignment, the value of a property.
function valueOf(declaration) {
  let node = declaration;
  if (ts.isBinaryExpression(node.parent ?? node) && node.parent.left === node) node = node.parent;
  while (ts.isBinaryExpression(node)) node = bare(node.right);
  if (node !== declaration) return node;
  if (ts.isExportAssignment(node)) return bare(node.expression);
  return bare(node.initializer);
}

// The functions, methods and classes that a declaration is or holds; names are followed.
function functions(declaration, depth = 0) {
  if (ts.isFunctionDeclaration(declaration) || ts.isMethodDeclaration(declaration)) return [declaration];
  if (ts.isMethodSignature(declaration) || ts.isClassDeclaration(declaration)) return [declaration];
  if (ts.isConstructorDeclaration(declaration)) return [declaration.parent];
  if (isFunction(declaration)) return [declaration];
  if (ts.isParameter(declaration) || depth > 5) return [];
  if (ts.isBindingElement(declaration)) return member(declaration, depth);
  if (ts.isShorthandPropertyAssignment(declaration))
    return held(checker.getShorthandAssignmentValueSymbol(declaration), depth);
  const value = valueOf(declaration);
  if (!value) return [];
  if (isFunction(value)) return [declaration];
  return ts.isIdentifier(value) || ts.isPropertyAccessExpression(value) ? held(resolve(nameOf(value)), depth) : [];
}

function member(element, depth) {
  const name = element.propertyName ?? element.name;
  if (!ts.isIdentifier(name) || !ts.isObjectBindingPattern(element.parent)) return [];
  return held(checker.getPropertyOfType(checker.getTypeAtLocation(element.parent), name.text), depth);
}

const held = (symbol, depth) => (symbol?.declarations ?? []).flatMap((each) => functions(each, depth + 1));

// The named function whose signature a call has, where the name that is called is that of a variable.
function signed(call) {
  if (ts.isJsxOpeningLikeElement(call)) return [];
  const declaration = checker.getResolvedSignature(call)?.declaration;
  if (!declaration || ts.isJSDocSignature(declaration)) return [];
  const named = isFunction(declaration) && declaration.parent;
  if (named && (ts.isVariableDeclaration(named) || ts.isPropertyAssignment(named) || ts.isPropertyDeclaration(named)
    || ts.isBinaryExpression(named) || ts.isExportAssignment(named)))
    return [named];
  return ts.isFunctionDeclaration(declaration) || ts.isMethodDeclaration(declaration) ? [declaration] : [];
}

function nameOf(called) {
  const node = bare(called);
  return ts.isIdentifier(node) ? node : ts.isPropertyAccessExpression(node) ? node.name : null;
}

function resolve(name) {
  let symbol = name && checker.getSymbolAtLocation(name);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  return symbol;
}

function place(declaration, symbol) {
  const file = declaration.getSourceFile();
  let node = declaration.name ?? declaration;
  if (ts.isBinaryExpression(node)) node = node.left;
  if (ts.isPropertyAccessExpression(node)) node = node.name;
  const own = declaration.name ?? node;
  const name = ts.isIdentifier(own) || ts.isStringLiteral(own) || ts.isPrivateIdentifier(own) ? own.text : symbol.name;
  return { path: relative(file), line: lineOf(file, node), name };
}

function emit(kind, file, name, symbol, targets) {
  const declarations = symbol?.declarations ?? [];
  const isHere = (each) => inside(each.getSourceFile());
  console.log(JSON.stringify({
    kind, path: relative(file), line: lineOf(file, name), name: name.text,
    resolved: declarations.length > 0 && (targets.length > 0 || !(checker.getTypeAtLocation(name).flags & ts.TypeFlags.Any)),
    targets: [...new Set(targets)].filter(isHere).map((each) => place(each, symbol)),
    others: declarations.filter((each) => isHere(each) && !targets.includes(each)).map((each) => place(each, symbol)),
  }));
}

function emitCall(file, call, name) {
  const symbol = resolve(name);
  const declared = (symbol?.declarations ?? []).flatMap((each) => functions(each));
  emit("call", file, name, symbol, symbol && !declared.length ? signed(call) : declared);
}

function emitBases(file, node) {
  for (const clause of node.heritageClauses ?? [])
    for (const type of clause.types) {
      const name = nameOf(type.expression);
      const symbol = resolve(name);
      const isType = (d) => ts.isClassLike(d) || ts.isInterfaceDeclaration(d) || ts.isFunctionDeclaration(d);
      const direct = (symbol?.declarations ?? []).flatMap((d) => (isType(d) ? [d] : functions(d)));
      if (name) emit("inherit", file, name, symbol, direct);
    }
}

// The files that an import passes on its way to the definition, and those that define it at last.
function filesOf(name) {
  const between = [];
  let symbol = checker.getSymbolAtLocation(name);
  for (let steps = 0; symbol && symbol.flags & ts.SymbolFlags.Alias && steps < 20; steps += 1) {
    symbol = checker.getImmediateAliasedSymbol(symbol);
    between.push(symbol);
  }
  const filesIn = (each) => (each?.declarations ?? []).map((declaration) => declaration.getSourceFile());
  const files = (symbols) => symbols.flatMap(filesIn).filter(inside).map(relative);
  return { last: files(between.slice(-1)), between: files(between.slice(0, -1)) };
}

function emitImport(file, node, specifier, names, whole = []) {
  const found = ts.resolveModuleName(specifier.text, file.fileName, options, host).resolvedModule;
  const isCode = found && found.extension !== ".json";
  const named = isCode && [relative({ fileName: fs.realpathSync(found.resolvedFileName) })].filter(isInside);
  const steps = names.map(filesOf);
  const paths = new Set([...(named || []), ...steps.flatMap((each) => each.last)]);
  const others = [...steps.flatMap((each) => each.between), ...whole.map(filesOf).flatMap((each) => each.last)];
  console.log(JSON.stringify({
    kind: "import", path: relative(file), line: lineOf(file, node), name: specifier.text,
    reexport: ts.isExportDeclaration(node),
    targets: [...paths].map((each) => ({ path: each })),
    others: [...new Set(others)].filter((each) => !paths.has(each)).map((each) => ({ path: each })),
  }));
}

function imports(file, node) {
  if (ts.isImportDeclaration(node)) {
    const { name, namedBindings } = node.importClause ?? {};
    const named = namedBindings && ts.isNamedImports(namedBindings) ? namedBindings.elements : [];
    emitImport(file, node, node.moduleSpecifier, [...(name ? [name] : []), ...named.map((each) => each.name)]);
  } else if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
    const clause = node.exportClause;
    const named = clause && ts.isNamedExports(clause) ? clause.elements.map((each) => each.name) : [];
    emitImport(file, node, node.moduleSpecifier, named);
  } else if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
    emitImport(file, node, node.moduleReference.expression, [], [node.name]);
  } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    emitImport(file, node, node.argument.literal, node.qualifier && ts.isIdentifier(node.qualifier) ? [node.qualifier] : []);
  } else if (ts.isCallExpression(node) && node.arguments.length && ts.isStringLiteralLike(node.arguments[0])) {
    const isLoad = node.expression.kind === ts.SyntaxKind.ImportKeyword
      || (ts.isIdentifier(node.expression) && node.expression.text === "require");
    const holder = bare(node.parent);
    const target = isLoad && holder && ts.isVariableDeclaration(holder) ? holder.name : undefined;
    if (isLoad) emitImport(file, node, node.arguments[0], [], target && ts.isIdentifier(target) ? [target] : []);
  }
}

for (const file of program.getSourceFiles()) {
  if (file.isDeclarationFile || !inside(file)) continue;
  const visit = (node) => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const name = nameOf(node.expression);
      const isRequire = name?.text === "require" && ts.isIdentifier(node.expression);
      if (name && !ts.isDecorator(node.parent) && !isRequire) emitCall(file, node, name);
    } else if (ts.isJsxOpeningLikeElement(node)) {
      const name = nameOf(node.tagName);
      if (name && /^[A-Z]/.test(name.text)) emitCall(file, node, name);
    } else if (ts.isClassLike(node) || ts.isInterfaceDeclaration(node)) emitBases(file, node);
    imports(file, node);
    ts.forEachChild(node, visit);
  };
  visit(file);
}
