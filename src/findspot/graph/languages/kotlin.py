"""Kotlin: as Java, with functions outside of types and extensions; calls are found by name."""

from __future__ import annotations

from findspot.graph.languages.java import Java


class Kotlin(Java):
    """Kotlin."""

    partial = True
    methods_apart = False
    knows_all_members = False
    satellites = True
    calls_by_name = True
