"""PHP: imports by namespace and name."""

from __future__ import annotations

from findspot.graph.languages.language import Language


class Php(Language):
    """PHP."""

    family = "php"
    partial = False
    shares = "package"
    imports_packages = True
    constructors = frozenset({"__construct"})
    own_type_names = Language.own_type_names | {"self"}
