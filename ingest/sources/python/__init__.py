"""Reader of Python callables: type hints and docstrings."""
