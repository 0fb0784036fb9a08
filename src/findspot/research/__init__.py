"""Answers that take more than one search: expansion, synthesis, and walks over the reference graph."""
