"""Tests of the checks of labelled requests."""
