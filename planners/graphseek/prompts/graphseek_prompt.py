"""The prompts, one file each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ontology.yaml_data import read_yaml

__all__ = ["graphseek_prompt"]

_FOLDER = Path(__file__).parent


class GraphseekPrompt(NamedTuple):
    """A prompt.

    :param version: changes with the texts; for the keys of caches.
    :param texts: all that its file has, by name.
    """

    version: str
    texts: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The text of a prompt that is one."""
        return str(self.texts["text"]).strip()


@cache
def graphseek_prompt(name: str) -> GraphseekPrompt:
    """Return a prompt by the name of its file."""
    given = read_yaml(_FOLDER / f"{name}.yaml")
    return GraphseekPrompt(f"graphseek.{name}.{given['version']}", given)
