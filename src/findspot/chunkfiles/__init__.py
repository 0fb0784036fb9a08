"""Chunk files (`.cortex/chunks/*.json`): export, load, search, and reload when they change."""
