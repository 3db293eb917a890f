"""The versions of frameworks that the adapters are tested with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from egotools.client_errors import MissingPackageError, PreconditionError

SUPPORTED: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "langchain": {"langchain-core": ("1.0", "2"), "langgraph": ("1.0", "2")},
    "llamaindex": {"llama-index-core": ("0.14", "0.15")},
    "openai-agents": {"openai-agents": ("0.20", "1")},
    "pydantic-ai": {"pydantic-ai-slim": ("2.0", "3")},
    "fastmcp": {"fastmcp": ("4.0", "5")},
    "haystack": {"haystack-ai": ("3.0", "4")},
}
"""Extra → package → lowest version, and the version that is too new. The extras of ``pyproject.toml`` say the same (a test compares)."""


@contextmanager
def framework(extra: str) -> Iterator[None]:
    """Check the packages of an extra; its imports stand in the block.

    :raises MissingPackageError: when one is not installed.
    :raises PreconditionError: when the version of one is outside the tested range.
    """
    for package, (lowest, too_new) in SUPPORTED[extra].items():
        try:
            found = version(package)
        except PackageNotFoundError:
            raise MissingPackageError(package) from None
        if not _numbers(lowest) <= _numbers(found) < _numbers(too_new):
            raise PreconditionError(
                f"version {found} is installed; egotools is tested with {lowest} and later, below {too_new}",
                package,
                f"Run: pip install '{package}>={lowest},<{too_new}'",
                reason="UNTESTED_VERSION",
            )
    yield


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])
