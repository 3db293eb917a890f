"""A seeded property graph of electric vehicle manufacturing, as tables of nodes and relationships, at any size."""
