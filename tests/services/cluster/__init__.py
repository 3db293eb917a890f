"""Tests of :mod:`services.cluster`."""
