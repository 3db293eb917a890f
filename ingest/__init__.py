"""Build a tool graph from tool documents: parse the documents (`sources`), extract triples (`extract`), make names canonical
(`canonical`), derive edges between tools (`linking`), say how tools are used (`usage`), write graph databases (`stores`)."""
