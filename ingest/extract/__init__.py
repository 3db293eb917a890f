"""Triple extraction: a tool's document as triples with provenance; a rule-based and an LLM backend behind one seam."""
