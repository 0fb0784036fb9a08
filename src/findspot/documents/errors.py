"""What can be wrong with a request to a named index, in the words of its specification."""

from __future__ import annotations

from findspot.core.errors import FindspotError, InvalidArgumentError


class UnknownIndexError(FindspotError):
    """No index has that name."""

    code = "INDEX_NOT_FOUND"

    def __init__(self, name: str) -> None:
        super().__init__(f"Index not found: {name}", hint="Create it first, or check its name.")


class IndexExistsError(InvalidArgumentError):
    """The name is taken."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Index already exists: {name}")


class UnknownBackendError(InvalidArgumentError):
    """Neither `memory` nor `disk`."""

    def __init__(self, backend: str) -> None:
        super().__init__(f"Unknown backend: {backend}")


class BlankContentError(InvalidArgumentError):
    """A document without text."""

    def __init__(self) -> None:
        super().__init__("Content must be a non-empty string")


class IndexNameError(InvalidArgumentError):
    """A name that could be mistaken for something else, such as a path."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid index name: {name}. Use 1 to 64 letters, digits, hyphens and underscores.")


class LimitReachedError(InvalidArgumentError):
    """More than an index may hold."""


class DamagedIndexError(FindspotError):
    """The file of an index cannot be read."""

    code = "INDEX_CORRUPT"

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(
            f"The index '{name}' is damaged and cannot be read.",
            detail,
            hint=f"Drop it with `findspot documents drop {name}` and add its documents again.",
        )
