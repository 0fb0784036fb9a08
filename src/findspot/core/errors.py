"""Every error Findspot raises on purpose.

Each carries a message for the user, one for a developer, and where it helps a hint: what to
do next. Errors of libraries are translated in the module that owns the library.
"""

from __future__ import annotations

import re
from typing import ClassVar


class FindspotError(Exception):
    """The root: everything a caller may want to catch."""

    code: ClassVar[str] = "INTERNAL_ERROR"

    def __init__(self, user_message: str, detail: str = "", *, hint: str = "") -> None:
        self.user_message = user_message
        self.developer_message = f"{self.code}: {detail or user_message}"
        self.hint = hint
        super().__init__(user_message)

    @property
    def statement(self) -> str:
        """The message without the question at its end, for where nobody can answer it."""
        return re.sub(r"(?<=[.!]) [^.!?]*\?$", "", self.user_message)

    def with_hint(self) -> str:
        """Return the message and the hint as sentences of one text."""
        if not self.hint:
            return self.user_message
        ended = self.user_message.endswith((".", "!", "?", ":"))
        return f"{self.user_message}{'' if ended else '.'} {self.hint}"


class InvalidArgumentError(FindspotError):
    """A value that cannot be used."""

    code = "INVALID_ARGUMENT"


class InvalidPatternError(InvalidArgumentError):
    """A glob or regular expression that cannot be read."""

    code = "INVALID_PATTERN"

    def __init__(self, pattern: str, detail: str) -> None:
        shown = pattern if len(pattern) <= 200 else pattern[:200] + "…"
        super().__init__(f"The search pattern '{shown}' is invalid. Please check the syntax.", detail)


class PathNotFoundError(FindspotError):
    """There is no such folder."""

    code = "PATH_NOT_FOUND"

    def __init__(self, path: str, hint: str = "") -> None:
        super().__init__(f"Path does not exist or is not a directory: {path}", hint=hint)


class ProjectNotDetectedError(FindspotError):
    """No folder up to the root of the file system looks like a project."""

    code = "PROJECT_NOT_DETECTED"

    def __init__(self, start: str, message: str = "", *, hint: str = "") -> None:
        super().__init__(
            message or "Could not detect project root. Please choose a directory.",
            "No markers found in path hierarchy",
            hint=hint or f"Name the project's folder, or run `git init` in it (started from {start}).",
        )


class SeveralProjectsError(ProjectNotDetectedError):
    """A workspace was named where one project is wanted."""

    def __init__(self, folder: str, names: str) -> None:
        message = f"{folder} is a workspace ({names}), and this is about one project."
        example = names.partition(",")[0]
        super().__init__(folder, message, hint=f"Name one of its members, such as {example}.")


class IndexNotFoundError(FindspotError):
    """The project has no index yet."""

    code = "INDEX_NOT_FOUND"

    def __init__(self, project_path: str, index_path: str) -> None:
        self.project_path = project_path
        super().__init__(
            "This project hasn't been indexed yet. Would you like to index it now?",
            f"No index at {index_path}/",
            hint=f"Run `findspot index {project_path}`.",
        )


class DocsIndexNotFoundError(IndexNotFoundError):
    """The project has no index of documentation."""

    code = "DOCS_INDEX_NOT_FOUND"

    def __init__(self, project_path: str, index_path: str) -> None:
        self.project_path = project_path
        FindspotError.__init__(
            self,
            "No documentation has been indexed yet. Run create_index to index your project.",
            f"No docs index at {index_path}/docs.lancedb/",
            hint="Run `findspot index`, where the project has documentation files and `indexDocs` is true.",
        )

    @property
    def statement(self) -> str:
        """The message without the tool that it names, which commands do not have."""
        return self.user_message.partition(" Run ")[0]


class FileNotIndexedError(FindspotError):
    """A file that does not exist or is not indexed."""

    code = "FILE_NOT_FOUND"

    def __init__(self, path: str, why: str = "") -> None:
        super().__init__(
            f"The file '{path}' doesn't exist or isn't indexed.", f"{path} not in index", hint=why
        )


class SymlinkError(FindspotError):
    """A symbolic link where a file is wanted."""

    code = "SYMLINK_NOT_ALLOWED"

    def __init__(self, path: str) -> None:
        super().__init__(
            "Symbolic links are not allowed for security reasons.", f"Symlink detected at path: {path}"
        )


class FileLimitError(FindspotError):
    """The project has more files than `maxFiles`: ask the user first."""

    code = "FILE_LIMIT_WARNING"

    def __init__(self, count: int, limit: int) -> None:
        self.count = count
        super().__init__(
            f"This project is very large ({count} files). Indexing may take several minutes. Continue?",
            f"{count} files exceeds soft limit of {limit:,}",
            hint="Confirm to go on, or narrow `include` / `exclude` / `maxFiles` in the configuration.",
        )


class PermissionDeniedError(FindspotError):
    """The operating system refused access."""

    code = "PERMISSION_DENIED"

    def __init__(self, path: str, user_message: str = "", detail: str = "", *, hint: str = "") -> None:
        super().__init__(
            user_message or "Can't access some files in this project. Check folder permissions.",
            detail or f"EACCES reading {path}",
            hint=hint,
        )


class StoreRefusedError(PermissionDeniedError):
    """An object store refused access."""

    def __init__(self, detail: str, *, hint: str) -> None:
        FindspotError.__init__(self, "The store of this index refuses access.", detail, hint=hint)


class DiskFullError(FindspotError):
    """The disk is full; nothing was half-written."""

    code = "DISK_FULL"

    def __init__(self, needed_mb: int | None, available_mb: int, *, limited: bool = False) -> None:
        self.needed_mb = needed_mb
        if limited:
            super().__init__(
                "A quota or a limit on the size of files keeps the search index from being written. "
                "Raise it and try again.",
                f"EDQUOT or EFBIG - the disk has {available_mb}MB",
            )
        else:
            needed = "" if needed_mb is None else f"need ~{needed_mb}MB, "
            super().__init__(
                "Not enough disk space to create the search index. Free up some space and try again.",
                f"ENOSPC - {needed}have {available_mb}MB",
            )


class SystemLimitError(FindspotError):
    """The system allows no more open files or memory."""

    code = "SYSTEM_LIMIT"

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(
            f"The system has reached a limit: {reason.lower()}.",
            f"{reason}: {path}",
            hint="Close other programs, or raise the limit (`ulimit -n` for open files), and try again.",
        )


class IndexCorruptError(FindspotError):
    """The index cannot be read."""

    code = "INDEX_CORRUPT"

    def __init__(self, detail: str) -> None:
        super().__init__(
            "The search index seems corrupted.",
            f"read error - {detail}",
            hint="Run `findspot index` to rebuild it.",
        )
        self.detail = detail


class IndexFormatError(IndexCorruptError):
    """The index was written by a newer version of Findspot."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(f"format {found} is newer than this version's {known}")
        self.user_message = "This index was written by a newer version of Findspot."
        self.hint = "Upgrade Findspot, or run `findspot reindex` to rebuild the index with this version."
        self.args = (self.user_message,)


class IndexBusyError(FindspotError):
    """Another process is writing the index."""

    code = "INDEX_BUSY"

    def __init__(self, owner: str) -> None:
        super().__init__(
            "Another process is updating this index. Searches still work; try the update again shortly.",
            f"writer lock held by {owner}",
        )


class ModelMismatchError(FindspotError):
    """The index was made with another embedding model."""

    code = "MODEL_MISMATCH"

    def __init__(self, indexed: str, configured: str, hint: str | None = None) -> None:
        super().__init__(
            f"This index was made with the model {indexed}, but {configured} is configured.",
            f"index has {indexed}, configuration asks for {configured}",
            hint=hint
            or f"Run `findspot reindex --provider {configured.partition('@')[0]}` to embed it with the "
            f"configured model, or `findspot config set embedding.provider {indexed.partition('@')[0]}`.",
        )


class ModelUnavailableError(FindspotError):
    """The files of a model are missing or damaged."""

    code = "MODEL_DOWNLOAD_FAILED"

    def __init__(self, detail: str, *, hint: str = "") -> None:
        super().__init__(
            "Couldn't set up the search engine. Please check your internet connection and try again.",
            detail,
            hint=hint,
        )


class ProviderError(FindspotError):
    """An embedding provider failed."""

    code = "PROVIDER_ERROR"

    def __init__(self, detail: str, *, hint: str = "") -> None:
        super().__init__(f"The embedding provider failed: {detail}", detail, hint=hint)


class LanguageModelError(ProviderError):
    """A language model failed."""

    def __init__(self, detail: str, *, hint: str = "") -> None:
        FindspotError.__init__(self, f"The language model failed: {detail}", detail, hint=hint)


class StoreUnavailableError(ProviderError):
    """An object store cannot be reached."""

    def __init__(self, detail: str) -> None:
        hint = "Check its address, AWS_ENDPOINT_URL and the network, then try again."
        FindspotError.__init__(self, "The store of this index cannot be reached.", detail, hint=hint)


class CancelledError(FindspotError):
    """The work was stopped on request."""

    code = "CANCELLED"

    def __init__(self, message: str = "Cancelled. What was finished before is kept.") -> None:
        super().__init__(message)


class IndexStoppedError(CancelledError):
    """Work that nobody asked for met an index whose building was stopped on request."""

    def __init__(self) -> None:
        super().__init__("Building this index was stopped on request.")


def first_cause(error: BaseException) -> BaseException:
    """Return the first error of a group, in which parallel work reports errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
