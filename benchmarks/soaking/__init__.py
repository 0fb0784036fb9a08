"""What must hold over hours: kills, edits, clients, branch switches and fuzzing; see `benchmarks.soak`."""
