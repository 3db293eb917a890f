"""Changes of a catalogue between two builds: the log that keeps them, and the snapshot that shows them.

A build makes one immutable snapshot. Tools that change afterwards are a small segment beside it: :func:`retrieval.delta.join.join`
makes one snapshot of both, with one numbering, one set of postings and one graph, so that every stage of retrieval reads it as any
other snapshot. A merge builds the whole catalogue again.
"""
