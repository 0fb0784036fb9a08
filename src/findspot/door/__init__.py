"""The way to the resident process. To start fast, its modules import nothing but the standard library."""
