"""Graphs in Ladybug, an embedded database with Cypher: its process, its tables, and statements in its dialect."""
