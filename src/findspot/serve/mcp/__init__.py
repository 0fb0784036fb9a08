"""The MCP server: the protocol stops here, plain values go in."""
