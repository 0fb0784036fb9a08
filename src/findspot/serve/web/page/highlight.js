// Syntax colours: comments, strings, numbers, keywords and calls, by family of language. Small on
// purpose; a wrong colour is harmless, since a token is only ever text with a class.

import { h, visible } from "./dom.js";

const words = (text) => new Set(text.split(" "));

const C_LIKE = words(
  "abstract as async await auto bool boolean break byte case catch char class const constexpr continue crate default defer delete do double dyn else enum explicit export extends extern false final finally float fn for foreach from fun func function get go goto if impl implements import in inline instanceof int interface internal is lateinit let long loop match mod move mut namespace new nil null nullptr object of open operator override package private protected pub public range readonly record ref return sealed select self Self set short signed sizeof static string struct super suspend switch template this throw throws trait true try type typedef typename typeof undefined union unsafe unsigned use using val var virtual void volatile when where while with yield map chan fallthrough guard extension protocol init",
);
const PYTHON = words(
  "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match case None nonlocal not or pass raise return self cls True try while with yield",
);
const RUBY = words(
  "alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require attr_reader attr_accessor attr_writer raise defmodule defp fn use import local function",
);
const SHELL = words(
  "if then else elif fi for in do done while until case esac function return local export readonly set unset shift exit echo source trap true false",
);
const SQL = words(
  "select from where insert into values update set delete create table index view drop alter add column primary key foreign references not null default unique constraint join left right inner outer on group by order having limit offset union all as and or in is like between exists case when then else end begin commit rollback with returning integer text varchar boolean timestamp",
);
const LISP = words(
  "defn def let fn if cond do loop recur ns require import defmacro lambda define set begin quote",
);
const HASKELL = words(
  "module where import data type newtype class instance deriving case of let in if then else do qualified as infixl infixr forall match with function begin end val fun rec mutable open",
);
const NONE = new Set();

const family = (line, block, quotes, keywords, options = {}) => ({
  line,
  block,
  quotes,
  keywords,
  ...options,
});
const CURLY = family(["//"], ["/*", "*/"], ['"', "'", "`"], C_LIKE);
const HASH = family(["#"], null, ['"', "'"], SHELL);
const FAMILIES = {
  python: family(["#"], null, ['"""', "'''", '"', "'"], PYTHON),
  starlark: "python",
  ruby: family(["#"], null, ['"', "'"], RUBY),
  elixir: "ruby",
  perl: "ruby",
  r: "ruby",
  julia: "ruby",
  lua: family(["--"], null, ['"', "'"], RUBY),
  bash: HASH,
  make: HASH,
  dockerfile: HASH,
  fish: HASH,
  yaml: HASH,
  toml: HASH,
  properties: HASH,
  env: HASH,
  requirements: HASH,
  cmake: HASH,
  terraform: HASH,
  nix: HASH,
  powershell: HASH,
  awk: HASH,
  tcl: HASH,
  graphql: HASH,
  gitignore: HASH,
  php: family(["//", "#"], ["/*", "*/"], ['"', "'"], C_LIKE),
  rust: family(["//"], ["/*", "*/"], ['"'], C_LIKE),
  ocaml: family([], ["(*", "*)"], ['"'], HASKELL),
  fsharp: family(["//"], ["(*", "*)"], ['"'], HASKELL),
  sql: family(["--"], ["/*", "*/"], ["'", '"'], SQL, { anyCase: true }),
  haskell: family(["--"], ["{-", "-}"], ['"'], HASKELL),
  elm: "haskell",
  purescript: "haskell",
  clojure: family([";"], null, ['"'], LISP),
  commonlisp: "clojure",
  elisp: "clojure",
  scheme: "clojure",
  ini: family([";", "#"], null, [], NONE),
  html: family([], ["<!--", "-->"], ['"'], NONE),
  xml: "html",
  vue: CURLY,
  svelte: CURLY,
  css: family([], ["/*", "*/"], ['"', "'"], NONE),
  scss: family(["//"], ["/*", "*/"], ['"', "'"], NONE),
  json: family(["//"], null, ['"'], words("true false null")),
  erlang: family(["%"], null, ['"', "'"], C_LIKE),
  latex: family(["%"], null, [], NONE),
  vim: family([], null, ["'"], C_LIKE),
  markdown: null,
  mdx: null,
  rst: null,
  asciidoc: null,
  org: null,
  text: null,
  csv: null,
  po: family(["#"], null, ['"'], NONE),
  notebook: null,
};

function familyOf(language) {
  let found = language in FAMILIES ? FAMILIES[language] : CURLY;
  if (typeof found === "string") found = FAMILIES[found];
  return found;
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const scanners = new Map();

function scannerOf(kind) {
  if (!scanners.has(kind)) {
    const comments = kind.line.map((mark) => `${escaped(mark)}[^\\n]*`);
    if (kind.block) comments.push(`${escaped(kind.block[0])}[\\s\\S]*?(?:${escaped(kind.block[1])}|$)`);
    const strings = kind.quotes.map((quote) => {
      const stop = quote.length === 3 || quote === "`" ? "" : "\\n";
      return quote.length === 3
        ? `${quote}[\\s\\S]*?(?:${quote}|$)`
        : `${quote}(?:\\\\[\\s\\S]|[^\\\\${quote}${stop}])*(?:${quote}|(?=\\n)|$)`;
    });
    const group = (name, choices) => (choices.length ? `(?<${name}>${choices.join("|")})|` : "");
    scanners.set(
      kind,
      new RegExp(
        `${group("comment", comments)}${group("string", strings)}(?<number>\\b\\d[\\w.]*)|(?<word>[A-Za-z_$][\\w$]*)|(?<mark>@[\\w.]+)`,
        "g",
      ),
    );
  }
  return scanners.get(kind);
}

/** The text as `[class, text]` pieces, in order and complete. */
export function pieces(text, language) {
  const kind = familyOf(language);
  if (!kind) return [["", text]];
  const found = [];
  let last = 0;
  for (const match of text.matchAll(scannerOf(kind))) {
    const { groups } = match;
    const name = groups.comment
      ? "comment"
      : groups.string
        ? "string"
        : groups.number
          ? "number"
          : groups.mark
            ? "mark-at"
            : wordClass(match, text, kind);
    if (!name) continue;
    if (match.index > last) found.push(["", text.slice(last, match.index)]);
    found.push([name, match[0]]);
    last = match.index + match[0].length;
  }
  if (last < text.length) found.push(["", text.slice(last)]);
  return found;
}

function wordClass(match, text, kind) {
  const word = match[0];
  if (kind.keywords.has(kind.anyCase ? word.toLowerCase() : word)) return "keyword";
  if (text[match.index + word.length] === "(") return "call";
  return /^[A-Z][a-z]/.test(word) ? "type" : "";
}

/** What to mark in a text that answers a query: the query's words, or its pattern. */
export function matcher(query, mode) {
  try {
    if (mode === "regex") return query ? new RegExp(query, "g") : null;
  } catch {
    return null;
  }
  const parts = query.match(/[\p{L}\p{N}_]{2,}/gu) || [];
  const all = parts
    .flatMap((part) => [part, ...part.split(/_|(?<=[a-z])(?=[A-Z])/)])
    .filter((part) => part.length > 2 && !COMMON.has(part.toLowerCase()));
  if (!all.length) return null;
  const longest = [...new Set(all.map((part) => part.toLowerCase()))]
    .sort((a, b) => b.length - a.length)
    .slice(0, 24);
  return new RegExp(longest.map(escaped).join("|"), "gi");
}

const COMMON = words(
  "the and for are how does what where which when who why with that this from into has have not can is in of to it its there",
);

/** Lines of code as elements, one each; all of the text is read, so that a piece of it is coloured right. */
export function lineElements(text, language, { match = null, first = 0, last = Infinity, dedent = 0 } = {}) {
  const lines = [];
  let at = 0;
  if (first === 0) lines.push(h("code", {}));
  for (const [name, piece] of pieces(text, language)) {
    for (const [index, part] of piece.split("\n").entries()) {
      if (index) at += 1;
      if (at >= last) return lines;
      if (at < first) continue;
      if (lines.length <= at - first) lines.push(h("code", {}));
      const line = lines[at - first];
      const shown =
        dedent && !line.firstChild
          ? part.slice(Math.min(dedent, part.length - part.trimStart().length))
          : part;
      if (shown) line.append(...colored(shown, name, match));
    }
  }
  return lines;
}

function colored(text, name, match) {
  const parts = marked(text, match);
  return name ? [h("span", { class: `tk-${name}` }, parts)] : parts;
}

/** Text with what matches marked. */
export function marked(text, match) {
  if (!match) return visible(text);
  const found = [];
  let last = 0;
  for (const hit of text.matchAll(match)) {
    if (!hit[0]) continue;
    found.push(...visible(text.slice(last, hit.index)), h("mark", {}, visible(hit[0])));
    last = hit.index + hit[0].length;
  }
  return [...found, ...visible(text.slice(last))].filter((part) => part !== "");
}
