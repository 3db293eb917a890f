"""The prompts, one file each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ontology.files import read_yaml

__all__ = ["graphseek_prompt", "prompt_parts"]


def graphseek_prompt(name: str) -> str:
    """Return a prompt of one text, by the name of its file."""
    return str(prompt_parts(name)["text"]).strip()


@cache
def prompt_parts(name: str) -> Mapping[str, Any]:
    """Return the texts of a prompt by their names."""
    parts: Mapping[str, Any] = read_yaml(Path(__file__).parent / f"{name}.yaml")
    return parts
