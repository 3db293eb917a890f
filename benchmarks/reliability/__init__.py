"""Faults, swaps and attacks against a store and a server."""
