"""Tests of fitting ranking weights."""
