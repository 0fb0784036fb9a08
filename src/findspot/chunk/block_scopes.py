"""Variables of one name in different blocks of a function: which of them a use means.

Facts bind names per function. Where a function binds a name to different values in different blocks, all but
one of those variables are renamed (`x~2`), and the uses in their blocks with them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from findspot.core.facts import LITERAL, UNKNOWN, BindingFact, ReferenceFact, Relation

if TYPE_CHECKING:
    from tree_sitter import Node

_GO = """
block func_literal for_statement if_statement expression_switch_statement type_switch_statement type_case
expression_case default_case communication_case function_declaration method_declaration
"""
_C = """
compound_statement for_statement for_range_loop if_statement switch_statement while_statement
function_definition lambda_expression catch_clause
"""
_JAVA = """
block lambda_expression for_statement enhanced_for_statement if_statement catch_clause switch_rule
try_with_resources_statement switch_block_statement_group method_declaration constructor_declaration
"""
_JAVASCRIPT = """
statement_block arrow_function function_expression function_declaration generator_function method_definition
generator_function_declaration for_statement for_in_statement catch_clause switch_case
"""
_BLOCKS = {
    "go": frozenset(_GO.split()),
    "c": frozenset(_C.split()),
    "cpp": frozenset(_C.split()),
    "java": frozenset(_JAVA.split()),
    "javascript": frozenset(_JAVASCRIPT.split()),
    "typescript": frozenset(_JAVASCRIPT.split()),
    "tsx": frozenset(_JAVASCRIPT.split()),
}
"""By language: the types of nodes that variables are confined to."""

_STATEMENTS = frozenset({"short_var_declaration", "var_spec", "init_declarator", "variable_declarator"})
"""A variable is visible from the end of its declaration on: `x := x.(T)` reads an outer `x`."""
_ASSIGNMENTS = {
    "go": "assignment_statement",
    "javascript": "assignment_expression",
    "typescript": "assignment_expression",
    "tsx": "assignment_expression",
}
"""What gives an existing variable another value."""

_ROOT = re.compile(r"[A-Za-z_]\w*")


class _Variable(NamedTuple):
    """A binding with where it stands and the bytes in which it holds."""

    binding: BindingFact
    at: int
    visible_from: int
    start: int
    end: int
    is_assignment: bool


_Key = tuple[int, str]
_Seen = dict[_Key, list[tuple[_Variable, str]]]
References = dict[tuple[int, str], ReferenceFact]


@dataclass(slots=True)
class BlockScopes:
    """The variables of one file; only those that differ in value are looked at more closely."""

    language: str
    written: dict[tuple[int, str], list[tuple[BindingFact, Node]]] = field(default_factory=dict)

    @property
    def is_needed(self) -> bool:
        return self.language in _BLOCKS

    def add(self, binding: BindingFact, node: Node) -> None:
        """Note a binding and the node that it holds around."""
        self.written.setdefault((binding.owner, binding.target), []).append((binding, node))

    def settle(
        self,
        bindings: dict[BindingFact, None],
        references: References,
    ) -> None:
        """Rename variables and their uses."""
        if not self.written:
            return
        seen = self._renamed(references)
        if not seen:
            return
        owners = {owner for owner, _ in seen}
        for at, reference in references.items():
            if reference.owner not in owners:
                continue
            on = _resolved(reference.on, reference.owner, at[0], seen)
            name = reference.name if reference.on else _resolved(reference.name, reference.owner, at[0], seen)
            if (name, on) != (reference.name, reference.on):
                references[at] = reference._replace(name=name, on=on)
        self._rename(bindings, seen)

    def _renamed(self, references: References) -> _Seen:
        """Return the variables that have to be renamed, each with what it is called then."""
        seen = {}
        called: dict[_Key, list[int]] = {}
        for (start, _), reference in references.items():
            if not reference.on and reference.relation == Relation.CALL:
                called.setdefault((reference.owner, reference.name), []).append(start)
        for key, written in self._candidates(called).items():
            variables = [self._variable(*item) for item in written]
            names = _names(variables, keep=not _called_before(called.get(key, ()), variables))
            if len(set(names.values())) > 1 or _is_renamed(names):
                seen[key] = [(variable, names[_block(variable)]) for variable in variables]
        return seen

    def _candidates(self, called: Container[_Key]) -> dict[_Key, list[tuple[BindingFact, Node]]]:
        """Return the variables with several values, and those whose name is also called."""
        return {
            key: written
            for key, written in self.written.items()
            if key[0] >= 0
            and (key in called or (len(written) > 1 and len({binding.value for binding, _ in written}) > 1))
        }

    def _rename(self, bindings: dict[BindingFact, None], seen: _Seen) -> None:
        fresh: list[tuple[BindingFact, BindingFact | None]] = []
        for key, written in self.written.items():
            for place, (binding, node) in enumerate(written):
                value = _resolved(binding.value, binding.owner, node.start_byte, seen)
                target = seen[key][place][1] if key in seen else binding.target
                after = BindingFact(binding.owner, target, value)
                if key in seen and seen[key][place][0].is_assignment and _is_declared(target, seen[key]):
                    fresh.append((binding, None))  # its type is that of the declaration
                elif key in seen or value != binding.value:
                    fresh.append((binding, after))
        for before, _ in fresh:
            bindings.pop(before, None)
        bindings.update(dict.fromkeys(after for _, after in fresh if after is not None))

    def _variable(self, binding: BindingFact, node: Node) -> _Variable:
        blocks = _BLOCKS[self.language]
        visible_from, is_assignment = node.end_byte, False
        around = node.parent
        while around is not None and around.type not in blocks:
            if around.type in _STATEMENTS:
                visible_from = around.end_byte
            is_assignment = is_assignment or around.type == _ASSIGNMENTS.get(self.language)
            around = around.parent
        start, end = (around.start_byte, around.end_byte) if around is not None else (0, 1 << 62)
        return _Variable(binding, node.start_byte, visible_from, start, end, is_assignment)


def _called_before(calls: Iterable[int], variables: list[_Variable]) -> bool:
    """Return whether a call by the name of a variable means something else: `diff := diff(a, b)`."""
    return any(not any(v.start <= at < v.end and v.visible_from <= at for v in variables) for at in calls)


def _block(variable: _Variable) -> tuple[int, int]:
    return variable.start, variable.end


def _is_renamed(names: dict[tuple[int, int], str]) -> bool:
    return all("~" in name for name in names.values())


def _is_declared(name: str, variables: list[tuple[_Variable, str]]) -> bool:
    """Return whether a variable of this name was declared with a value or type that is known."""
    return any(
        other == name and not variable.is_assignment and variable.binding.value not in (UNKNOWN, LITERAL)
        for variable, other in variables
    )


def _names(variables: list[_Variable], keep: bool) -> dict[tuple[int, int], str]:
    """Return what the variable of each block is called; the outermost may keep the name."""
    declared = [v for v in variables if not v.is_assignment] or variables
    blocks = sorted({_block(v) for v in declared}, key=lambda block: (block[0], -block[1]))
    target = variables[0].binding.target
    names = {
        block: target if not place and keep else f"{target}~{place + 1}" for place, block in enumerate(blocks)
    }
    for variable in variables:
        if variable.is_assignment and _block(variable) not in names:
            around = [b for b in blocks if b[0] <= variable.at < b[1]]
            names[_block(variable)] = names[min(around, key=lambda b: b[1] - b[0])] if around else target
    return names


def _resolved(chain: str, owner: int, at: int, seen: _Seen) -> str:
    """Return a chain whose first name is that of the variable it means at a byte."""
    root = _ROOT.match(chain)
    if root is None or (owner, root[0]) not in seen or "|" in chain:
        return chain
    holding = [
        (variable.end - variable.start, name)
        for variable, name in seen[owner, root[0]]
        if variable.start <= at < variable.end and variable.visible_from <= at and not variable.is_assignment
    ]
    return min(holding)[1] + chain[root.end() :] if holding else chain
