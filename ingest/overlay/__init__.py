"""Overlay files: what the owner of a catalogue says of its tools beside their documents, and how it takes effect.

:func:`check_overlay` reads a file and lists its faults with their lines. :func:`apply_overlays` changes the tools of a catalogue, and
returns what linking, the graph and the ranking need: context parameters, dependencies, boosts.
"""
