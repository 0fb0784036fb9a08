"""Benchmarks: answer quality on public relevance data, and speed on real projects."""
