"""The rules of an overlay file, as they are read; each has its origin, ``FILE:LINE``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["NamePattern", "NamespaceRules", "Overlay", "Requirement", "SystemAliases", "TextRule", "ToolRule"]


class NamePattern(NamedTuple):
    """A name or a pattern of names, as :mod:`fnmatch` reads it."""

    text: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRule:
    """New texts of a tool, an input or an output; empty ones change nothing.

    :param description: replaces the description.
    :param appended: stands after the description.
    :param example: replaces the example of an input or output.
    """

    description: str = ""
    appended: str = ""
    example: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """Another tool that must be called first.

    :param tool: its id, or its name in the same namespace.
    :param parameter: the input that it fills, or empty.
    :param output: its output that fills it, or empty.
    :param state: of a precondition: the state that it brings about.
    :param required: False where the tool can only be called after it.
    """

    tool: str
    parameter: str = ""
    output: str = ""
    state: str = ""
    required: bool = True
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRule:
    """What is said of the tools that a pattern matches. None: nothing is said.

    :param pattern: matches ids and names of tools, and ids without the namespace.
    :param title: replaces the title.
    :param boost: standard deviations of the scores that are added to a candidate's score, in [-1, 1].
    :param parameters: input → its new texts; likewise ``returns``.
    """

    pattern: NamePattern
    hidden: bool | None = None
    deprecated: bool | None = None
    boost: float | None = None
    title: str = ""
    text: TextRule = TextRule()
    parameters: Mapping[str, TextRule] = field(default_factory=dict)
    returns: Mapping[str, TextRule] = field(default_factory=dict)
    depends_on: tuple[Requirement, ...] = ()
    preconditions: tuple[Requirement, ...] = ()


class SystemAliases(NamedTuple):
    """A system, and other names of it."""

    name: str
    aliases: tuple[str, ...]
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceRules:
    """What is said of the namespaces that a pattern matches.

    :param synonyms: (name, the name that replaces it, origin).
    :param context_parameters: inputs that name the surroundings of a call.
    :param not_context_parameters: inputs that do not, whatever their frequency says.
    """

    pattern: NamePattern
    synonyms: tuple[tuple[str, str, str], ...] = ()
    context_parameters: tuple[NamePattern, ...] = ()
    not_context_parameters: tuple[NamePattern, ...] = ()
    tools: tuple[ToolRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """The content of one overlay file.

    :param name: of the file, without its folder.
    :param sha256: of its bytes, hexadecimal.
    """

    name: str
    sha256: str
    systems: tuple[SystemAliases, ...] = ()
    namespaces: tuple[NamespaceRules, ...] = ()
