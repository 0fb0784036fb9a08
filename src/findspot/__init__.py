"""Findspot: local-first search for AI coding assistants and the people beside them."""
