"""Operators that adapt: versions of an operator that a model proposes when the schema has changed, and a person approves (appendix A.3 of the paper)."""
