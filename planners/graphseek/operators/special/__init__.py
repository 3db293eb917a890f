"""Operators of one graph: one file each, given to the registry as a folder; nothing else knows of them. These two are of the EV graph."""
