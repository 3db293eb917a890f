"""Cypher as text: its tokens, its patterns, and the allow-list before an engine sees what a model wrote."""
