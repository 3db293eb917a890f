"""Agents at work through the MCP server: the same tasks with the search and with all tools bound, checked by what they leave behind."""
