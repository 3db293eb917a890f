"""Prompts: the texts that are sent to a chat model, rendered from the templates of ``prompts.yaml``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from ontology.yaml_data import read_yaml

__all__ = ["FAULTS", "MISTAKES", "WRITING_STYLES", "render_prompt"]

_DATA: Mapping[str, Any] = read_yaml(Path(__file__).parent / "prompts.yaml")
FAULTS: tuple[str, ...] = tuple(_DATA["faults"])
"""The kinds of errors of a request; the first one means no error."""
WRITING_STYLES: tuple[str, ...] = tuple(_DATA["styles"])
"""The styles of a paraphrase."""
MISTAKES: Mapping[str, str] = _DATA["mistakes"]
"""Map from the rule that a paraphrase breaks to what the model is told of it."""


def render_prompt(name: str, **values: object) -> str:
    """Render the prompt with this name and these values."""
    return _render(
        _DATA["prompts"][name], classes=_DATA["classes"], faults=_DATA["faults"], steps=_DATA["steps"], **values
    )


def _render(template: str, **values: object) -> str:
    return _environment().from_string(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, autoescape=False)
    environment.filters["json"] = json.dumps
    return environment
