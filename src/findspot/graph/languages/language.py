"""What the graph asks of a language: how names are found, and which files a module is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import resources
from typing import Any, TypeVar

from findspot.core.facts import ImportFact
from findspot.graph.project_paths import ProjectPaths

T = TypeVar("T")


class lasting(cached_property[T]):  # noqa: N801  it is used as `cached_property` is
    """A property of a `ModuleFinder` that is the same until a path or a file of settings changes."""

    def __init__(self, work: Callable[[Any], T]) -> None:
        super().__init__(lambda finder: finder.project.once(work.__qualname__, lambda: work(finder)))


class ModuleFinder:
    """Finds the files of the project that a module is, in one generation of the index."""

    def __init__(self, project: ProjectPaths) -> None:
        self.project = project
        self.paths = project.paths

    def files(self, path: str, module: str) -> Iterator[str]:
        """Yield the paths of a module as the file at `path` names it."""
        yield from ()

    def folder(self, path: str, fact: ImportFact) -> str | None:
        """Return the folder that a module without a file of its own is, as the file at `path` names it."""
        return None

    def files_in(self, folder: str) -> tuple[str, ...]:
        """Return the files of a package that is a folder, without its tests."""
        return ()

    def inner_module(self, fact: ImportFact) -> str | None:
        """Return the module that an import may name as a member of a folder."""
        return None

    def submodule(self, path: str, name: str) -> str | None:
        """Return the file of a module inside of the package that `path` is the file of."""
        return None

    def member(self, folder: str, name: str) -> tuple[str | None, str | None]:
        """Return the file, or else the folder, that a name of a folder is."""
        return None, None

    def first(self, stem: str, ends: tuple[str, ...]) -> Iterator[str]:
        """Yield the first file of the project that a stem and one of the endings make."""
        for end in ends:
            if stem + end in self.paths:
                yield stem + end
                return


def listed(name: str) -> frozenset[str]:
    """Return the words of a file beside this one."""
    return frozenset(resources.files(__package__).joinpath(name).read_text("utf-8").split())


class Language:
    """One language of the graph. Languages of one family see each other's definitions."""

    family = ""
    finder: type[ModuleFinder] = ModuleFinder
    by_name = False
    """Whether a call leads to the only definition of its name: the rest was wrong or missing too often."""

    shares = "file"
    """Whose top-level names are visible without import: of the `file`, `folder`, `package` or `project`."""
    imports_packages = False
    """Whether imports name packages rather than files."""
    imports_whole_packages = False
    """Whether an import may bring in a package of several files."""
    folders_are_packages = False
    """Whether the files of a folder share their names with whoever imports the folder."""
    exports_default = False
    """Whether a module exports something as a whole, and members of it are members of the module."""

    constructors: frozenset[str] = frozenset()
    """What constructors are called, besides the name of their type."""
    constructors_have_type_names = True
    """Whether a method with the name of its type is a constructor."""
    common_methods: frozenset[str] = frozenset()
    """Names of methods that values of its library have: on their own they say nothing."""
    functions: frozenset[str] = frozenset()
    """Names that its library gives every object, to be called without a receiver."""
    capitals_are_constants = False
    """Whether a receiver with a capital letter is a constant: one of a library unless the project has it."""
    own_type_names = frozenset({"cls", "Self", "static", "class"})
    """What the code of a type calls the type itself."""
    own_module_names: frozenset[str] = frozenset()
    """What the code of a module calls the module itself."""
    self_names = frozenset({"self", "this"})
    """What a method calls the object it runs on."""
    parent_names = frozenset({"super", "parent", "base"})
    """What the code of a type calls its supertype."""
    attribute_suffix = ""
    """What the name of an annotation may leave out."""

    element_methods: frozenset[str] = frozenset()
    """Methods of containers and holders that return an element."""
    container_methods: frozenset[str] = frozenset()
    """Methods of containers that return another container of the same elements."""
    methods_apart = False
    """Whether a call by a bare name never means a variable, and what a type lacks is that of a library."""
    bare_members = False
    """Whether a method names members of its type without `this`."""
    satellites = False
    """Whether members of a type may be written outside of it."""
    structural_interfaces = False
    """Whether a type conforms to an interface by having its methods."""

    mixins = False
    """Whether a type may use members that only the types built on it have."""

    class_scope = False
    """Whether code directly in a class sees the names of the class."""
    last_definition_wins = False
    """Whether a later definition of a name replaces an earlier one."""
    functions_make_types = False
    """Whether a name that should be a type may be a function that makes one."""
    objects_are_types = False
    """Whether an object or a function with functions of its own is treated like a type."""
    titled_tests = False
    """Whether tests have titles, which no code can refer to."""
    super_is_callable = True
    """Whether `super()` itself calls something."""
    fixtures = False
    """Whether parameters of tests may ask for fixtures."""

    @cached_property
    def own_names(self) -> frozenset[str]:
        """What the code of a type calls its object, the type itself, or its supertype."""
        return self.own_type_names | self.self_names | self.parent_names

    def is_variant(self, path: str) -> bool:
        """Return whether a file is for a special system, where others define the same."""
        return False

    def module_scope(self, path: str) -> str:
        """Return what the module names in a file depend on: its folder, unless its own name matters."""
        return path.rpartition("/")[0]
