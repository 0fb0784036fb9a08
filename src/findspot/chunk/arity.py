"""How many arguments a call has and a function takes, by which overloads are told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

OVERLOADING = frozenset({"java", "kotlin", "csharp"})
"""Languages whose functions of one name are told apart by their parameters."""

UNKNOWN_ARITY = (-1, -1)
ANY_NUMBER = 255
"""The most arguments of a function that takes any number."""

_MAX_STEPS = 3
"""From the name of what is called up to the call."""

_VARIADIC = frozenset({"spread_parameter", "vararg", "params"})


def argument_count(name: Node) -> int:
    """Return how many arguments the call of a name has, or -1."""
    call = name.parent
    for _ in range(_MAX_STEPS):
        if call is None:
            return -1
        given = call.child_by_field_name("arguments")
        if given is not None:
            return _count(given)
        if call.type == "call_expression":  # Kotlin has no name for them
            given, block = _child(call, "value_arguments"), _child(call, "annotated_lambda")
            return (_count(given) if given is not None else 0) + (block is not None)
        call = call.parent
    return -1


def parameter_range(function: Node) -> tuple[int, int]:
    """Return how many arguments a function takes, at least and at most."""
    listed = function.child_by_field_name("parameters") or _child(function, "function_value_parameters")
    if listed is None:
        return UNKNOWN_ARITY
    least = most = 0
    for child in listed.children:
        words = {child.type, *(token.type for token in child.children)}
        words.update(_text(part) for part in child.children if "modifier" in part.type)
        if child.type == "=" or _VARIADIC & words:
            least -= child.type == "="  # the parameter before it has a default
            most = ANY_NUMBER if _VARIADIC & words else most
        elif child.type.endswith("parameter") and child.type != "receiver_parameter":
            most += most < ANY_NUMBER
            least += "=" not in words and "this" not in words
    return least, most


def _count(arguments: Node) -> int:
    count = arguments.named_child_count
    return sum(not child.is_extra for child in arguments.named_children) if count > 1 else count


def _child(node: Node, kind: str) -> Node | None:
    return next((child for child in node.named_children if child.type == kind), None)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace").strip()
