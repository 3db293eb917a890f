"""The texts of prompts, one file each."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from ontology.yaml_data import read_yaml

__all__ = ["GraphseekPrompt", "graphseek_prompt"]

_FOLDER = Path(__file__).parent


class GraphseekPrompt(NamedTuple):
    """A prompt.

    :param version: changes with the text; for the keys of caches.
    """

    version: str
    text: str


@cache
def graphseek_prompt(name: str) -> GraphseekPrompt:
    """Return a prompt by the name of its file."""
    given = read_yaml(_FOLDER / f"{name}.yaml")
    return GraphseekPrompt(f"graphseek.{name}.{given['version']}", str(given["text"]).strip())
