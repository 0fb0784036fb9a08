"""Which files of a project are indexed, and why the others are not."""
