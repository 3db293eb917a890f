"""Validation of labelled requests: the parse of a request, the fit of its path, and three checks of both by rules.

The patterns and word lists of English are the YAML files of this folder. A request is parsed once, whatever validators
read it.
"""
