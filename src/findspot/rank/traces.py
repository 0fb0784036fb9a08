"""Stack traces and error messages, read line by line, in the shapes of a dozen languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

MAX_FRAMES = 200
MAX_ERRORS = 30
MAX_LINE_CHARS = 400
"""Patterns see only this much of a line, so that reading stays linear in the length of a text."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One call of a stack trace."""

    path: str
    """As the trace has it, with forward slashes; of Java and Kotlin the package's folders and the file's
    name; empty where the trace names no file."""
    line: int | None
    function: str
    """As qualified as the trace has it, without arguments; empty where the trace names none."""
    source: str = ""
    """The line of code that the trace shows."""
    trace: int = 0
    """Which of the text's traces the frame belongs to, from 0."""
    innermost: bool = False
    """Whether the error was raised here, rather than in a call from here."""


_PYTHON = re.compile(r'(\s*)File "([^"]+)", line (\d+)(?:, in (.+))?')
_IPYTHON = re.compile(r"(?:File|Cell) (\S[^:]*|[A-Za-z]:[^:]+):(\d+), in ([^(\s]+)")
_IPYTHON_OLD = re.compile(r"(\S+\.py\w?|<ipython-input\S+>) in ([\w<>.]+)(?:\(|$)")
_IPYTHON_SOURCE = re.compile(r"\s*(-+> ?)?(\d+)\b(.*)")
_COLON = re.compile(r"\s*(?:\([^)]{1,60}\) )?(\S+\.(?:pyx?|lua|exs?|erl|jl)):(\d+): (?:in )?(\S.*)?$")
_RUBY = re.compile(
    r"\s*(?P<number>\d+: )?(?:from )?(?P<path>[^`'\"]*?\.(?:rb|erb|rake|ru|haml)|\S*/bin/\w+|\(\w+\)):"
    r"(?P<line>\d+):in [`'\u2018]?(?P<function>[^'\u2019:]+(?:::[^'\u2019:]+)*)['\u2019]?(?P<rest>:.*)?"
)
_JAVA = re.compile(
    r"(?:[\w.@-]*/+)*((?:[\w$<>-]+\.)+[\w$<>-]+)"
    r"\((?:([\w$-]+\.\w+)(?::(\d+))?|Native Method|Unknown Source|SourceFile(?::\d+)?)\)"
)
_JS_NAME = r"(?:(?:async|new|get|set|static) )*[\w.$<>#*/-]+(?: \[as [^\]]+\])?"
_JS_CALL = re.compile(rf"({_JS_NAME}) \((?:eval at [^(]*\()?([^()]+?):(\d+)(?::\d+)?\)")
_JS_NO_FILE = re.compile(rf"({_JS_NAME}) \((?:<anonymous>|native|index \d+|\[native code\])\)")
_JS_BARE = re.compile(r"(?:async )?((?:[\w+-]+://|[A-Za-z]:[\\/]|[/.~@\w])[^\s()]*?):(\d+):\d+$")
_FIREFOX = re.compile(r"\s*([\w.$<>/*]*)@((?:https?|file|webpack|resource)\S+?):(\d+):\d+$")
_CSHARP = re.compile(r"([\w.<>`+|\[\],]+)\([^)]*\)(?: in (.+?):(?:line )?(\d+))?\s*$")
_GO_FILE = re.compile(r"\s+(\S+\.(?:go|s)):(\d+)(?: \+0x[0-9a-f]+)?\s*$")
_GO_CALL = re.compile(
    r"(?:created by )?([\w./*()@~%-]+\.[\w.*()]+?)(?:\([^()]*\)|\(\.\.\.\))?(?: in goroutine \d+)?\s*$"
)
_RUST_CALL = re.compile(r"\s*\d+:\s+(?:0x[0-9a-f]+ - )?([\w<&_$][^\s].*)$")
_RUST_FILE = re.compile(r"\s+at (\S+\.rs):(\d+)")
_RUST_PANIC = re.compile(r"thread '[^']*' (?:\(\d+\) )?panicked at (?:'(.*)', )?(\S+?\.rs):(\d+)")
_NUMBERED = re.compile(r"\s*(?:\* )?(?:frame )?#(\d+):?\s+(.*)")
_PHP = re.compile(r"(?:phar://)?((?:[A-Za-z]:)?[^:()]+)\((\d+)\): (.+)")
_PHP_END = re.compile(r"\s*thrown in (\S+) on line (\d+)")
_XDEBUG = re.compile(r"PHP\s+\d+\. ([^\s(]+)\(.*\) (\S+\.php):(\d+)")
_NATIVE_CALL = re.compile(r"(0x[0-9a-f]+ (?:in )?)?(?:\S+`)?([^\s(]+|operator \w+(?:\[\])?)(.*)")
_NATIVE_FILE = re.compile(r"(?:\bat |.*? )((?:[A-Za-z]:)?[^\s:()]*\.\w{1,4}):(\d+)(?::\d+)?\s*$")
_DART = re.compile(r"(\S+(?: \S+)?)\s+\((?:package:)?([^()\s]+\.dart):(\d+)(?::\d+)?\)")

_BETWEEN = re.compile(
    r"\s*(?:Traceback \(|Stack ?trace:|stack backtrace:|goroutine \d+ \[|During handling of the above"
    r"|The above exception was|\.\.\. \d+ (?:more|common)|--- End of|note: (?:run with|Some details are)"
    r"|(?:[\w/]+ )?(?:rake|rails|cap) aborted!|Tasks: TOP =>|\(See full trace by running"
    r"|\[signal |exit status \d|[A-Za-z]\w+ +Traceback \()"
)
"""Lines that say nothing, before, between and after traces."""
_WITHIN = re.compile(r"\s*(?:#\d+ \{main\}|\[Previous line repeated|[~^][\s~^]*$)")

_KIND = r"[A-Za-z_][\w.$\\:]*(?:Error|Exception|Warning|Failure|Fault|Panic|Interrupt|Exit)"
_ERROR = re.compile(
    rf"\s*(?:E\s+)?(?:Caused by: |Uncaught |\(node:\d+\) |UnhandledPromiseRejectionWarning: |\[\w+\] |>\s*)*"
    rf"(?:Exception in thread (?:\"[^\"]*\" )?|Unhandled [Ee]xception[.:]? |(?:PHP )?Fatal error: +)?"
    rf"(?:Uncaught )?"
    rf"({_KIND})(?:: |:?\s*$| - | \[)"
)
_OTHER_ERROR = re.compile(
    r"\s*(?:\S+[:(]\d+(?:[:,]\d+)*\)?: )?(?:fatal |internal compiler |linker |build )?"
    r"(?:[Ee]rror|ERROR)(?: ?\[?\(?[A-Z]+-?\d+\)?\]?)?:? \S"
    r"|\s*(?:panic|fatal|FATAL|Fatal error|PHP (?:Warning|Notice|Parse error|Fatal error)): "
    r"|\s*E   +\S|FAILED \S|\s*==\d+==\s?ERROR: |SUMMARY: \w+Sanitizer|\s*thread '.*panicked at"
    r"|.*\bAssertion .*failed|.*\bSegmentation fault|.*\bundefined reference to|\s*npm ERR! \S"
    r"|\s*\*\* \(\w+"
)
_ERROR_HINT = re.compile(
    r"rror|RR|xception|anic|atal|FATAL|Warning|E  |ail|FAIL|ault|Interr|Exit|\*\* \(|undef|SUMM"
)
"""A quick look before the patterns above, which are slow."""
_IN_SENTENCE = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning)\b(?:: |\()[^\n`]+")
_LOGGED = re.compile(r"\b(?:ERROR|FATAL|CRITICAL|SEVERE)\b[\]:| -]{1,4}(\S.*)")
_CUSTOM = re.compile(r"[A-Za-z_][\w.]*[A-Z]\w*(?:: .*)?$|[a-z_][\w.]*\.[A-Za-z]\w*: .*$")


class TraceReader:
    """Collects the frames and error messages of a text as it is read."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.errors: dict[str, None] = {}
        self._open: list[Frame] = []
        self._outermost_first = True
        self._traces = 0

    def read(self, lines: Sequence[str], at: int, *, fenced: bool = False) -> int:
        """Return how many lines from `at` on belong to a trace or an error message; 0 for other text."""
        line = lines[at][:MAX_LINE_CHARS]
        after = lines[at + 1][:MAX_LINE_CHARS] if at + 1 < len(lines) else ""
        stripped = line.strip()
        if not stripped:
            return 0
        used = self._frame(line, stripped, after)
        if used:
            return used + self._source_lines(lines, at + used) if self._outermost_first else used
        if _WITHIN.match(line):
            return 1
        if _BETWEEN.match(line):
            self.close()
            return 1
        if self._error(line, stripped, after):
            self.close()
            return 1
        if self._open and not (fenced and self._outermost_first):
            self.close()
        return 0

    def message_in(self, sentence: str) -> None:
        """Take `TypeError: …` out of a sentence."""
        if "rror" in sentence or "xception" in sentence or "Warning" in sentence:
            found = _IN_SENTENCE.search(sentence[: 4 * MAX_LINE_CHARS])
            if found:
                self._add_error(found.group())

    def logged_in(self, line: str) -> None:
        """Take the message of a line of a log that is an error."""
        if found := _LOGGED.search(line[:MAX_LINE_CHARS]):
            self._add_error(found[1])

    def close(self) -> None:
        """End the trace that is being read."""
        if self._open:
            ordered = self._open if self._outermost_first else self._open[::-1]
            last = len(ordered) - 1
            for at, frame in enumerate(ordered):
                self.frames.append(replace(frame, trace=self._traces, innermost=at == last))
            self._traces += 1
            self._open = []

    def _add(
        self, path: str, line: str | None, function: str | None, *, outermost_first: bool = False
    ) -> None:
        if self._open and outermost_first != self._outermost_first:
            self.close()
        self._outermost_first = outermost_first
        if len(self.frames) + len(self._open) < MAX_FRAMES:
            number = int(line) if line else None
            self._open.append(Frame(tidy_path(path), number, (function or "").strip()))

    def _add_error(self, text: str) -> None:
        if len(self.errors) < MAX_ERRORS:
            self.errors.setdefault(text.strip()[:MAX_LINE_CHARS])

    def _frame(self, line: str, stripped: str, after: str) -> int:
        """Read one frame, which in Go and Rust is two lines."""
        if stripped.startswith("at "):
            return self._at(stripped[3:])
        if stripped[0] in "#*f" and (numbered := _NUMBERED.match(line)):
            return self._numbered(numbered[2])
        if stripped.startswith('File "') and (found := _PYTHON.match(line)):
            self._add(found[2], found[3], found[4], outermost_first=True)
            return 1
        if stripped[:5] in ("File ", "Cell ") and (found := _IPYTHON.match(stripped)):
            self._add(found[1], found[2], found[3], outermost_first=True)
            return 1
        if " in " in line and (found := _IPYTHON_OLD.match(stripped)):
            self._add(found[1], None, found[2], outermost_first=True)
            return 1
        if "panicked at" in line and (found := _RUST_PANIC.match(stripped)):
            self.close()
            self._add_error(found[1] or after or stripped)
            self._add(found[2], found[3], "")
            return 1
        return self._two_lines(line, stripped, after) or self._colons(line, stripped)

    def _two_lines(self, line: str, stripped: str, after: str) -> int:
        if after[:1] in ("\t", " "):
            if (file := _GO_FILE.match(after)) and (call := _GO_CALL.match(stripped)):
                self._add(file[1], file[2], call[1])
                return 2
            if (file := _RUST_FILE.match(after)) and (call := _RUST_CALL.match(line)):
                if not file[1].startswith(
                    "/rustc/"
                ):  # the runtime, of which a trace begins and ends with much
                    self._add(file[1], file[2], _without_hash(call[1]))
                return 2
        if self._open and not self._outermost_first and "::" in line and (call := _RUST_CALL.match(line)):
            self._add("", None, _without_hash(call[1]))
            return 1
        return 0

    def _colons(self, line: str, stripped: str) -> int:
        """Read `path:12: …`, `path:12:in 'name'` and `name@address:12:3`."""
        if ":in " in line and (found := _RUBY.match(line)):
            reversed_ = bool(found["number"])
            self._add(
                found["path"].split(" ")[-1], found["line"], found["function"], outermost_first=reversed_
            )
            if found["rest"] and len(found["rest"]) > 2:
                self._add_error(found["rest"][1:])
            return 1
        if ": " in line and (found := _COLON.match(line)):
            rest = (found[3] or "").strip()
            is_call = " " not in rest or rest.startswith(("function", "method", "upvalue", "local"))
            if _ERROR.match(rest):
                self._add_error(rest)
                rest = ""
            elif not is_call:
                return 0
            self._add(
                found[1], found[2], rest.split(" ")[-1].strip("'<>`"), outermost_first=not line[:1].isspace()
            )
            return 1
        if "@" in line and (found := _FIREFOX.match(line)):
            self._add(found[2], found[3], found[1])
            return 1
        if stripped.startswith(("thrown in", "PHP ")) and (found := _PHP_END.match(line)):
            self._add(found[1], found[2], "", outermost_first=True)
            return 1
        if stripped.startswith("PHP ") and (found := _XDEBUG.match(stripped)):
            self._add(found[2], found[3], found[1], outermost_first=True)
            return 1
        return 0

    def _at(self, call: str) -> int:
        """Read what follows `at`: Java, Kotlin, JavaScript and C#."""
        if found := _JAVA.match(call):
            self._add(_java_path(found[1], found[2]), found[3], found[1])
        elif found := _JS_CALL.match(call):
            self._add(
                found[2],
                found[3],
                found[1].rpartition(" ")[2] if "[as" not in found[1] else found[1].split(" ")[0],
            )
        elif found := _JS_NO_FILE.match(call):
            self._add("", None, found[1].split(" [")[0].rpartition(" ")[2])
        elif found := _JS_BARE.match(call):
            self._add(found[1], found[2], "")
        elif found := _CSHARP.match(call):
            self._add(found[2] or "", found[3], found[1])
        else:
            return 0
        return 1

    def _numbered(self, rest: str) -> int:
        """Read what follows `#3`: gdb, lldb, sanitizers, PHP and Dart."""
        if found := _DART.match(rest):
            self._add(found[2], found[3], found[1])
            return 1
        if found := _PHP.match(rest):
            self._add(found[1], found[2], found[3].split("(", 1)[0])
            return 1
        if rest.startswith("[internal function]: "):
            self._add("", None, rest[21:].split("(", 1)[0])
            return 1
        if not (found := _NATIVE_CALL.match(rest)):
            return 0
        file = _NATIVE_FILE.match(found[3])
        if not found[1] and not (file and " at " in found[3]):
            return 0
        self._add(file[1] if file else "", file[2] if file else None, found[2])
        return 1

    def _source_lines(self, lines: Sequence[str], at: int) -> int:
        """Return how many lines after a frame show its code."""
        used = 0
        while at + used < len(lines) and used < 12:
            line = lines[at + used][:MAX_LINE_CHARS]
            context = _IPYTHON_SOURCE.match(line)
            if context and (context[1] or line[:1] == " ") and not _COLON.match(line):
                if context[1]:
                    self._open[-1] = replace(self._open[-1], line=int(context[2]), source=context[3].strip())
            elif used or not line.startswith("   ") or _PYTHON.match(line) or _COLON.match(line):
                break
            elif self._open:
                self._open[-1] = replace(self._open[-1], source=line.strip())
            used += 1
        return used

    def _error(self, line: str, stripped: str, after: str) -> bool:
        ends_trace = bool(self._open) and self._outermost_first and not line[:1].isspace()
        if ends_trace and _CUSTOM.match(stripped):
            self._add_error(stripped)
            return True
        if not _ERROR_HINT.search(line) or not (_ERROR.match(line) or _OTHER_ERROR.match(line)):
            return False
        self._add_error(stripped)
        return True


def tidy_path(path: str) -> str:
    """Return a path with forward slashes, without what editors and loaders put before it."""
    path = path.strip().replace("\\", "/").removeprefix("file://").removeprefix("webpack://")
    path = path.partition("?")[0]
    while path.startswith("./"):
        path = path[2:]
    return path


def _java_path(function: str, file: str | None) -> str:
    """Return `shop/cart/Cart.java` of `shop.cart.Cart.add` and `Cart.java`."""
    if not file:
        return ""
    packages = [part for part in function.split(".")[:-2] if part[:1].islower()]
    return "/".join([*packages, file])


def _without_hash(function: str) -> str:
    """Return a Rust function's name without the hash that the compiler adds."""
    head, _, tail = function.rpartition("::h")
    return head if head and len(tail) == 16 else function.strip()
