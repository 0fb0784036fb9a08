"""What a line of a bug report is: a heading, a prompt, a row of versions, a log, code, or a polite phrase.

The shapes are those of issue templates and of the tools whose output people paste. Every pattern is matched
against the beginning of a line, and only `MAX_LINE_CHARS` of it, so that no line takes long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from findspot.rank.traces import MAX_LINE_CHARS


class Section(StrEnum):
    """What a part of a report is about, according to its heading."""

    CHECKS = "checks"
    ENVIRONMENT = "environment"
    LOGS = "logs"
    DESCRIPTION = "description"


_SECTION_WORDS = {
    Section.CHECKS: """
        checklist check checks validations validation prerequisites prerequisite preflight duplicates
        duplicate conduct participation acknowledgment acknowledgement contributing willing agreement
        terms acknowledgements contribution""",
    Section.ENVIRONMENT: """
        environment version versions os platform platforms browser browsers system desktop smartphone
        hardware software dependencies packages installed info setup freeze distribution device""",
    Section.LOGS: """
        log logs output outputs trace stacktrace traceback tracebacks backtrace stack console screenshot
        screenshots""",
    Section.DESCRIPTION: """
        expected expect expectation desired actual observed current happened happens instead description
        describe summary problem bug issue overview defect behavior behaviour result results error reproduce
        reproduction reproducible reproducing reproducer repro steps step example examples sample mcve mwe
        minimal case solution solutions proposal proposed suggestion suggested fix feature request
        implementation enhancement context additional else motivation background notes note comments related
        workaround workarounds alternatives alternative information use references reference links""",
}
"""Of a heading's words the one that is listed first decides: `System info and logs` is the environment."""
_OTHER_LABEL_WORDS = """
    a about above actually added affected after an and any anyone anything applicable are as be before
    behaviors being below brief bugs can change changes clear client code complete component concise
    config configuration considered copy could d database debug detail detailed details dev did do docker
    docs documentation does driver e errors etc existing expecting explain features following for full g
    get getting go goal goals got happen have help here how i id idea if in include install installation
    is issues it java js kind know led like link list ll m manager me message method minimally my name
    need needed new node not npm number objective of on operating optional or order other our package page
    paste php pitch please possible potential precisely provide python question re recording regression
    release relevant report reporting reports requests required ruby run running runtime rust s saw screen
    section see seen server short should show snippet solve source specific specify subject submit t tell
    test tests that the there think this ticket title to tool try trying type up url used using ve video
    videos want was we went were what when where which why will with would wrong yarn you your"""
_SECTION_OF = {word: section for section, listed in _SECTION_WORDS.items() for word in listed.split()}
_LABEL_WORDS = frozenset(_SECTION_OF) | frozenset(_OTHER_LABEL_WORDS.split())
_ORDER = {section: place for place, section in enumerate(Section)}
_WORD = re.compile(r"[a-z]+")


def section_of(heading: str) -> Section | None:
    """Return the section that a heading opens, None where it is the author's own."""
    sections = {_SECTION_OF[word] for word in _WORD.findall(heading.lower()) if word in _SECTION_OF}
    return min(sections, key=_ORDER.__getitem__, default=None)


def is_label(heading: str) -> bool:
    """Return whether a heading is a template's; a single word that none would use makes it the author's."""
    found = _WORD.findall(heading.lower())
    return bool(found) and all(word in _LABEL_WORDS for word in found)


FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*\{?\.?([\w+#.-]*)")
OTHER_FENCES = {"{{{": "}}}", "{code": "{code}", "{noformat": "{noformat}", "<pre": "</pre>"}
"""Of Trac, Jira and HTML."""
HEADING = re.compile(
    r"\s{0,3}(?:#{1,6}\s*([^\s#].*)|={1,4} (\S.*?) ={1,4}|(?:\*\*|__)([^*]{1,120}?):?(?:\*\*|__):?"
    r"|<summary>([^<]*)(?:</summary>)?|<h\d[^>]*>([^<]*)</h\d>)\s*$"
)
DIRECTIVE = re.compile(r"\.\. (?:code-block|code|sourcecode|parsed-literal)::\s*([\w+-]*)\s*$")
"""Of reStructuredText: the indented lines that follow are code."""
TITLE_TAG = re.compile(
    r"\[(?P<tag>[^\]\n]{1,30})\]:?\s*"
    r"|(?:bugs?|features?|questions?|enhancement|regression)(?: report| request)?:\s+",
    re.IGNORECASE,
)
LABEL = re.compile(
    r"(?:[-*+] |\d+[.)] )?(?:\*\*|__)?([A-Za-z][\w '/()-]{1,50}?)(?:\*\*|__)? ?[:?](?:\*\*|__)?(?: (.*))?$"
)
"""`Expected: …`, with or without the rest of the sentence."""
UNDERLINE = re.compile(r"\s{0,3}([-=~^*#\"'+])\1{2,}\s*$")
CHECKBOX = re.compile(r"(?:[-*+]|\d+\.)? ?\[[ xX✓✔]?\]\s")
LIST_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
QUOTE = re.compile(r"\s{0,3}>(?!>>)(?:\s|$)")
TYPED = re.compile(
    r"\s*(?:>>> ?|\.\.\.(?: |$)|In ?\[\d*\]: ?|irb[^>]{0,30}> ?|iex\(\d+\)> ?|(?:mysql|scala)> )"
)
"""The prompts of interpreters."""
PROMPT = re.compile(
    r"\s*(?:\([\w.-]+\) )?(?:[\w.-]+@[\w.-]+[^\s$#]{0,60}|PS [A-Z]:[^>]{0,80}>|[A-Z]:\\[^>]{0,80}>)?"
    r" ?[$%❯] (?=\S)"
)
"""The prompts of shells."""
SIGNATURE = re.compile(
    r"--\s*$|sent from my |on .{5,80} wrote:$|(?:best|kind|warm)? ?regards,?$|cheers,?$"
    r"|(?:from|to|cc|date|sent|reply-to|message-id|user-agent|originally (?:reported|created)[\w ]*): ",
    re.IGNORECASE,
)
TAG = re.compile(
    r"</?(?:details|summary|br|p|div|span|b|i|em|strong|code|kbd|sub|sup|ul|ol|li|hr|img|a|pre"
    r"|table|t[rdh]|h\d"
    r"|center|font|video|picture|source)\b[^<>]{0,300}>",
    re.IGNORECASE,
)
URL = re.compile(r"(!?\[[^\[\]\n]{0,300}\])?\(?<?(https?://[^\s<>)\]\"'`]+)>?\)?")

NUMBERED_CODE = re.compile(r"\s*>?\s{0,4}\d+ \| ")
"""The lines of code that compilers show."""

_VERSION = re.compile(
    r"(?:[-*+|] ?)?`?[A-Za-z@][\w.@/+-]*(?: [A-Za-z][\w.()/-]*){0,3}`?"
    r"(?:\s*(?::|==|@|\||\(|->)\s*|\s+)`?v?\d+\.\d+[\w.+~-]*`?\)?(?:\s+\S{1,60}){0,3}$"
)
_SYSTEM = re.compile(
    r"(?:[-*+|•] ?)?(?:\*\*|`)?(?:os|operating system|platform|system|machine|processor|cpu|memory|shell"
    r"|python|node(?:\.?js)?|npm|yarn|pnpm|bun|ruby|rails|php|composer|java|jdk|jvm|kotlin|gradle"
    r"|maven|go|rustc?|cargo"
    r"|gcc|clang|cmake|compiler|\.net|dotnet|browsers?|chrome|firefox|safari|edge|docker|database|db|version"
    r"|binaries|architecture|arch|kernel|distribution|distro|device|gpu|cuda|driver|locale|timezone|tz|editor"
    r"|ide|installed (?:from|via)|install(?:ation)? method|environment"
    r"|[\w./]{1,30}(?: [\w./]{1,30})? versions?)\b"
    r"[\w .()/-]{0,40}(?:\*\*|`)? ?[:=|]",
    re.IGNORECASE,
)
_VERSION_TABLE = re.compile(
    r"INSTALLED VERSIONS|Package +Version|# Name +Version|# packages in environment|npmPackages:|System:$"
    r"|npmGlobalPackages|(?:set )?GO(?:ARCH|OS|PATH|ROOT)="
)
_LOG = re.compile(
    r"(?:[\w.|-]{0,30}\s)?[\[(]?(?:\d{4}[-/.]\d\d[-/.]\d\d[T ,]|\d\d:\d\d:\d\d"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d\d:)"
    r"|\[?(?:INFO|DEBUG|WARN(?:ING)?|TRACE|VERBOSE|NOTICE)\]?[\s:|]|(?:npm|yarn) (?:WARN|ERR!|info)"
    r"|0x[0-9a-f]{6,}|=>0x"
    r"|(?:Compiling|Downloading|Downloaded|Collecting|Installing|Updating|Requirement already) \S"
)
_CODE = re.compile(
    r"(?:(?:async|export|public|private|protected|static|final|pub|inline|virtual|override) )*"
    r"(?:def|class|import|from|func|fun|function|fn|let|const|var|val|struct|enum|interface|trait"
    r"|impl|package"
    r"|module|use|using|namespace|return|raise|throw|yield|await|require|include|extends|template"
    r"|typedef|void"
    r"|int|print|echo|puts|SELECT|CREATE|INSERT)\b"
    r"|(?:if|for|while|with|try|else|elif|switch|match|catch|except)\b.*[:{(]$"
    r"|#include|@\w+|</?[\w!]|<\?|//|/\*|\$\w+|[\w.\[\]'\"$:]+\s*(?:[-+*/|:]?=|<-|=>)\s?\S"
    r"|[\w.:$>-]+!?\(.*[\w)\]}'\",;{(]$|[{}\])]+[;,)]*$|[\w.-]+:\s*\S|[-+]?\s?['\"{\[]|\.\w+\("
)
_POLITE = re.compile(
    r"\b(?:thank(?:s| you)|thx|cheers|regards|any help|let me know|please (?:help|advise|let)|hope this helps"
    r"|happy to|willing to|glad to|(?:i|i've|have|we) (?:already )?(?:searched|checked|looked|googled)"
    r"|could(?:n't| not) find (?:any|an)|duplicate|existing issues?|code of conduct"
    r"|great (?:work|job|library|project|tool)|love this|sorry (?:if|for|in)|hello"
    r"|hi (?:all|there|team|everyone)|hey|good (?:day|morning)|dear|feel free|in advance|appreciated?"
    r"|first time|submit a pr|open a pr|not sure if this is)\b",
)
_TEMPLATE = re.compile(
    r"a clear and concise description|if applicable, add|add any other context"
    r"|steps to reproduce the behaviou?r|^_?no response_?$|please complete the following|\[e\.g\. |go to '\."
    r"|click on '\.|scroll down to '|^\W*see error\W*$|^n/?a\.?$|^none\.?$|^have a nice day"
    r"|please (?:fill|provide|describe|include|replace|delete|remove|make sure|read|search|share"
    r"|paste|try to)",
)
_POLITE_WORDS = """
    advance any appreciate appreciated checked cheers conduct dear duplicate existing feel find first glad
    good googled great happy hello hey hi hope know looked love open please regards searched sorry submit
    sure thank thanks thx willing"""
_TEMPLATE_WORDS = (
    "applicable click complete concise context e go n na nice none please response scroll see steps"
)
_MAY_BE_POLITE = frozenset(_POLITE_WORDS.split())
_MAY_BE_TEMPLATE = frozenset(_TEMPLATE_WORDS.split())
"""Without one of these words the patterns above cannot match, and they are slow."""
_INSTRUCTION = re.compile(
    r"(?:please|if (?:you|this|the issue|reasonable|possible)|describe|provide|paste|tell us"
    r"|consider|make sure"
    r"|did you|have you|check (?:our|for|that)|do not|don.t|add|an? (?:detailed|clear|simple|brief"
    r"|minimal)|before"
    r"|your issue|issues are|we |for (?:more|realtime))\b",
)
_TO_REPORTERS = re.compile(
    r"issue tracker|existing (?:issue|request)|bug reports?|feature requests?|reproduc\w+ (?:the"
    r"|your|case)|minimal"
    r"|snippet|template|discussions\b|stack ?overflow|discord|help us|relevant information"
    r"|pull request|code sample"
    r"|issues? (?:already|was|list)|opening (?:an|a|the)|paste|as much (?:detail|information)",
)


def is_polite(sentence: str) -> bool:
    """Return whether a sentence thanks, greets, excuses or offers, rather than describes."""
    sentence = sentence[:MAX_LINE_CHARS].lower()
    return not _MAY_BE_POLITE.isdisjoint(_WORD.findall(sentence)) and _POLITE.search(sentence) is not None


def is_template(sentence: str) -> bool:
    """Return whether a paragraph is what templates say to everybody."""
    if len(sentence) >= MAX_LINE_CHARS:
        return False
    lowered = sentence.lower()
    if not _MAY_BE_TEMPLATE.isdisjoint(_WORD.findall(lowered)) and _TEMPLATE.search(lowered):
        return True
    return _INSTRUCTION.match(lowered) is not None and _TO_REPORTERS.search(lowered) is not None


def is_environment(line: str) -> bool:
    """Return whether a line, without its indentation, tells a version or a system."""
    if len(line) > 100:
        return False
    return bool(
        _SYSTEM.match(line) or _VERSION_TABLE.match(line) or (line.count(" ") < 6 and _VERSION.match(line))
    )


def is_log(line: str) -> bool:
    """Return whether a line, without its indentation, was written by a logger or an installer."""
    return _LOG.match(line[:MAX_LINE_CHARS]) is not None


def are_environment(lines: Sequence[str]) -> bool:
    """Return whether a block is a table of versions: `pip list`, `conda list`, `npx envinfo`."""
    full = _full(lines)
    if any(_VERSION_TABLE.match(line) for line in full[:5]):
        return True
    return _mostly(_VERSION.match(line) or _SYSTEM.match(line) for line in full)


def are_log(lines: Sequence[str]) -> bool:
    return _mostly(_LOG.match(line) for line in _full(lines))


def are_code(lines: Sequence[str]) -> bool:
    """Return whether a third of the lines look like a program, which is written in many languages."""
    full = _full(lines)
    return 3 * sum(1 for line in full if _CODE.match(line) and not CHECKBOX.match(line)) >= len(full)


def _full(lines: Sequence[str]) -> list[str]:
    return [stripped[:MAX_LINE_CHARS] for line in lines if (stripped := line.strip())]


def _mostly(matches: Iterable[object]) -> bool:
    """Return whether at least half match, and two do."""
    found = [bool(match) for match in matches]
    return sum(found) >= 2 and 2 * sum(found) >= len(found)
