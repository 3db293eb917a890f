"""Graphs from tables and files into a new Ladybug file: typed tables, CSV folders, GraphML."""
