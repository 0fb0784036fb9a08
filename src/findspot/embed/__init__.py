"""Texts to vectors: one protocol, a table of providers, and the pooling of a chunk's fields."""
