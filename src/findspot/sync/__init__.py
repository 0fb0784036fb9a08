"""Keeping an index fresh: who watches, what a change is, and when it reaches the index."""
