"""The inclusion order, applied to one entry of a folder: walking a tree and asking about one path
both come here, so they cannot disagree."""

from __future__ import annotations

from os import stat_result
from stat import S_ISDIR, S_ISLNK, S_ISREG

from findspot.core.denied import is_denied
from findspot.core.errors import FileNotIndexedError, FindspotError, PermissionDeniedError, SymlinkError
from findspot.core.folder import is_strangers
from findspot.core.languages import language_of
from findspot.core.model import Corpus, Skip, SkipReason, SourceFile, Stamp
from findspot.discover.content import BINARY_EXTENSIONS, extension, is_minified_name
from findspot.discover.ignore import Ignored
from findspot.discover.names import cleaned, is_plain, is_unsafe, nfc, spelled_out
from findspot.discover.policy import Policy, compiled, corpus_of


class Judge:
    """A policy made ready for one root."""

    def __init__(self, policy: Policy, *, ignore_case: bool, owner: int) -> None:
        self._policy = policy
        self._owner = owner
        self._include = compiled(policy.include)
        self._exclude = compiled(policy.exclude) if policy.exclude else None
        self._docs = compiled(policy.doc_patterns)
        self._ignore_case = ignore_case

    def judge(self, prefix: str, name: str, info: stat_result, ignored: Ignored) -> SourceFile | Skip | None:
        """Return the file as admitted, why it is left out, or None for a folder that is to be entered."""
        folder = S_ISDIR(info.st_mode)
        if not is_plain(name):
            unsafe = self._unsafe_name(prefix, name, folder=folder)
            if unsafe:
                return unsafe
            name = nfc(name)
        path = prefix + name
        shown = path + "/" if folder else path
        if is_denied(name, folder, self._ignore_case, prefix):
            return Skip(shown, SkipReason.DENIED)
        if self._exclude and self._exclude.matches(shown):
            return Skip(shown, SkipReason.EXCLUDED)
        rule = ignored(name, folder)
        if rule:
            return Skip(shown, SkipReason.GITIGNORED, rule.source)
        return self._folder(shown) if folder else self._file(path, name, info)

    def _unsafe_name(self, prefix: str, name: str, *, folder: bool) -> Skip | None:
        if not is_unsafe(name):
            return None
        shown = prefix + spelled_out(name) + ("/" if folder else "")
        if is_denied(cleaned(name), folder, self._ignore_case, prefix):
            return Skip(shown, SkipReason.DENIED)
        return Skip(shown, SkipReason.UNSAFE_NAME, "the name holds characters that cannot be seen")

    def _folder(self, path: str) -> Skip | None:
        depth = path.count("/")
        if depth > self._policy.max_depth:
            return Skip(path, SkipReason.TOO_DEEP, f"more than {self._policy.max_depth} folders deep")
        return None

    def _file(self, path: str, name: str, info: stat_result) -> SourceFile | Skip:
        if not S_ISREG(info.st_mode):
            is_link = S_ISLNK(info.st_mode)
            return Skip(path, SkipReason.SYMLINK if is_link else SkipReason.NOT_REGULAR)
        if is_strangers(info, self._owner):
            return Skip(path, SkipReason.NOT_REGULAR, "a hard link to a file of another user")
        if extension(name) in BINARY_EXTENSIONS:
            return Skip(path, SkipReason.BINARY, "by extension")
        if is_minified_name(name):
            return Skip(path, SkipReason.MINIFIED, "by name")
        if info.st_size > self._policy.max_file_bytes:
            return Skip(path, SkipReason.TOO_LARGE, f"{info.st_size} bytes")
        if not self._include.matches(path):
            return Skip(path, SkipReason.NOT_INCLUDED)
        corpus = corpus_of(path, self._docs)
        if not self._policy.index_docs and corpus is Corpus.DOCS:
            return Skip(path, SkipReason.DOCS_DISABLED)
        return SourceFile(path, corpus, language_of(path), *Stamp.of(info))


def not_indexable(path: str, skip: Skip) -> FindspotError:
    """Return a file that was asked for by name and is left out, as an error that says why."""
    if skip.reason is SkipReason.SYMLINK:
        return SymlinkError(path)
    if skip.reason is SkipReason.UNREADABLE:
        return PermissionDeniedError(path)
    why = f"It is left out: {skip.reason.replace('_', ' ')}" + (f" ({skip.detail})." if skip.detail else ".")
    return FileNotIndexedError(path, "" if skip.reason is SkipReason.VANISHED else why)
