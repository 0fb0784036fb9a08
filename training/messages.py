"""Commit messages as questions: what people wrote about a change, without what tools add to it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from findspot.text.tokens import STOP_WORDS

_NUMBER = r"(?:[\w.-]+/[\w.-]+)?(?:\#|gh-|PR[ ]?\#?)\d+"
_CLOSES = (
    r"(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|see|related(?:[ ]to)?|part[ ]of|addresses"
    r"|follow[- ]?up(?:[ ](?:to|of))?)"
)


def _pattern(text: str) -> re.Pattern[str]:
    text = text.replace("NUMBER", _NUMBER).replace("CLOSES", _CLOSES)
    return re.compile(text, re.VERBOSE | re.IGNORECASE | re.MULTILINE)


_REFUSED_START = _pattern(
    r"""\A\W*(?:
      (?: merge | reverts? | reverted | re-?apply | re-?land | roll[ ]?back | releas(?:e|ing) | publish
        | bump(?:s|ed|ing)? | version | v?\d+\.\d+[\d.]* | post-release | wip | tmp
        | (?:initial|first)[ ]commit
        | prepar(?:e|ing)[ ](?:for[ ]|the[ ])?(?:v?\d[\d.]*|release|next)
        | (?:re)?format(?:ting)? | lint | style | cosmetics? | docs? | javadoc | document(?:ation|ed|ing|s)?
        | (?:run[ ])?(?:black|prettier|gofmt|rubocop|ruff|isort|clang-?format)
        | up(?:grade|date)[sd]?[ ][\w@/.-]+[ ](?:to|from)[ ]v?\d[\d.]*
        | updat(?:e[sd]?|ing)[ ](?:the[ ])?(?:
            dependenc\w+ | deps | versions? | change[ ]?log | readme | copyright | licen[cs]es? | docs?
          | documentation | submodules? | vendor\w* | lock\w* | gemfile | packages? | requirements
          | translations? | authors | contributors | snapshots?)
      )\b
      | \[? (?: docs? | documentation | style | ci | build | chore | tests? | release | deps | lint | typo
        | changelog | revert | cleanup | ops | infra | examples? | website | samples? | bench | nfc | bot
        | automated
        ) (?:\([^)]*\))? !? \s* [:/\]]
    )"""
)
"""Subjects of commits that say nothing about what the code does."""

_REFUSED_ANYWHERE = _pattern(
    r"""\b(?: typos? | spelling | misspell\w* | grammar[ ](?:fix|error)s? | change[ ]?log | nfc
      | release[ ]notes
      | (?:copyright|licen[cs]e)[ ](?:year|header)s? | lint(?:er|ers|ing)? | flake8 | pylint | mypy | eslint
      | tslint | clang-tidy | checkstyle | sonar\w* | codespell | rubocop | clippy | pyupgrade | dependabot
      | cod(?:e|ing)[ ]style | white[ ]?space | trailing[ ]spaces? | indentation[ ]fix | docs?[ ]only
      | comments?[ ]only | merge[ ](?:branch|pull[ ]request|remote) | type[ ](?:hints?|annotations?)
      | unused[ ](?:imports?|variables?)
      | (?:add|fix|update|improve|correct|tweak|clarify|clean[ ]up)\w*[ ]
        (?:the[ ]|some[ ]|missing[ ]|more[ ]|api[ ]|unit[ ]|failing[ ]|flaky[ ])*
        (?:(?:(?:xml|java|rust|go|php)[ ]?)?docs?|documentation|(?:doc[ ])?comments?|docstrings?|readme|tests)
    )\b
    | \A\W*(?:add|fix|update|improve|extend|more|skip|enable|disable)\w*\b(?!.*[ ]and[ ]).*
      \btests?(?:[ ]cases?|[ ]coverage|[ ]suite)?\W*(?:\(\#\d+\))?\Z"""
)
_TIDIED = _pattern(
    r"""\A\W*(?:[\w/.()-]+:\s*|\[?[\w/.-]+\]\s*)?(?:
      refactor | renam(?:e|ing) | clean | simplif | mov(?:e|ed|ing)\b | tidy | moderni[sz] | reorgani[sz]
      | reorder | polish | restructur | deduplicat | (?:minor|small)[ ](?:clean|fix|change|refactor)
      | drop(?:ped|s)?[ ](?:support|python|node|ruby|php|java|go|\d)
      | remov(?:e|ed|es|ing)[ ](?:\w+[ ]){0,2}
        (?:unused|dead|unnecessary|redundant|obsolete|unneeded|useless|debug)\b
    )"""
)
"""Subjects of changes that rearrange code."""

_PERHAPS_TIDIED = _pattern(
    r"""\A\W*(?:[\w/.-]+:\s*)?(?: remov\w+ | extract\w* | use | replace | switch | convert | migrat\w+ | minor
      | deprecat\w+ | inline | split | types? | typing | annotat\w+ | drop | require | upgrade | update )\b
      | \btest(?:s|ing)?\b"""
)

_NOISE_ITEM = _pattern(
    r"""\A\W*(?: wip | lint | format | fmt | formatting | clean[ ]?up | typos? | updates? | tests? | nits?
      | rebase | prettier | bump\b.* | \[pre-commit.*
      | run[ ](?:black|prettier|rubocop|gofmt|cargo[ ]fmt)\b.*
      | fix(?:ed|es|ing)?[ ](?:the[ ]|failing[ ])?(?:ci|lint|linter|linting|tests?|build|typos?
        |format(?:ting)?|style|review|comments?|merge|conflicts?|mypy|flake8|clippy|types?|typing|rubocop|eslint)\b.*
      | (?:add|update|more|added|improve|adjust)[ ](?:unit[ ])?(?:tests?|docs?|change[ ]?log|comments?|news
        |documentation|changeset|snapshots?|readme|docstrings?)\b.{0,30}
      | (?:address|apply|code|pr|review)\b.*\b(?:review|feedback|comments?|suggestions?)\b.*
      | merge[ ](?:branch|remote|pull|main|master|upstream|from|with)\b.*
      | (?:docs?|chore|tests?|style|ci|build|lint)(?:\([^)]*\))?:[ ].*
      | (?:updated?|delete|create|rename)[ ][\w./-]+\.\w+(?:[ ]to[ ].*)?
      | (?:.*[ ])?(?:white[ ]?space|review[ ](?:feedback|comments))
    )\W*\Z"""
)
"""Items of a squash merge's list of commits that say nothing about the change."""

_DROPPED = (
    _pattern(r"<!--[\s\S]*?-->"),
    _pattern(
        r"""^\s*(?: (?-i:[A-Z])[a-z]*(?:-[a-z]+)*-(?:by|on|to|id|url|revid|from|request|link|name) | cc | bug
          | links? | issues? | refs? | references | release-note | changelog | pr | resolves | closes | fixes
          | see(?:[ ]also)? | related(?:[ ]to)? | part[ ]of | ticket | backports? | tbr | test[ ]plan
          | pull[ ]request[ ]resolved | differential[ ]revision | reviewers | subscribers | tags
        )\s*:(?=\s|$).*$"""
    ),
    _pattern(
        r"""^\s*(?: co-authored[- ]by\b | \(?cherry[- ]picked[ ]from\b | \(?(?:backport|cherry[- ]pick)[ ]of\b
          | git-svn-id | .*\bGenerated[ ](?:with|by)[ ]\[ ).*$"""
    ),
    _pattern(
        r"""^\s*[-*+]?\s*CLOSES[ :]*
          (?:(?:CLOSES|issues?|prs?|pull[ ]request|bugs?|and|NUMBER|https?://\S+)[ ,.;:]*)+$"""
    ),
    _pattern(
        r"""^\W*(?:[\w'][\w' ]*[ ])?check[ ]?list\W*$[\s\S]*\Z
          | ^\s*[-*+][ ]\[[ x]\].*(?:\n[ \t]+\S.*)*"""
    ),
    _pattern(r"^\s*[-=_*~]{3,}\s*$"),
    _pattern(
        r"""^\W*(?: description | summary | what | why | how | motivation | changes? | context | details
          | test[ ]plan | testing | type[ ]of[ ]change | background | related[ ]issues? | what[ ]changed
          | problem | solution | overview | notes? )\W*$"""
    ),
)
"""What templates and tools put into a body: comments, trailers, links to issues, check lists, headings."""

_HASH = _pattern(r"\b(?=[0-9a-f]*\d)[0-9a-f]{10,40}\b")
_URL = _pattern(r"<?https?://[^\s>)\]]+>?")
_LINK = _pattern(r"!?\[([^\]]{0,300})\]\([^)\s]*\)")
_CITED = _pattern(
    r"""\s*[(\[](?:(?:CLOSES|pr|issue|gh|bug|via)?[ :]*NUMBER[, ]*)+[)\]]
      | \b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?)[ :]+(?:issue[ ])?NUMBER(?:\s*[,:.-](?=\s|$))?"""
)
_CITED_BARE = _pattern(r"\bNUMBER\b | \#\d+\b")
_BULLET = _pattern(r"^(\s*)(?:[*•+]|-(?=\s)|\d+[.)])\s+")
_HEADING = _pattern(r"^\s*\#{1,6}\s+")
_EMOJI = _pattern(r"\A(?::\w+:|[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])+\s*")
_TYPE = _pattern(
    r"""\A(?: (?: fix | feat | feature | bugfix | bug | hotfix | perf | enhancement | improvement | enh | imp
        | improve | new | chg | core | fixed | minor | major | patch | change )(?:\(([^)]*)\))?!?:\s*
      | \[(?:fix|feat|bug|bugfix|enh|minor|major|feature|fixed|added|changed|perf)\]:?\s* )"""
)
_ISSUE_KEY = re.compile(r"\A\s*\[?[A-Z][A-Z0-9]{1,9}-\d+\]?[:.,]?\s*-?\s*")

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_'-]*")
_LISTED = (
    "add added adding adds bug change changed changes code commit fix fixed fixes fixing issue made make "
    "makes new patch remove removed removes test tests update updated updates use"
)
_WORDS_OF_COMMITS = frozenset(_LISTED.split())


@dataclass(frozen=True)
class Message:
    """A cleaned message."""

    subject: str
    body: str = ""
    tidying: bool = False
    """The change may rearrange code rather than change what it does."""

    @property
    def text(self) -> str:
        return f"{self.subject}\n\n{self.body}" if self.body else self.subject


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return _WORD.findall(text)


def telling_words(text: str) -> set[str]:
    """Return the different words that say something about the code."""
    lowered = {word.lower() for word in words(text)}
    return {word for word in lowered if len(word) > 2} - STOP_WORDS - _WORDS_OF_COMMITS


def clean(text: str) -> Message | None:
    """Return subject and body as prose; None for commits that say nothing about what code does."""
    subject, _, body = text.strip().replace("\r\n", "\n").partition("\n")
    body = body.lstrip()
    if subject.endswith(("…", "...")) and body.startswith(("…", "...")):
        rest, _, body = body.partition("\n")
        subject = f"{subject.rstrip('….')}{rest.lstrip('….')}"
    bare = _EMOJI.sub("", subject)
    if any(refused.search(bare) for refused in (_REFUSED_START, _REFUSED_ANYWHERE, _TIDIED)):
        return None
    subject = clean_subject(bare)
    if "This reverts commit" in body or not mostly_ascii(subject + body):
        return None
    return Message(subject, clean_body(body, subject), bool(_PERHAPS_TIDIED.search(subject)))


def mostly_ascii(text: str) -> bool:
    """Return whether a text is likely English."""
    return text.isascii() or sum(character > "\x7f" for character in text) <= 0.05 * len(text)


def clean_subject(subject: str) -> str:
    """Return a subject without numbers of issues and the type of a change; a scope stays as a word."""
    subject = _TYPE.sub(lambda kind: f"{kind[1]}: " if kind[1] else "", subject.strip())
    subject = _EMOJI.sub("", _ISSUE_KEY.sub("", subject))
    for pattern in (_URL, _CITED, _CITED_BARE, _HASH):
        subject = pattern.sub("", subject)
    return " ".join(subject.split()).strip(" -:,;")


def clean_body(body: str, subject: str = "") -> str:
    """Return a body as prose: nothing that templates and tools add, no list marks.

    Lines that only repeat the subject go, too.
    """
    body = _HEADING.sub("", body)
    for pattern in (*_DROPPED, _HASH):
        body = pattern.sub("", body)
    body = _CITED.sub("", _URL.sub("", _LINK.sub(r"\1", body)))
    repeated = {spoken(subject), spoken(subject.partition(": ")[2])} - {""}
    lines = []
    for line in body.split("\n"):
        prose = _BULLET.sub(r"\1", line)
        if prose != line:
            if _NOISE_ITEM.match(prose):
                continue
            prose = _TYPE.sub("", prose.strip())
        if spoken(prose) not in repeated:
            lines.append(prose.rstrip() if re.search(r"\w", prose) else prose.strip(" .,:;()[]<>"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def spoken(text: str) -> str:
    """Return the words of a text in one form."""
    return " ".join(words(text.lower()))
