"""Prompts: the texts that are sent to a chat model, rendered from the templates of ``prompts.yaml``."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from ontology.yaml_data import read_yaml

__all__ = ["FAULTS", "example_of", "generation_prompt", "persona", "render_prompt"]

_DATA: Mapping[str, Any] = read_yaml(Path(__file__).parent / "prompts.yaml")
FAULTS: tuple[str, ...] = tuple(_DATA["faults"])
"""The kinds of errors of a request; the first one means no error."""


def render_prompt(name: str, **values: object) -> str:
    """Render the prompt with this name and these values."""
    return _render(
        _DATA["prompts"][name], classes=_DATA["classes"], faults=_DATA["faults"], steps=_DATA["steps"], **values
    )


def example_of(request_class: str) -> str:
    """Return the example request of a class in the prompt."""
    example: str = _DATA["classes"][request_class]["example"]
    return example


def generation_prompt(request_class: str, *, most_words: int) -> str:
    """Render the prompt for a request of a class."""
    return render_prompt("request", kind=_DATA["classes"][request_class], most_words=most_words)


def persona(seed: int, subject: str) -> str:
    """Render the persona and the style of a request; deterministic for seed and subject."""
    rng, data = random.Random(f"{seed}\n{subject}"), _DATA["personas"]
    name, city = rng.choice(data["people"])
    return _render(
        data["template"],
        writer=rng.choice(data["writers"]),
        style=rng.choice(data["styles"]),
        name=name,
        city=city,
        time=rng.choice(data["times"]),
        number=rng.randrange(20, 99_999),
        seed=seed,
    )


def _render(template: str, **values: object) -> str:
    return _environment().from_string(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, autoescape=False)
    environment.filters["json"] = json.dumps
    return environment
