"""Triple extraction: what a tool's document says, as triples with provenance; two twins, rules and llm."""
