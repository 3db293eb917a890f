"""Graphs in Neo4j and what speaks its protocol, Bolt."""
