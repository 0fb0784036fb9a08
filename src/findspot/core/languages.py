"""The table of languages: how to recognise a file's language, and which grammar reads it.

Discovery and chunking both read it, so it lives below both. Adding a language is one row
here, one query file in `chunk/queries/`, and one golden test.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """One row: `grammar` is the module of a grammar wheel, None where text is split plainly."""

    name: str
    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    grammar: str | None = None
    entry: str = "language"
    """The function of `grammar` that returns the language."""
    extra: bool = False
    """The grammar's wheel belongs to the extra `languages`; without it, text is split plainly."""
    data: bool = False
    """Configuration and data rather than code."""
    docs: bool = False
    """Prose rather than code."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _code(name: str, extensions: str, grammar: str, *, entry: str = "language", files: str = "") -> Language:
    return Language(name, _words(extensions), _words(files), f"tree_sitter_{grammar}", entry)


def _tail(name: str, extensions: str, *, files: str = "", grammar: str | None = None) -> Language:
    module = f"tree_sitter_{grammar}" if grammar else None
    return Language(name, _words(extensions), _words(files), module, extra=bool(grammar))


def _data(name: str, extensions: str, *, files: str = "") -> Language:
    return Language(name, _words(extensions), _words(files), data=True)


def _docs(name: str, extensions: str, *, files: str = "") -> Language:
    return Language(name, _words(extensions), _words(files), docs=True)


PLAIN = "text"
"""The language of everything unknown."""

LANGUAGES: tuple[Language, ...] = (
    _code("python", "py pyi pyw", "python", files="SConstruct SConscript wscript"),
    _code("javascript", "js jsx mjs cjs", "javascript", files="Jakefile"),
    _code("typescript", "ts mts cts", "typescript", entry="language_typescript"),
    _code("tsx", "tsx", "typescript", entry="language_tsx"),
    _code("go", "go", "go"),
    _code("java", "java", "java"),
    _code("kotlin", "kt kts", "kotlin"),
    _code("scala", "scala sc sbt", "scala"),
    _code("c", "c h", "c"),
    _code("cpp", "cpp cc cxx c++ hpp hh hxx h++ ipp tpp inl cu cuh ino", "cpp"),
    _code("csharp", "cs csx", "c_sharp"),
    _code("rust", "rs", "rust"),
    _code(
        "ruby",
        "rb rake gemspec ru podspec",
        "ruby",
        files="Gemfile Rakefile Vagrantfile Podfile Fastfile Guardfile Brewfile Capfile",
    ),
    _code("php", "php php3 php4 php5 php7 phtml", "php", entry="language_php"),
    _code("swift", "swift", "swift"),
    _code("elixir", "ex exs", "elixir"),
    _code("haskell", "hs", "haskell"),
    _code("lua", "lua rockspec", "lua"),
    _code(
        "bash",
        "sh bash zsh ksh bats ebuild",
        "bash",
        files=".bashrc .bash_profile .bash_aliases .profile .zshrc .zprofile PKGBUILD APKBUILD configure",
    ),
    _code("zig", "zig zon", "zig"),
    # The long tail: split as plain text, unless a grammar of the extra `languages` is installed.
    _tail("sql", "sql ddl dml psql pgsql", grammar="sql"),
    _tail("html", "html htm xhtml jinja jinja2 j2 hbs mustache ejs twig"),
    _tail("css", "css"),
    _tail("scss", "scss sass less"),
    _tail("vue", "vue"),
    _tail("svelte", "svelte"),
    _tail("astro", "astro"),
    _tail("dart", "dart"),
    _tail("terraform", "tf tfvars hcl", grammar="hcl"),
    _tail("proto", "proto"),
    _tail("graphql", "graphql gql graphqls"),
    _tail("thrift", "thrift"),
    _tail("r", "r"),
    _tail("julia", "jl"),
    _tail("perl", "pl pm t"),
    _tail("powershell", "ps1 psm1 psd1", grammar="powershell"),
    _tail("batch", "bat cmd"),
    _tail(
        "make",
        "mk mak make",
        files="Makefile makefile GNUmakefile Justfile justfile",
        grammar="make",
    ),
    _tail("cmake", "cmake", files="CMakeLists.txt"),
    _tail("dockerfile", "dockerfile containerfile", files="Dockerfile Containerfile"),
    _tail("groovy", "groovy gradle gvy", files="Jenkinsfile"),
    _tail("clojure", "clj cljs cljc edn bb"),
    _tail("erlang", "erl hrl escript"),
    _tail("ocaml", "ml mli"),
    _tail("fsharp", "fs fsi fsx"),
    _tail("objc", "m mm"),
    _tail("nix", "nix"),
    _tail("commonlisp", "lisp lsp cl asd"),
    _tail("elisp", "el"),
    _tail("scheme", "scm ss rkt"),
    _tail("fish", "fish"),
    _tail("vim", "vim", files=".vimrc"),
    _tail("fortran", "f f77 f90 f95 f03 f08 for"),
    _tail("pascal", "pas pp dpr"),
    _tail("ada", "adb ads"),
    _tail("matlab", "matlab"),
    _tail("verilog", "v vh sv svh"),
    _tail("vhdl", "vhd vhdl"),
    _tail("solidity", "sol"),
    _tail("gleam", "gleam"),
    _tail("elm", "elm"),
    _tail("purescript", "purs"),
    _tail("tcl", "tcl"),
    _tail("glsl", "glsl vert frag comp geom tesc tese"),
    _tail("hlsl", "hlsl"),
    _tail("wgsl", "wgsl"),
    _tail("asm", "asm s"),
    _tail("cuda", "ptx"),
    _tail("starlark", "bzl star bazel", files="BUILD WORKSPACE MODULE.bazel Tiltfile"),
    _tail("awk", "awk"),
    _tail("d", "d di"),
    _tail("nim", "nim nims"),
    _tail("haxe", "hx"),
    _tail("prisma", "prisma"),
    _tail("bicep", "bicep"),
    _tail("po", "po pot"),
    _data("yaml", "yaml yml", files=".clang-format .clang-tidy"),
    _data(
        "json",
        "json jsonc json5 jsonl ndjson geojson webmanifest map har",
        files=".babelrc .eslintrc .prettierrc .jshintrc",
    ),
    _data("toml", "toml", files="Pipfile"),
    _data("properties", "properties"),
    _data(
        "ini",
        "ini cfg conf cnf desktop service socket timer editorconfig",
        files=".editorconfig .gitconfig .gitmodules .npmrc .pylintrc .flake8 .coveragerc",
    ),
    _data("env", "env", files=".env.example .env.sample .env.template .env.dist env.example env.sample"),
    _data("csv", "csv tsv psv"),
    _data("xml", "xml xsd xsl xslt wsdl plist svg csproj vbproj fsproj props targets resx xaml pom"),
    _data("requirements", "", files="requirements.txt constraints.txt dev-requirements.txt"),
    _data("gomod", "", files="go.mod go.work go.sum"),
    _data(
        "ignore",
        "",
        files=".gitignore .dockerignore .npmignore .findspotignore .eslintignore .prettierignore",
    ),
    _data("gitattributes", "", files=".gitattributes"),
    _data("codeowners", "", files="CODEOWNERS"),
    _data("robots", "", files="robots.txt"),
    _data("manifest", "", files="MANIFEST.in"),
    _docs("markdown", "md markdown mdown mkd"),
    _docs("mdx", "mdx"),
    _docs("rst", "rst rest"),
    _docs("asciidoc", "adoc asciidoc asc"),
    _docs("rdoc", "rdoc"),
    _docs("org", "org"),
    _docs("latex", "tex latex"),
    _docs(PLAIN, "txt text", files="README LICENSE LICENCE COPYING NOTICE AUTHORS CHANGELOG CHANGES"),
    Language("notebook", ("ipynb",)),
)

BY_NAME: dict[str, Language] = {language.name: language for language in LANGUAGES}
_BY_EXTENSION = {extension: language.name for language in LANGUAGES for extension in language.extensions}
_BY_FILENAME = {name: language.name for language in LANGUAGES for name in language.filenames}

_STEMS = {"Dockerfile": "dockerfile", "Containerfile": "dockerfile", "Makefile": "make"}
"""Names that carry a suffix of their own: `Dockerfile.dev`, `Makefile.am`."""

_SECOND_SUFFIX = {"in", "tmpl", "tpl", "template", "sample", "example", "dist"}
"""Suffixes of templates: the language is that of the name before it."""


_ALSO_CALLED = {"c++": "cpp", "c#": "csharp", "golang": "go", "shell": "bash", "node": "javascript"}


def unknown_language(names: Iterable[str]) -> str | None:
    """Return a sentence about the first name that is no language, with the one that it may mean."""
    unknown = next((name for name in names if name.lower() not in BY_NAME), None)
    if unknown is None:
        return None
    import difflib

    low = unknown.lower()
    near = (
        _ALSO_CALLED.get(low)
        or _BY_EXTENSION.get(low)
        or next(iter(difflib.get_close_matches(low, BY_NAME, n=1)), None)
    )
    return f"Findspot knows no language '{unknown}'." + (f" Did you mean {near}?" if near else "")


def row(name: str) -> Language:
    """Return the row of a language; plain text for a name that is not in the table."""
    return BY_NAME.get(name) or BY_NAME[PLAIN]


def language_of(path: str) -> str:
    """Return the language of a file by its name."""
    name = path[path.rfind("/") + 1 :]
    by_filename = _BY_FILENAME.get(name)
    if by_filename:
        return by_filename
    stem, dot, extension = name.rpartition(".")
    if dot:
        known = _BY_EXTENSION.get(extension) or _BY_EXTENSION.get(extension.lower())
        if known and not (known == PLAIN and name.startswith(("requirements", "constraints"))):
            return known
        if known:
            return "requirements"
        head = _STEMS.get(name[: name.find(".")])
        if head:
            return head
        if extension in _SECOND_SUFFIX and "." in stem:
            return language_of(stem)
    return PLAIN
