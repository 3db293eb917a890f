"""Semantic catalogs: what the types, properties and operators of a graph mean, in plain words."""
