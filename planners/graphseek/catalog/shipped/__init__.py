"""Accepted catalogs that are part of the product, one YAML file a graph."""
