"""Build a tool graph from tool documents: parse the documents (`sources`), extract triples (`extract`), make names canonical
(`canonical`), derive edges between tools (`linking`), take in what owners say beside their documents (`overlay`), and examine them (`trust`)."""
