"""What a repository remembers: its commits as documents, and the commits that shaped some lines."""
