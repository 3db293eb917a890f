"""Runs of planners: an append-only journal of every step, its replay, its resumption, and an account of calls, tokens and time."""
