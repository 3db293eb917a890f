"""Reader of Python callables: type hints and docstrings."""

from ingest.sources.python.source import PythonSource

__all__ = ["PythonSource"]
