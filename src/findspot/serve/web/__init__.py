"""The web page: a guarded server on loopback, JSON routes over the library, and the page's own files."""
