"""Build a tool graph from tool documents: parse the documents (`sources`), extract triples (`extract`), make names canonical
(`canonical`), derive edges between tools (`linking`), write graph databases (`stores`)."""
