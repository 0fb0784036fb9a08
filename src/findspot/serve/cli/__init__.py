"""The command line: it chooses, asks and prints; the engine does."""
