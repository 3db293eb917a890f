"""The MCP server: a model searches the tools of a catalogue, and calls those that it found through this gateway."""
