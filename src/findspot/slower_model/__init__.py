"""The slower model: a transformer that reads the index in the background and then refines answers."""
