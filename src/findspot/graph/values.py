"""What an expression may stand for, and how far that is to be trusted."""

from __future__ import annotations

from typing import NamedTuple

from findspot.graph.source_view import Def, SourceView

SCOPE = 1.0
"""The name is defined in the same file, or visible there by the rules of the language."""
IMPORTED = 0.95
"""An import leads to it; modules can be replaced at run time."""
MEMBER = 0.95
"""A member of the type of `self`, its own or inherited; a subclass may override it."""
TYPED = 0.95
"""A member of a declared or constructed type."""
INFERRED = 0.85
"""What a function without a declared type returns, read from its `return` statements."""
SHARED = 0.9
"""Visible to all files of a package or folder, and the only one of its name there."""
STRUCTURAL = 0.8
"""A type of Go that has all methods of an interface, with the same parameters and results."""
UNIQUE = 0.6
"""Nothing but the name is known, and the project has one definition of it (or one and its overrides)."""
DISPATCHED = 0.4
"""A call of the overridden method, which may reach this one."""
VARIANT = 0.4
"""A definition for another system than most: the build decides which one is meant."""
FLOOR = 0.5
"""What answers show unless asked for more: whatever is in doubt stays out."""


class What:
    """The kinds of value, as numbers: naming a member of an enumeration takes five times as long.

    The files of a package share their names. A record is a struct whose type has no name, or an object
    literal that a function returns. A container of instances is wrapped, and a function that returns one.
    """

    INSTANCE, TYPE, FUNCTION, MODULE, FOLDER, PACKAGE, RECORD, WRAPPED, PARENT, EXTERNAL = range(10)


class Record(NamedTuple):
    """A struct without a name: where it is written, and what the names of its fields start with."""

    view: SourceView
    owner: int
    mark: str


class Value(NamedTuple):
    """A value: an instance or a type by its definition, a function, a module by its file."""

    what: int
    of: Def | SourceView | Record | str | None
    trust: float = SCOPE
    on: Def | None = None
    """The type through which a function was reached: what its `Self` is."""
    shape: str = ""
    """Of something wrapped: `[]` for each container and `()` for each function around the instance."""

    def through(self, trust: float) -> Value:
        """Return the same value, reached by a step that is to be trusted so far: the weakest step counts."""
        if trust >= self.trust:
            return self
        what, of, _, on, shape = self
        return Value(what, of, trust, on, shape)

    def wrapped(self, shape: str) -> Value:
        """Return it inside of containers and functions."""
        return self._replace(what=What.WRAPPED, shape=shape) if shape else self

    def unwrapped(self, step: str) -> Value | None:
        """Return an element, or what a call returns; None where it has none."""
        if self.what is not What.WRAPPED or not self.shape.startswith(step):
            return None
        shape = self.shape[len(step) :]
        inner = What.RECORD if isinstance(self.of, Record) else What.INSTANCE
        return self._replace(what=What.WRAPPED if shape else inner, shape=shape)


Values = list[Value]
"""What an expression may be; nothing where that is unknown."""

EXTERNAL = Value(What.EXTERNAL, None)
"""Something that the project does not define."""
