"""Compiling what operators read to Cypher: Ladybug's and that of Neo4j."""
