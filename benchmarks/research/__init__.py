"""Graded questions for `code_research`."""
