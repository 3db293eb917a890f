"""Calling tools: one seam over Python functions, HTTP and MCP; consent before what changes something; retries only where they are safe."""
