"""The memory domain: store, search, reflect, trace, forget. No HTTP, no MCP, no SQL text."""
