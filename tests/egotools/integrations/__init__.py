"""The adapters of frameworks, each with its framework."""
