"""Extract triples with provenance from a tool's document; a rule-based and an LLM backend with one interface."""
