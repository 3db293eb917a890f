"""Read an overlay file (``overlay.yaml``). All faults of a file are reported at once, each with its line and its remedy."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ingest.sources.yaml_nodes import YamlNodes, compose_file
from ontology.errors import OverlayFileError
from ontology.names import canonical_name, words
from ontology.ontology import Fault
from ontology.redaction import redact_document_text

__all__ = [
    "NamePattern",
    "NamespaceRules",
    "Overlay",
    "Requirement",
    "SystemAliases",
    "TextRule",
    "ToolRule",
    "check_overlay",
    "is_overlay_file",
    "load_overlays",
]


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


MAX_BOOST = 1.0
"""Largest boost, in standard deviations of the scores; chosen, not tuned: a boost may decide between tools that are close."""
_MAX_ALIAS_WORDS = 3  # requests are matched with names of up to three words
_TOP_KEYS = frozenset(("systems", "namespaces"))
_NAMESPACE_KEYS = frozenset(("synonyms", "context_parameters", "not_context_parameters", "tools"))
_TEXT_KEYS = frozenset(("description", "append_description"))
_PARAMETER_KEYS = _TEXT_KEYS | {"example"}
_TOOL_KEYS = _TEXT_KEYS | {
    *("hidden", "deprecated", "boost", "title", "requests", "parameters", "returns", "depends_on", "preconditions")
}
_DEPENDENCY_KEYS = frozenset(("tool", "parameter", "output", "required"))
_PRECONDITION_KEYS = frozenset(("tool", "state"))
_LEAVE_OUT = "leave it out: it is shown and kept"
_SNIFFED_BYTES = 2**20


class CheckedOverlay(NamedTuple):
    """An overlay without faults, or None and the faults, sorted by line."""

    overlay: Overlay | None
    faults: list[Fault]


def is_overlay_file(path: Path) -> bool:
    """Whether a file is YAML with the top-level key ``namespaces`` or ``systems``; False for what is no regular file."""
    if path.suffix.lower() not in {".yaml", ".yml"} or not path.is_file():
        return False
    try:
        with path.open("rb") as handle:
            text = handle.read(_SNIFFED_BYTES)
    except OSError:
        return False
    return re.search(rb"^(?:\xef\xbb\xbf)?[\"']?(?:namespaces|systems)[\"']?\s*:", text, re.MULTILINE) is not None


def load_overlays(paths: Sequence[Path]) -> tuple[Overlay, ...]:
    """Read overlay files, in this order.

    :raises OverlayFileError: when a file has faults; the problem lists each with its line.
    """
    overlays = []
    for path in paths:
        overlay, faults = check_overlay(path)
        if overlay is None:
            listed = "; ".join(map(str, faults))
            raise OverlayFileError(f"{len(faults)} fault(s): {listed}", subject=str(path), remedy="Correct these lines")
        overlays.append(overlay)
    return tuple(overlays)


def check_overlay(path: Path) -> CheckedOverlay:
    """Read an overlay file, and report all its faults."""
    root = compose_file(path)
    if isinstance(root, Fault):
        return CheckedOverlay(None, [root])
    reader = _Reader(path.name)
    overlay = reader.overlay(root, hashlib.sha256(path.read_bytes()).hexdigest())
    return CheckedOverlay(None if reader.faults else overlay, sorted(reader.faults))


class _Reader(YamlNodes):
    """Reader of the rules of one file."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def overlay(self, root: yaml.Node, sha256: str) -> Overlay:
        """Return the overlay; with faults too."""
        top = self.mapping(root, "the file", _TOP_KEYS)
        return Overlay(
            name=self._file,
            sha256=sha256,
            systems=tuple(self._systems(top.get("systems"))),
            namespaces=tuple(
                self._namespace(name, node) for name, node in self._named(top.get("namespaces"), "namespaces")
            ),
        )

    def _systems(self, node: Any) -> Iterator[SystemAliases]:
        for name, value in self._named(node, "systems"):
            aliases = self._prose_list(value, f"the aliases of {name.text!r}")
            for alias in aliases:
                if not 1 <= len(words(alias)) <= _MAX_ALIAS_WORDS:
                    self.fault(
                        value, f"the alias {alias!r} does not have 1 to 3 words", "requests match names of up to 3"
                    )
            yield SystemAliases(name.text, aliases, name.origin)

    def _namespace(self, pattern: NamePattern, node: yaml.Node) -> NamespaceRules:
        values = self.mapping(node, f"the namespace {pattern.text!r}", _NAMESPACE_KEYS)
        context = self._patterns(values.get("context_parameters"), "context_parameters")
        excluded = self._patterns(values.get("not_context_parameters"), "not_context_parameters")
        for both in sorted({one.text for one in context} & {one.text for one in excluded}):
            self.fault(values["not_context_parameters"], f"{both!r} is also in context_parameters", "keep it in one")
        return NamespaceRules(
            pattern=pattern,
            synonyms=tuple(self._synonyms(values.get("synonyms"))),
            context_parameters=context,
            not_context_parameters=excluded,
            tools=tuple(self._tool(name, value) for name, value in self._named(values.get("tools"), "tools")),
        )

    def _synonyms(self, node: Any) -> Iterator[tuple[str, str, str]]:
        names = list(self._named(node, "synonyms"))
        replaced = {canonical_name(name.text) for name, _ in names}
        for name, value in names:
            target = self._prose(value, f"the synonym {name.text!r}")
            if not canonical_name(name.text) or (target and not canonical_name(target)):
                self.fault(value, "a synonym has a name without letters", "write NAME: NAME")
            elif canonical_name(target) == canonical_name(name.text):
                self.fault(value, f"{name.text!r} and {target!r} are one name already", "leave it out")
            elif canonical_name(target) in replaced:
                self.fault(value, f"{target!r} is itself replaced by another name", "write the last name of the chain")
            yield name.text, target, name.origin

    def _tool(self, pattern: NamePattern, node: yaml.Node) -> ToolRule:
        what = f"the tool {pattern.text!r}"
        values = self.mapping(node, what, _TOOL_KEYS)
        if "requests" in values:  # of earlier versions
            remedy = "write the words that people use into append_description, which is ranked by"
            self.fault(values["requests"], f"{what} has requests, which were shown and not ranked by", remedy)
        return ToolRule(
            pattern=pattern,
            hidden=self._flag(values.get("hidden"), "hidden"),
            deprecated=self._flag(values.get("deprecated"), "deprecated"),
            boost=self._boost(values.get("boost")),
            title=self._prose(values.get("title"), "title"),
            text=self._text_rule(values, pattern.origin),
            parameters=self._parameters(values.get("parameters"), "parameters"),
            returns=self._parameters(values.get("returns"), "returns"),
            depends_on=tuple(self._requirements(values.get("depends_on"), "depends_on", _DEPENDENCY_KEYS)),
            preconditions=tuple(self._requirements(values.get("preconditions"), "preconditions", _PRECONDITION_KEYS)),
        )

    def _text_rule(self, values: dict[str, yaml.Node], origin: str) -> TextRule:
        return TextRule(
            description=self._prose(values.get("description"), "description"),
            appended=self._prose(values.get("append_description"), "append_description"),
            example=self._prose(values.get("example"), "example"),
            origin=origin,
        )

    def _parameters(self, node: Any, key: str) -> dict[str, TextRule]:
        return {
            name.text: self._text_rule(self.mapping(value, f"{key}.{name.text}", _PARAMETER_KEYS), name.origin)
            for name, value in self._named(node, key)
        }

    def _requirements(self, node: Any, key: str, known: frozenset[str]) -> Iterator[Requirement]:
        for item in self.items(node, key):
            if isinstance(item, yaml.ScalarNode) and "state" not in known:
                yield Requirement(tool=self._prose(item, key), origin=self._origin(item))
                continue
            values = self.mapping(item, f"an item of {key}", known)
            for needed in ("tool", *(("state",) if "state" in known else ())):
                if needed not in values and isinstance(item, yaml.MappingNode):
                    self.fault(item, f"an item of {key} has no {needed}", f"add `{needed}: …`")
            yield Requirement(
                **{name: self._prose(values.get(name), name) for name in ("tool", "parameter", "output", "state")},
                required=self._flag(values.get("required"), "required") is not False,
                origin=self._origin(item),
            )

    def _flag(self, node: Any, key: str) -> bool | None:
        text = self.text(node, key).lower()
        if text and text not in ("true", "false"):
            self.fault(node, f"{key} must be true or false")
        return {"true": True, "false": False}.get(text)

    def _boost(self, node: Any) -> float | None:
        text = self.text(node, "boost")
        if not text:
            return None
        try:
            boost = float(text)
        except ValueError:
            boost = math.nan
        if not -MAX_BOOST <= boost <= MAX_BOOST:
            self.fault(node, f"boost must be a number from {-MAX_BOOST:g} to {MAX_BOOST:g}", "write boost: 0.5")
            return None
        return boost

    def _patterns(self, node: Any, key: str) -> tuple[NamePattern, ...]:
        return tuple(
            NamePattern(text, self._origin(item)) for item in self.items(node, key) if (text := self._prose(item, key))
        )

    def _named(self, node: Any, what: str) -> Iterator[tuple[NamePattern, yaml.Node]]:
        """Yield the entries of a mapping, each with the line of its key."""
        if node is None:
            return
        values = self.mapping(node, what)
        lines = {str(key.value): key for key, _ in node.value} if isinstance(node, yaml.MappingNode) else {}
        for name, value in values.items():
            if not name.strip():
                self.fault(lines[name], f"an entry of {what} has an empty name", "write a name or a pattern")
            if redact_document_text(name) != name:
                self.fault(lines[name], f"an entry of {what} looks like a secret", _LEAVE_OUT)
                continue
            yield NamePattern(name.strip(), self._origin(lines[name])), value

    def _prose_list(self, node: Any, what: str) -> tuple[str, ...]:
        return tuple(text for item in self.items(node, what) if (text := self._prose(item, f"an item of {what}")))

    def _prose(self, node: Any, what: str) -> str:
        """Return a text that will be shown and kept: a secret in it is a fault."""
        text = self.text(node, what)
        if redact_document_text(text) != text:
            self.fault(node, f"{what} looks like a secret", _LEAVE_OUT)
            return ""
        return text

    def _origin(self, node: yaml.Node) -> str:
        return f"{self._file}:{node.start_mark.line + 1}"
