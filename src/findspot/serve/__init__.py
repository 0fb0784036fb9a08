"""Thin adapters: each speaks one protocol outwards and asks the engine for everything."""
