"""Tool catalogues: what MCP servers offer, kept in one JSON file and searched in four ways."""
