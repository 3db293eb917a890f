"""Findings in tool documents, which are untrusted text that will reach a model."""
