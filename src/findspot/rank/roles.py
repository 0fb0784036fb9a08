"""The role of a file, read from its path: test, example, translation, copy of other code, source, …"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from functools import lru_cache

from findspot.core.languages import language_of, row


class Role(StrEnum):
    SOURCE = "source"
    TEST = "test"
    EXAMPLE = "example"
    DECLARATION = "declaration"
    TRANSLATION = "translation"
    CHANGELOG = "changelog"
    MANUAL = "manual"
    """A page of `man`."""
    DATA = "data"
    GENERATED = "generated"
    """Written by a schema compiler or a bundler. Only the name of the file is looked at."""
    VENDORED = "vendored"
    """Another project's code, copied here."""


_TEST = re.compile(
    r"(?:^|/)(?:[Tt]ests?|testing|__tests__|spec|specs|testdata|test_data|fixtures|__mocks__|mocks?|e2e)/"
    r"|[a-z.]Tests?/"  # androidTest, Shop.Tests
    r"|(?:^|/)(?:tests?|test_[^/]*|[^/]*_(?:test|unittest|spec)|[^/]*[.-](?:test|spec)|conftest)\.[^/]+$"
    r"|(?:^|/)[^/]*(?:Tests?|Spec|TestCase)\.(?:java|kt|kts|swift|cs|scala|php|groovy)$"
    r"|(?:^|/)[^/]+\.(?:bats)$"
)
_OFFERED_FOR_TESTS = re.compile(
    r"^(?:(?!(?:tests?|specs?|fixtures|testdata|mocks?)/)[^/]+/)+(?<!src/)test(?:ing)?/(?!(?:.*/)?tests?/)"
    r"(?:[^/]+/)*(?!test_|tests?\.|conftest)[^/]+(?<!_test)\.py$"
)
"""What a package offers to tests, as `django/test/client.py` does: modules that no test runner collects."""
_EXAMPLE = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|tutorials?|playground|benchmarks?|bench|legacy|deprecated)/",
    re.IGNORECASE,
)
_DECLARATION = re.compile(r"\.d\.[cm]?ts$|\.pyi$")

_CULTURE = (
    r"(?:a[abefkmnrsvyz]|b[aeghimnors]|c[aehorsuvy]|d[aevz]|e[elnostu]|f[afijory]|g[adlnuv]|h[aeiortuyz]|i[adgiknstu]"
    r"|j[av]|k[agijklmnoruvwy]|l[abgilntuv]|m[ghiklnrsty]|n[abdeglnorvy]|o[cjmrs]|p[ailst]|qu|r[mnouw]"
    r"|s[acdegiklmnoqrstuvw]|t[aeghiklnorstwy]|u[gkrz]|v[eio]|w[ao]|xh|y[io]|z[ahu])"  # ISO 639-1
    r"(?:[-_](?:r?[A-Z]{2}|[A-Z][a-z]{3}|\d{3})|-[a-z]{2}|_(?:br|cn|gb|hk|pt|tw|us)){0,2}(?:@\w+)?"
)
_OF_LANGUAGES = r"(?:^|/)(?i:locales?|i18n|l10n|translations)/"
_TRANSLATED_CODE = re.compile(
    rf"^(?!(?:.*/)?(?i:lang|languages)/).*?{_OF_LANGUAGES}(?:{_CULTURE}/.+|(?:[^/]+/)*{_CULTURE}\.\w+)$"
)
"""Code below `locale/` that is named after a language; `lang/` often holds programming languages."""
_TRANSLATION = re.compile(
    r"\.(?:po|pot|mo|xliff|xlf|arb|strings|stringsdict)$"
    r"|(?:^|/)(?i:locales?|lang|languages|i18n|l10n|translations)/"
    rf"(?:(?:[^/]+/)*{_CULTURE}/.+|(?:[^/]+/)*(?:[^/]+[._-])?{_CULTURE}\.(?:json|ya?ml|properties|toml|ini))$"
    rf"|(?:^|/)(?:values-{_CULTURE}/strings\.xml|[^/]+\.{_CULTURE}\.resx|[^/]+_{_CULTURE}\.properties)$"
)
"""Catalogues of messages."""
_CHANGELOG = re.compile(
    r"(?:^|/)(?:changes|change[-_]?logs?|history|news|release[-_]?notes)(?:[-_.]?v?[\d.x]+)?"
    r"(?:\.(?:md|markdown|rst|txt|adoc|org|html))?$"
    r"|(?:^|/)(?:change[-_]?logs?(?:\.d)?|newsfragments|\.changeset|release[-_]?notes|whats[-_]?new)/"
    r"|(?:^|/)docs?/(?:[^/]+/)*releases/[^/]+\.(?:md|rst|txt)$",
    re.IGNORECASE,
)
_MANUAL = re.compile(
    r"(?:^|/)(?:man|man\d|manpages?)/(?:[^/]+/)*[^/]+\.(?:\d|md|txt|rst|adoc|in|ronn)$|\.[1-8](?:\.in)?$"
)
_GENERATED = re.compile(
    r"_pb2(?:_grpc)?\.pyi?$|\.pb(?:\.gw)?\.(?:go|cc|h)$|_grpc\.pb\.go$|\.pb\.(?:swift|dart)$"
    r"|\.(?:g|freezed|gr|mocks)\.dart$|\.(?:g|[Dd]esigner|generated)\.cs$|[._-]generated\.\w+$|(?:^|/)zz_generated"
    r"|(?:^|/)(?:__generated__|generated)/|\.min\.(?:js|mjs|css)$|\.(?:js|css)\.map$|[.-]bundle\.js$"
    r"|(?<![^/])(?<!src/)dist/(?:[^/]+/)*[^/]+\.(?:[cm]?js|css)$|(?:^|/)(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml"
    r"|[\w-]+\.lock|go\.sum)$"
)
_VENDORED = re.compile(
    r"(?:^|/)(?:_vendor|vendored|third[-_]?party|3rd[-_]?party|node_modules|bower_components|Pods)/"
    r"|(?:^(?:(?:src|libs?|packages|pkg)/)?|(?:^|/)(?:assets|css|js|public|static)/)vendor/"
    r"(?:[^/]+/)*(?![^/]*[Vv]endor)[^/]+$"  # vendor/VendorService.java is about vendors
    r"|^(?:deps|extern|externals?)/[^/]+/"
)
_GHERKIN = re.compile(r"\.feature$")
_Patterns = tuple[tuple[Role, re.Pattern[str]], ...]
_OF_CODE: _Patterns = ((Role.TRANSLATION, _TRANSLATED_CODE),)
_OF_TEXT: _Patterns = (
    (Role.TRANSLATION, _TRANSLATION),
    (Role.CHANGELOG, _CHANGELOG),
    (Role.MANUAL, _MANUAL),
    (Role.TEST, _GHERKIN),
)
_COPIES: _Patterns = ((Role.GENERATED, _GENERATED), (Role.VENDORED, _VENDORED))

_MARKUP = frozenset({"css", "html", "po", "scss"})
HEADERS = (".h", ".hh", ".hpp", ".hxx")
IMPLEMENTATIONS = (".c", ".cc", ".cpp", ".cxx", ".m", ".mm")

ASKS_FOR_TESTS = re.compile(
    r"\b(?:(?:which|what|show|find|list|are there|any|all|the|unit|integration|regression|existing) "
    r"(?:\w+ )?(?:tests|specs|test cases?)\b(?! (?:run|are (?:run|collected|skipped|reported)|fail))"
    r"|(?:which|what) (?:test|spec)\b(?! (?:runner|command|framework))"
    r"|(?:tests?|specs?|test cases?) (?:for|of|that|covering|which|cover|exercising)\b"
    r"|(?:tested|covered by tests?|unit tests?|test suite for)\b)",
    re.IGNORECASE,
)
"""A plain wish for tests; the word alone is none: a project about testing is asked about its code."""

ASKS_FOR_EXAMPLES = re.compile(
    r"\b(?:examples?|samples?|demos?|tutorials?|benchmarks?|usage)\b", re.IGNORECASE
)


@lru_cache(maxsize=256)
def is_data(language: str) -> bool:
    """Return whether files of a language are data rather than code."""
    return row(language).data


def _is_code(path: str) -> bool:
    """Return whether a path names a file in a programming language."""
    language = row(language_of(path))
    return not (language.data or language.docs or language.name in _MARKUP)


def is_test(path: str) -> bool:
    return role_of(path) is Role.TEST


_COLLECTED = {
    "python": re.compile(r"(?:^|/)(?:test[^/]*|[^/]*_tests?|conftest)\.py$"),
    "go": re.compile(r"_test\.go$"),
    "ruby": re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_(?:test|spec)|(?:spec|test)_helper)\.rb$"),
    "java": re.compile(r"(?:^|/)(?:Tests?[^/]*|[^/]*(?:Tests?|TestCase|Spec|IT))\.java$"),
}
"""Language → the names of files that its test runners collect, where they agree on names."""


def is_collected(path: str) -> bool:
    """Return whether a test runner may collect a file, rather than only read or import it."""
    language = row(language_of(path))
    if pattern := _COLLECTED.get(language.name):
        return bool(pattern.search(path))
    return not (language.data or language.docs) or bool(_GHERKIN.search(path))


def declares_only(path: str, others: Collection[str]) -> bool:
    """Return whether a header has an implementation file next to it."""
    if not path.endswith(HEADERS):
        return False
    stem = path.rpartition(".")[0]
    return any(stem + end in others for end in IMPLEMENTATIONS)


@lru_cache(maxsize=100_000)
def role_of(path: str, data: bool = False) -> Role:
    """Return the first role that fits; names of folders are those in common use across languages."""
    if _TEST.search(path) and not _OFFERED_FOR_TESTS.search(path):
        return Role.TEST
    if _EXAMPLE.search(path):
        return Role.EXAMPLE
    if _DECLARATION.search(path):
        return Role.DECLARATION
    listed = _OF_CODE if _is_code(path) else _OF_TEXT
    if not data:
        listed += _COPIES
    fitting = next((role for role, pattern in listed if pattern.search(path)), None)
    return fitting or (Role.DATA if data else Role.SOURCE)


_PACKAGE = "__init__.py"
"""In Python every import is public; what a package imports at its top is what it offers."""


@lru_cache(maxsize=256)
def _statements(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    stated = rf"^[ \t]*(?:pub(?:\([\w: ]+\))? use|export)\b[^;]*?{word}"
    offered = rf"^from [.\w]+ import (?:[^#(\n]*|\([^)]*){word}"
    return re.compile(stated, re.MULTILINE), re.compile(offered, re.MULTILINE)


def re_exports(path: str, text: str, name: str) -> bool:
    """Return whether it says `pub use …name`, `export { name } from …`, or is a package that imports it."""
    if name not in text:
        return False
    stated, offered = _statements(name)
    in_package = path == _PACKAGE or path.endswith(f"/{_PACKAGE}")
    return bool(stated.search(text) or (in_package and offered.search(text)))


def folders_apart(path: str, other: str) -> int:
    """Return how many steps through folders lead from one file to another."""
    one, two = path.split("/")[:-1], other.split("/")[:-1]
    shared = next((n for n, parts in enumerate(zip(one, two, strict=False)) if parts[0] != parts[1]), None)
    shared = min(len(one), len(two)) if shared is None else shared
    return len(one) + len(two) - 2 * shared


@lru_cache(maxsize=100_000)
def reading_order(path: str) -> int:
    """Return what to show first: the code itself, then examples, then tests."""
    return {Role.EXAMPLE: 1, Role.TEST: 2}.get(role_of(path), 0)
