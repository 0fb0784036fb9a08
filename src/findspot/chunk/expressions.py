"""The text of expressions and types into the one small notation of `core.facts`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from findspot.chunk.symbols import text_of
from findspot.core.facts import LITERAL, LOADED, UNKNOWN

MAX_CHARS = 2_000
"""Longer expressions are tables and embedded programs; their chains say nothing."""

MAX_DEPTH = 6
"""Of brackets in brackets that are looked into."""

_PLAIN = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*\Z")
_KEYWORDS = r"await|new(?=\s)|yield from|yield|try[?!]?|throw|typeof|go|defer|mut|ref|out|move"
_LEAD = re.compile(rf"(?:(?:{_KEYWORDS})\b\s*|[&*]+|<-)\s*")
CONSTANT_NAMES = frozenset({"None", "null", "nil", "true", "false", "True", "False", "undefined"})
_CONSTANTS = rf"(?:{'|'.join(sorted(CONSTANT_NAMES))})\b"
_LITERAL = re.compile(rf"[rbfuRBFU@$]{{0,2}}[\"'`]|[\d\[{{]|{_CONSTANTS}|-\d")
_OPERATOR = re.compile(r"[\w\"'`\])]\s+(?:or|if|and)\s|\|\||\?\?")
_ROOT = re.compile(r"(@@?|#|::|\\)?([A-Za-z_$][\w$]*(?:\\[A-Za-z_]\w*)*)")
_LOADED = re.compile(r"(?:require|import)\(\s*[\"'`]([^\"'`]+)[\"'`]\s*\)")
_STEP = re.compile(r"\s*(?:!!?|\?)?(?:\.|->|::|\?->)\s*(?:await\b|[#@]?([A-Za-z_$][\w$]*)[?!]?)?")
_ANGLES = re.compile(r"=>|->|[<>]")
_SKIPPED = re.compile(r"\s(?=\s*[{.])|!$")
_EITHER = re.compile(r"\s*(?:\bor\b|\|\||\?\?|\?:)\s*")
_IF_ELSE = re.compile(r"\s+if\s.*\selse\s+", re.DOTALL)
_AS = re.compile(r"(?<!\s)\s+(?:as[?!]?|satisfies)\s+(?!const\b)(.+)\Z", re.DOTALL)
_CAST = re.compile(r"\s*(?!(?:if|else|or|and|in|is|not|as|of|instanceof|satisfies)\b)[A-Za-z_$\"]|\s\(")
"""What follows `(Type)`: a value that is cast to it."""
_BRACKETS = re.compile(r"[()\[\]{}]|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def expression(text: str, depth: int = 0) -> str:
    """Return a receiver or value as a chain of names, calls and elements; `?` where it is something else."""
    if text.isidentifier() or _PLAIN.match(text):
        return LITERAL if text.partition(".")[0] in CONSTANT_NAMES else text
    if len(text) > MAX_CHARS or depth > MAX_DEPTH:
        return UNKNOWN
    text = text.strip()
    while (lead := _LEAD.match(text)) is not None and lead.end():
        text = text[lead.end() :]
    if text.startswith(("type(self)", "type(this)")):
        return _chain("cls", text, len("type(self)"), depth)
    if text.startswith("("):
        return _bracketed(text, depth)
    if _LITERAL.match(text):
        return LITERAL if _is_whole(text) else UNKNOWN
    loaded = _LOADED.match(text)
    if loaded is not None:
        return _chain(loaded_name(loaded[1]), text, loaded.end(), depth)
    root = _ROOT.match(text)
    return _chain(_start(root), text, root.end(), depth) if root is not None else UNKNOWN


def _start(root: re.Match[str]) -> str:
    """Return the name that a chain starts with; instance variables of Ruby are members of `self`."""
    return f"self.@{root[2]}" if root[1] in ("@", "@@") else root[2].rpartition("\\")[2]


def loaded_name(module: str) -> str:
    """Return the name given to a module that is loaded inside an expression: `require("./a").b`."""
    return LOADED + re.sub(r"\W", "_", module)


def _bracketed(text: str, depth: int) -> str:
    end = closing(text, 0)
    if end is None:
        return UNKNOWN
    inner = text[1 : end - 1]
    if _CAST.match(text, end) and (text[end + 1 : end + 2] != "(" or inner[:1].isupper()):
        return declared(inner)
    cast = _AS.search(inner)
    start = declared(cast[1]) if cast else expression(inner, depth + 1)
    if start == UNKNOWN:
        return UNKNOWN
    if end < len(text) and "|" in start:
        return _each_then(start, _chain("", text, end, depth))
    if start[0] == ":" and end < len(text):  # what follows belongs to an instance of the type
        start = f"<{start}>"
    return _chain(start, text, end, depth)


def _each_then(options: str, rest: str) -> str:
    """Return alternatives that all have the same steps after them."""
    is_plain = rest[:1] in (".", "(", "[") and "|" not in rest and options[0] != ":"
    return "|".join(f"{option}{rest}" for option in options.split("|")) if is_plain else UNKNOWN


def _chain(start: str, text: str, at: int, depth: int) -> str:
    """Read members, calls and elements from `at` on; then an alternative, if one follows."""
    parts = [start]
    while at < len(text):
        character = text[at]
        if character in "([{":
            end = closing(text, at)
            if end is None:
                return UNKNOWN
            parts.append("[]" if character == "[" else "()")
            if character == "{" and parts[-2:] == ["()", "()"]:  # a trailing block belongs to the call
                parts.pop()
            at = end
        elif (step := _STEP.match(text, at)) is not None:
            if step[1]:
                parts.append(f".{step[1]}")
            at = step.end()
        elif (after := _after_angles(text, at)) is not None:
            at = after
        elif _SKIPPED.match(text, at):
            at += 1
        else:
            return _alternative("".join(parts), text, at, depth)
    return "".join(parts)


def _after_angles(text: str, at: int) -> int | None:
    """Return the place after type arguments, which a call, a member or nothing follows."""
    start = at + 2 if text.startswith("::<", at) else at
    if text[start : start + 1] != "<":
        return None
    depth = 0
    for found in _ANGLES.finditer(text, start):
        depth += {"<": 1, ">": -1}.get(found[0], 0)
        if depth == 0:
            rest = text[found.end() :].lstrip()
            return found.end() if rest[:1] in ("", "(", "{", ".", ":") else None
    return None


def _alternative(first: str, text: str, at: int, depth: int) -> str:
    """Return what `a or b`, `a if c else b`, `a ?? b` or `a as T` may be."""
    cast = _AS.match(text, at)
    if cast:
        return declared(cast[1])
    either = _EITHER.match(text, at) or _IF_ELSE.match(text, at)
    if either is None:
        return UNKNOWN
    second = expression(text[either.end() :], depth + 1)
    return "|".join(value for value in (first, second) if value not in (UNKNOWN, LITERAL)) or UNKNOWN


def closing(text: str, at: int) -> int | None:
    """Return the place after the bracket that closes the one at `at`; quoted brackets do not count."""
    depth = 0
    for token in _BRACKETS.finditer(text, at):
        character = token[0]
        if character in _CLOSING:
            depth += 1
        elif len(character) == 1:
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _is_whole(text: str) -> bool:
    return closing(text, 0) == len(text) if text[0] in "[{" else not _OPERATOR.search(text)


_TYPE_LEAD = re.compile(
    r"(?:(?:mut|const|final|readonly|dyn|impl|some|any|val|var|unsafe|struct|enum|class|keyof|asserts|"
    r"volatile|inout|static|ref|out|in|params|async)\s+|'\w+\s+|[&*:]+\s*|->\s*|@\w+\s+|\w+\s+is\s+)"
)
_TYPE_NAME = re.compile(r"\\?([A-Za-z_$][\w$]*(?:(?:\.|::|\\)[A-Za-z_$][\w$]*)*)\s*")
_WRAPPER_NAMES = """
Optional Promise PromiseLike Awaitable Annotated ClassVar Final Required NotRequired ReadOnly Readonly
Partial NonNullable Awaited Box Rc Arc RefCell Cell Mutex RwLock Option Result Ref unique_ptr shared_ptr
weak_ptr optional Task ValueTask Nullable Lazy Future CompletableFuture Supplier Provider Deferred Pin
MutableStateFlow StateFlow Flow WeakReference AtomicReference Observable Cow Weak
"""
_CONTAINER_NAMES = """
list List Sequence MutableSequence Iterable Iterator set Set frozenset FrozenSet tuple Tuple Array
ReadonlyArray Vec VecDeque Collection deque Deque Generator AsyncIterator AsyncIterable AsyncGenerator
vector IEnumerable IList ICollection IReadOnlyList IReadOnlyCollection MutableList ArrayList LinkedList
HashSet MutableSet Stream ArrayDeque span IQueryable array
"""
_MAP_NAMES = """
dict Dict Mapping MutableMapping defaultdict OrderedDict Map HashMap BTreeMap Record Dictionary MutableMap
ConcurrentHashMap IDictionary unordered_map map ReadonlyMap
"""
_NO_NAMES = "None null undefined nil void unknown never NoneType Any any object Object"

_JAVA_HOLDER_NAMES = """
Optional Supplier Callable Future CompletableFuture CompletionStage Provider Lazy ThreadLocal Reference
AtomicReference WeakReference SoftReference Collection SortedSet NavigableSet LinkedHashSet TreeSet EnumSet
ListIterator Enumeration Queue PriorityQueue BlockingQueue BlockingDeque LinkedBlockingQueue Spliterator
LinkedBlockingDeque ArrayBlockingQueue ConcurrentLinkedQueue ConcurrentLinkedDeque CopyOnWriteArrayList
CopyOnWriteArraySet Vector Stack ImmutableList ImmutableSet
"""
_JAVA_MAP_NAMES = """
LinkedHashMap TreeMap SortedMap NavigableMap ConcurrentMap WeakHashMap IdentityHashMap EnumMap Hashtable
ImmutableMap Entry
"""


class Vocabulary(NamedTuple):
    """Generic types that are treated as what they hold."""

    wrappers: frozenset[str]
    """Their members are used as if they were those of their first argument."""
    containers: frozenset[str]
    maps: frozenset[str]


COMMON = Vocabulary(*(frozenset(names.split()) for names in (_WRAPPER_NAMES, _CONTAINER_NAMES, _MAP_NAMES)))
JAVA = Vocabulary(
    frozenset(),
    COMMON.containers.union(_JAVA_HOLDER_NAMES.split()),
    COMMON.maps.union(_JAVA_MAP_NAMES.split()) - {"Record"},
)
"""What holds one value has methods that hand it out, as a container has."""

_NOTHING = frozenset(_NO_NAMES.split())


def declared(text: str, depth: int = 0, words: Vocabulary = COMMON) -> str:
    """Return a declared type as `:Name`, `:[]Name` or alternatives; `?` where it names none."""
    names = _type(text, depth, words)
    if names and all(name.startswith("type ") for name in names):
        return "|".join(name[5:] for name in names)
    return ":" + "|".join(names) if names else UNKNOWN


def _type(text: str, depth: int, words: Vocabulary) -> list[str]:
    text = text.strip().strip("\"'")
    if depth > MAX_DEPTH or len(text) > MAX_CHARS:
        return []
    while (lead := _TYPE_LEAD.match(text)) is not None:
        text = text[lead.end() :]
    options = split(text, "|") if "|" in text and "..." not in text else [text]
    if len(options) > 1:
        return list(dict.fromkeys(name for option in options for name in _type(option, depth + 1, words)))
    if (element := _element_type(text)) is not None:
        return [f"[]{name}" for name in _type(element, depth + 1, words)]
    if text.startswith("(") and closing(text, 0) == len(text):
        return _type(text[1:-1], depth + 1, words)
    found = _TYPE_NAME.match(text)
    if found is None:
        return []
    name = found[1].replace("::", ".").replace("\\", ".")
    return _generic(name, text[found.end() :], depth, words)


def _element_type(text: str) -> str | None:
    """Return what a container holds whose type is written with marks; None for any other type."""
    if "..." in text:  # `Foo... names`: any number of them
        return text.partition("...")[0]
    if not (text.startswith("[") or text.endswith("[]")):
        return None
    inner = (
        text[:-2] if text.endswith("[]") else text.removeprefix("[]") if text.startswith("[]") else text[1:-1]
    )
    return split(inner, ":")[-1]  # `[]Foo`, `[Foo]`, `[String: Foo]`, `Foo[]`


def _generic(name: str, rest: str, depth: int, words: Vocabulary) -> list[str]:
    last = name.rpartition(".")[2]
    if last in _NOTHING or rest.startswith(("=>", "(")):
        return []
    arguments = _arguments(rest)
    held, mark = [], ""
    if last == "typeof" and rest:
        held, mark = [rest], "type "
    elif last == "Union":
        held = arguments
    elif arguments:
        held, mark = _held(last, arguments, words)
    if not held:
        return [name]
    return [f"{mark}{found}" for text in held for found in _type(text, depth + 1, words)]


def _held(name: str, arguments: list[str], words: Vocabulary) -> tuple[list[str], str]:
    """Return which arguments of a generic type count, and as what; none where it counts itself."""
    if name in words.wrappers:
        return arguments[:1], ""
    if name in ("Type", "type"):
        return arguments[:1], "type "
    if name in words.containers:
        return arguments[:1], "[]"
    return (arguments[-1:], "[]") if name in words.maps else ([], "")


def _arguments(rest: str) -> list[str]:
    rest = rest.strip().rstrip("?!*& ")
    if len(rest) > 2 and (rest[0], rest[-1]) in (("<", ">"), ("[", "]")):
        return split(rest[1:-1], ",")
    return []


def split(text: str, mark: str) -> list[str]:
    """Return the parts between the marks that stand in no bracket."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and text[at - 1 : at] not in ("=", "-")):
            depth -= 1
        elif character == mark and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return parts


def type_arguments(text: str) -> tuple[str, str]:
    """Return the last name of a generic type, and its arguments in the notation, separated by commas."""
    found = _TYPE_NAME.match(text)
    if found is None:
        return "", ""
    given = [declared(argument, words=JAVA) for argument in _arguments(text[found.end() :])]
    return found[1].rpartition(".")[2], ",".join(given)


_TYPE_WORDS = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|\\)[A-Za-z_$][\w$]*)*")


def type_names(text: str) -> list[str]:
    """Return every named type of a type expression, qualified names joined by dots."""
    found = _TYPE_WORDS.findall(text.partition(" as ")[0])
    return list(dict.fromkeys(name.replace("::", ".").replace("\\", ".") for name in found))


_TUPLE = re.compile(r"(?:\w+\.)?[Tt]uple\[(.*)\]\Z", re.DOTALL)


def tuple_parts(node: Node, source: bytes) -> list[str]:
    """Return the parts of a tuple that is returned, or of a type of tuples; none of anything else."""
    if node.type in ("expression_list", "tuple"):
        return [expression(text_of(child, source)) for child in node.named_children]
    if node.type != "type" or (types := _TUPLE.match(text_of(node, source))) is None:
        return []
    names = split(types[1], ",")
    return [declared(name) for name in names] if "..." not in types[1] else []


def iterated_values(node: Node, source: bytes) -> Iterator[str]:
    """Yield what the variables of a loop are, where a function or method gives several at a time."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if node.type != "call" or function is None or arguments is None:
        return
    name, given = text_of(function, source), arguments.named_children
    if name == "zip":
        yield from (_element(text_of(each, source)) for each in given)
    elif name == "enumerate" and given:
        yield from (UNKNOWN, _element(text_of(given[0], source)))
    elif name.endswith(".items") and not given:
        yield from (UNKNOWN, _element(name.removesuffix(".items")))


def _element(text: str) -> str:
    value = expression(text)
    return f"{value}[]" if value not in (UNKNOWN, LITERAL) and "|" not in value else UNKNOWN
