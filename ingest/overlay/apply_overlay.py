"""Apply overlay files to a catalogue: changed tools, and what linking, the graph and the ranking need of the rules."""

from __future__ import annotations

import copy
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from ingest.linking.identifiers import type_family
from ingest.linking.values import NO_LINKS, DeclaredLinks
from ingest.overlay.overlay_file import NamespaceRules, Overlay, ParameterRule, Requirement, ToolRule
from ingest.sources.sanitize import sanitize_tool
from ontology.json_values import as_dict
from ontology.tool import CONTEXT_PARAMETERS, Dependency, Parameter, Tool, without_dependencies
from ontology.yaml_file import Located

# Reason of a declared dependency; its line is in the graph only, so that lines that move change no tool
_REASON = "overlay"
_KINDS = {"parameters": "input", "returns": "output"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """The declarations of all overlay files of a build, resolved to tools."""

    links: DeclaredLinks = NO_LINKS  # what linking needs
    # (tool, needed tool) → origin of the dependencies that an overlay declares
    dependencies: Mapping[tuple[str, str], str] = field(default_factory=dict)
    # tool id → field → origin of what an overlay says of the tool: ``{"description": "overlay.yaml:12"}``
    origins: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # tool id → standard deviations of the scores that are added to its score; no zeros
    boosts: Mapping[str, float] = field(default_factory=dict)


NOTHING = Declarations()  # no overlay


@dataclass(frozen=True, kw_only=True)
class AppliedOverlays:
    """A catalogue after its overlays."""

    tools: tuple[Tool, ...]  # in their order, without the hidden ones
    declarations: Declarations = NOTHING
    hidden: tuple[str, ...] = ()  # ids of the tools that are left out
    changes: dict[str, int] = field(default_factory=dict)  # kind of change → number of tools that it changes
    # ``FILE:LINE: …`` for each rule that matches nothing; a catalogue changes, so this is no error
    warnings: tuple[str, ...] = ()


def apply_overlays(overlays: Sequence[Overlay], tools: Sequence[Tool]) -> AppliedOverlays:
    """Apply overlays to the tools of a catalogue, in the order of the files and of their rules; a later rule has priority."""
    if not overlays:
        return AppliedOverlays(tools=tuple(tools))
    applied = _Applied(tools)
    for overlay in overlays:
        for pattern, rules in overlay.namespaces.items():
            applied.namespace(pattern, rules)
    return applied.result()


class _Applied:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.id: tool for tool in tools}
        self._namespaces: dict[str, list[str]] = defaultdict(list)
        for tool in tools:
            self._namespaces[tool.namespace].append(tool.id)
        self._hidden: set[str] = set()
        self._boosts: dict[str, float] = {}
        self._context: dict[str, dict[str, bool]] = defaultdict(dict)
        self._origins: dict[str, dict[str, str]] = defaultdict(dict)
        self._requirements: list[tuple[str, Requirement]] = []
        self._warnings: dict[str, None] = {}

    def namespace(self, pattern: Located, rules: NamespaceRules) -> None:
        names = [name for name in self._namespaces if _matches(pattern, (name,))]
        if not names:
            self._unused(pattern, "namespace", self._namespaces)
            return
        ids = [id_ for name in names for id_ in self._namespaces[name]]
        known_inputs = [(id_, one.name) for id_ in ids for one in self._tools[id_].parameters]
        for prefix, patterns in (("", rules.context_parameters), ("not_", rules.not_context_parameters)):
            for wanted in patterns:
                found = [(id_, name) for id_, name in known_inputs if _matches(wanted, (name,))]
                for id_, name in found:
                    self._context[id_][name] = not prefix
                    self._origins[id_][f"{prefix}{CONTEXT_PARAMETERS}.{name}"] = wanted.origin
                if not found:
                    self._unused(wanted, "input", (name for _, name in known_inputs))
        for tool, rule in rules.tools.items():
            matched = [id_ for id_ in ids if _matches(tool, _names(self._tools[id_]))]
            if not matched:
                self._unused(tool, "tool", (name for id_ in ids for name in _names(self._tools[id_])))
            for key, kind in _KINDS.items():
                known = {one.name for id_ in matched for one in getattr(self._tools[id_], key)}
                for name in getattr(rule, key) if matched else ():
                    self._unused_unless(name, kind, known)
            for id_ in matched:
                self._tool(id_, tool.origin, rule)

    def _tool(self, id_: str, origin: str, rule: ToolRule) -> None:
        tool, origins = self._tools[id_], self._origins[id_]
        if rule.hidden is not None:
            (self._hidden.add if rule.hidden else self._hidden.discard)(id_)
        if rule.boost is not None:
            self._boosts[id_] = rule.boost
            origins["boost"] = origin
        said = {
            "description": rule.description or rule.append_description,
            "title": rule.title,
            "deprecated": rule.deprecated is not None,
        }
        changed = [name for name, given in said.items() if given]
        for key in _KINDS:
            texts: Mapping[str, ParameterRule] = getattr(rule, key)
            names = (one.name for one in getattr(tool, key))
            changed += (f"{key}.{name}" for name in names if texts.get(name, ParameterRule()) != ParameterRule())
        origins.update(dict.fromkeys(changed, origin))
        if changed:
            self._tools[id_] = _with_texts(tool, rule)
        self._requirements += ((id_, one) for one in rule.depends_on)

    def result(self) -> AppliedOverlays:
        dependencies = self._required()
        kept = {id_: tool for id_, tool in self._tools.items() if id_ not in self._hidden}
        left_out = {name for id_ in self._hidden for name in (id_, self._tools[id_].name)}
        left_out -= {name for tool in kept.values() for name in (tool.id, tool.name)}

        def inputs(is_context: bool) -> dict[str, frozenset[str]]:
            found = ((id_, names) for id_, names in self._context.items() if id_ in kept)
            return {id_: frozenset(name for name in names if names[name] is is_context) for id_, names in found}

        origins = {id_: dict(sorted(fields.items())) for id_, fields in sorted(self._origins.items()) if id_ in kept}
        declarations = Declarations(
            links=DeclaredLinks(context_parameters=inputs(True), not_context_parameters=inputs(False)),
            dependencies=dependencies,
            origins={id_: fields for id_, fields in origins.items() if fields},
            boosts={id_: boost for id_, boost in sorted(self._boosts.items()) if boost and id_ in kept},
        )
        counts = Counter(kind for fields in origins.values() for kind in {name.partition(".")[0] for name in fields})
        counts["depends_on"] = len({tool for tool, _ in dependencies})
        return AppliedOverlays(
            tools=without_dependencies(kept.values(), left_out),
            declarations=declarations,
            hidden=tuple(sorted(self._hidden)),
            changes={kind: count for kind, count in sorted(counts.items()) if count},
            warnings=tuple(self._warnings),
        )

    def _required(self) -> dict[tuple[str, str], str]:
        """Add the dependencies to the tools; return their origins."""
        origins: dict[tuple[str, str], str] = {}
        for id_, needs in self._requirements:
            needed = self._needed(id_, needs.tool)
            if not needed or id_ in self._hidden:
                continue
            tool = self._tools[id_]
            origins[id_, needed] = needs.tool.origin
            declared = {"parameter": str(needs.parameter), "output": str(needs.output), "required": needs.required}
            dependency = Dependency(tool=needed, reason=_REASON, **declared)  # type: ignore[arg-type]
            # What the overlay says of a dependency replaces what the document says of it.
            others = (one for one in tool.depends_on if one.tool != needed or one.reason == _REASON)
            self._tools[id_] = replace(tool, depends_on=tuple(dict.fromkeys((*others, dependency))))
            self._unused_unless(needs.parameter, "input", {one.name for one in tool.parameters})
            self._unused_unless(needs.output, "output", {one.name for one in self._tools[needed].returns})
        return origins

    def _needed(self, id_: str, name: Located) -> str:
        """Return the id of a needed tool; empty where it is the tool itself, and with a warning where no tool is meant."""
        near_by = self._namespaces[self._tools[id_].namespace]
        found = [str(name)] if name in self._tools else [one for one in near_by if name in _names(self._tools[one])]
        if len(found) == 1 and found[0] not in self._hidden:
            return found[0] if found[0] != id_ else ""
        problem = {0: "there is no such tool", 1: "it is hidden"}.get(len(found), "several tools have this name")
        known = "" if found else _near(name, (one for other in near_by for one in _names(self._tools[other])))
        self._warnings[f"{name.origin}: no tool can depend on {str(name)!r}: {problem}{known}"] = None
        return ""

    def _unused_unless(self, name: Located, kind: str, known: Collection[str]) -> None:
        if name and name not in known:
            self._unused(name, kind, known)

    def _unused(self, pattern: Located, kind: str, known: Iterable[str]) -> None:
        self._warnings[f"{pattern.origin}: {str(pattern)!r} matches no {kind}{_near(pattern, known)}"] = None


def _matches(pattern: str, names: Iterable[str]) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for name in names)


def _names(tool: Tool) -> tuple[str, ...]:
    """Return what a tool is called in an overlay: its id, its id without the namespace, and its name."""
    return tuple(dict.fromkeys((tool.id, tool.id.removeprefix(f"{tool.namespace}/"), tool.name)))


def _near(name: str, known: Iterable[str]) -> str:
    """Return the known names that are like this one, as the end of a sentence; empty where none is."""
    like = get_close_matches(name, sorted(set(known)), n=3)
    return f"; known are {', '.join(map(repr, like))}" if like else ""


def _with_texts(tool: Tool, rule: ToolRule) -> Tool:
    """Return the tool with the texts and the mark ``deprecated`` of a rule."""
    metadata = {**tool.metadata, **({"title": str(rule.title)} if rule.title else {})}
    if rule.deprecated:
        metadata["deprecated"] = True
    elif rule.deprecated is False:
        metadata.pop("deprecated", None)
    return sanitize_tool(
        replace(
            tool,
            description=_changed(tool.description, rule),
            parameters=_parameters(tool.parameters, rule.parameters),
            returns=_parameters(tool.returns, rule.returns),
            input_schema=_schema(tool.input_schema, tool.parameters, rule.parameters),
            output_schema=_schema(tool.output_schema, tool.returns, rule.returns),
            metadata=metadata,
        )
    )


def _changed(text: str, rule: ToolRule | ParameterRule) -> str:
    return "\n\n".join(filter(None, (str(rule.description) or text, str(rule.append_description))))


def _parameters(parameters: Iterable[Parameter], rules: Mapping[Any, ParameterRule]) -> tuple[Parameter, ...]:
    return tuple(
        replace(one, description=_changed(one.description, rule), example=str(rule.example) or one.example)
        if (rule := rules.get(one.name)) is not None
        else one
        for one in parameters
    )


def _schema(
    schema: Mapping[str, Any] | None, parameters: Iterable[Parameter], rules: Mapping[Any, ParameterRule]
) -> Mapping[str, Any] | None:
    """Return the schema with the new texts; a property behind a ``$ref``, which other tools' fields may share, keeps its own."""
    if schema is None or not rules:
        return schema
    changed = copy.deepcopy(as_dict(schema))
    for parameter in parameters:
        rule = rules.get(parameter.name)
        if rule is not None and (node := _property(changed, parameter.name)) is not None:
            if rule.description or rule.append_description:
                node["description"] = _changed(str(node.get("description", "")), rule)
            if rule.example:
                node["examples"] = [str(rule.example)]
                if type_family(parameter.type) != "string":
                    with suppress(ValueError):
                        node["examples"] = [json.loads(rule.example)]
    return changed


def _property(schema: dict[str, Any], path: str) -> dict[str, Any] | None:
    """Return the schema of a field by its dotted path, or None where it is not written out."""
    node: dict[str, Any] = schema
    for step in path.split("."):
        properties = node.get("properties")
        inner = properties.get(step.removesuffix("[]")) if isinstance(properties, dict) else None
        if step.endswith("[]") and isinstance(inner, dict):
            inner = inner.get("items")
        if not isinstance(inner, dict) or "$ref" in inner:
            return None
        node = inner
    return node
