"""Read an overlay file (``overlay.yaml``). All faults of a file are reported at once, each with its line and its remedy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field, PlainValidator, ValidationInfo, field_validator

from ontology.errors import OverlayFileError
from ontology.redaction import redact_document_text
from ontology.yaml_file import (
    Checked,
    Fault,
    Located,
    Rows,
    accepted,
    gone,
    read_model,
    text,
    value_fault,
)

# Largest boost, in standard deviations of the scores; chosen, not tuned: it may decide between tools that are close
MAX_BOOST = 1.0


def _public(value: Any) -> Located:
    """A text that will be shown and kept: a secret in it is a fault."""
    if redact_document_text(text(value)) != value:
        raise value_fault("{} looks like a secret", "leave it out: it is shown and kept")
    return text(value)


def _flag(value: Any) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise value_fault("{} must be true or false")
    return str(value).lower() == "true"


def _boost(value: Any) -> float:
    try:
        boost = float(text(value))
    except ValueError:
        boost = MAX_BOOST + 1
    if not -MAX_BOOST <= boost <= MAX_BOOST:
        raise value_fault(f"{{}} must be a number from {-MAX_BOOST:g} to {MAX_BOOST:g}", "write boost: 0.5")
    return boost


_Text: TypeAlias = Annotated[Located, PlainValidator(_public)]
_Flag: TypeAlias = Annotated[bool, PlainValidator(_flag)]
_TOOL_ALONE = BeforeValidator(lambda value: {"tool": value} if isinstance(value, Located) else value)
_NOTHING = Located()


class _Texts(Rows):
    description: _Text = _NOTHING
    append_description: _Text = _NOTHING


class ParameterRule(_Texts):
    """New texts of an input or output; empty ones change nothing, ``append_description`` stands after the description."""

    example: _Text = _NOTHING


class Requirement(Rows):
    """Another tool, by id or name, that must be called first, or can be where it is not ``required``; and, where given,
    the input that it fills, and its output that fills it."""

    tool: _Text
    parameter: _Text = _NOTHING
    output: _Text = _NOTHING
    required: _Flag = True


class ToolRule(_Texts):
    """What is said of the tools that a pattern matches: ids and names of tools, and ids without the namespace. None: nothing is said.

    :param boost: standard deviations of the scores that are added to a candidate's score, in [-1, 1].
    :param parameters: input → its new texts; likewise ``returns``.
    """

    hidden: _Flag | None = None
    deprecated: _Flag | None = None
    boost: Annotated[float | None, PlainValidator(_boost)] = None
    title: _Text = _NOTHING
    parameters: dict[_Text, ParameterRule] = Field(default_factory=dict)
    returns: dict[_Text, ParameterRule] = Field(default_factory=dict)
    depends_on: tuple[Annotated[Requirement, _TOOL_ALONE], ...] = ()


class NamespaceRules(Rows):
    """What is said of the namespaces that a pattern matches.

    :param context_parameters: inputs that name the surroundings of a call; the others those that do not.
    :param tools: pattern, as :mod:`fnmatch` reads it → rule.
    """

    context_parameters: tuple[_Text, ...] = ()
    not_context_parameters: tuple[_Text, ...] = ()
    tools: dict[_Text, ToolRule] = Field(default_factory=dict)
    synonyms: Annotated[None, gone("write `abbreviations: {NAME: OTHER}` into an ontology file")] = None

    @field_validator("not_context_parameters")
    @classmethod
    def _in_one_list(cls, names: tuple[Located, ...], info: ValidationInfo) -> tuple[Located, ...]:
        for name in names:
            if name in info.data.get("context_parameters", ()):
                raise value_fault(f"{str(name)!r} is also in context_parameters", "keep it in one")
        return names


class Overlay(Rows):
    """The content of one overlay file: rules by a pattern of namespaces.

    :param name: of the file, without its folder.
    :param sha256: of its bytes, hexadecimal.
    """

    namespaces: dict[_Text, NamespaceRules] = Field(default_factory=dict)
    systems: Annotated[None, gone("write `aliases` of their sources into a sources file")] = None
    name: str = ""
    sha256: str = ""


def load_overlays(paths: Sequence[Path]) -> tuple[Overlay, ...]:
    """Read overlay files, in this order.

    :raises OverlayFileError: when a file has faults; the problem lists each with its line.
    """
    return tuple(accepted(*check_overlay(path), OverlayFileError, path) for path in paths)


def check_overlay(path: Path) -> Checked[Overlay]:
    """Read an overlay file, and report all its faults."""
    overlay, faults = read_model(path, Overlay)
    if overlay is None:  # none shows a secret that the file has
        shown = {Fault(one.line, redact_document_text(one.problem), one.remedy) for one in faults}
        return Checked(None, sorted(shown))
    named = {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    return Checked(overlay.model_copy(update=named), [])
