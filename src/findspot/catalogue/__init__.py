"""Tool catalogues: the tools that MCP servers offer, in one JSON file, searched in four ways."""
