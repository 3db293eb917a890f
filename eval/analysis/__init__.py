"""Analysis of an evaluation: win/loss analysis of two evaluations or two systems, and failures with their causes.

All functions work on the stored answers of measured sets. For failures, presets run again to get their reasons.
"""
