"""Apply overlay files to a catalogue: changed tools, and what the graph and the ranking need of the rules."""

from __future__ import annotations

import copy
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from ingest.linking.derived_edge import DeclaredLinks, DerivedEdge
from ingest.linking.identifiers import type_family
from ingest.overlay.declarations import NOTHING, Declarations, near
from ingest.overlay.overlay_file import NamePattern, NamespaceRules, Overlay, Requirement, TextRule, ToolRule
from ingest.sources.sanitize import sanitize_tool
from ontology.json_values import as_dict
from ontology.names import canonical_name
from ontology.ontology import Ontology
from ontology.tool import CONTEXT_PARAMETERS, Dependency, Parameter, Tool
from ontology.tool_graph import Synonym

__all__ = ["AppliedOverlays", "apply_overlays"]

_DEPRECATED = "deprecated"


def with_texts(tool: Tool, rule: ToolRule) -> Tool:
    """Return the tool with the texts and the mark ``deprecated`` of a rule."""
    metadata = {**tool.metadata, **({"title": rule.title} if rule.title else {})}
    if rule.deprecated:
        metadata[_DEPRECATED] = True
    elif rule.deprecated is False:
        metadata.pop(_DEPRECATED, None)
    return sanitize_tool(
        replace(
            tool,
            description=_changed(tool.description, rule.text),
            parameters=_parameters(tool.parameters, rule.parameters),
            returns=_parameters(tool.returns, rule.returns),
            input_schema=_schema(tool.input_schema, tool.parameters, rule.parameters),
            output_schema=_schema(tool.output_schema, tool.returns, rule.returns),
            metadata=metadata,
        )
    )


def _changed(text: str, rule: TextRule) -> str:
    parts = (rule.description or text, rule.appended)
    return "\n\n".join(part for part in parts if part)


def _parameters(parameters: Iterable[Parameter], rules: Mapping[str, TextRule]) -> tuple[Parameter, ...]:
    return tuple(_parameter(one, rules[one.name]) if one.name in rules else one for one in parameters)


def _parameter(parameter: Parameter, rule: TextRule) -> Parameter:
    description = _changed(parameter.description, rule)
    return replace(parameter, description=description, example=rule.example or parameter.example)


def _schema(
    schema: Mapping[str, Any] | None, parameters: Iterable[Parameter], rules: Mapping[str, TextRule]
) -> Mapping[str, Any] | None:
    """Return the schema with the new texts; a property behind a ``$ref``, which other tools' fields may share, keeps its own."""
    if schema is None or not rules:
        return schema
    changed = copy.deepcopy(as_dict(schema))
    for parameter in parameters:
        node = _property(changed, parameter.name) if parameter.name in rules else None
        if node is not None:
            rule = rules[parameter.name]
            if rule.description or rule.appended:
                node["description"] = _changed(str(node.get("description", "")), rule)
            if rule.example:
                node["examples"] = [_value(rule.example, parameter.type)]
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


def _value(text: str, type_: str) -> Any:
    """Return an example as a JSON value of its type."""
    if type_family(type_) == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


_REASON = "overlay"
"""Reason of a declared dependency; its line is in the graph only, so that lines that move change no tool."""


@dataclass(frozen=True, kw_only=True)
class AppliedOverlays:
    """A catalogue after its overlays.

    :param tools: in their order, without the hidden ones.
    :param hidden: ids of the tools that are left out.
    :param changes: kind of change → number of tools that it changes.
    :param warnings: ``FILE:LINE: …`` for each rule that matches nothing; a catalogue changes, so this is no error.
    """

    tools: tuple[Tool, ...]
    declarations: Declarations = NOTHING
    hidden: tuple[str, ...] = ()
    changes: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def apply_overlays(overlays: Sequence[Overlay], tools: Sequence[Tool], ontology: Ontology) -> AppliedOverlays:
    """Apply overlays to the tools of a catalogue, in the order of the files and of their rules; a later rule has priority."""
    if not overlays:
        return AppliedOverlays(tools=tuple(tools))
    applied = _Applied(tools, ontology)
    for overlay in overlays:
        for rules in overlay.namespaces:
            applied.namespace(rules)
    return applied.result(overlays)


class _Applied:
    """The catalogue while rules are applied to it."""

    def __init__(self, tools: Sequence[Tool], ontology: Ontology) -> None:
        self._ontology = ontology
        self._tools = {tool.id: tool for tool in tools}
        self._namespaces: dict[str, list[str]] = defaultdict(list)
        for tool in tools:
            self._namespaces[tool.namespace].append(tool.id)
        self._hidden: set[str] = set()
        self._boosts: dict[str, float] = {}
        self._synonyms: dict[str, dict[str, Synonym]] = defaultdict(dict)
        self._context: dict[str, dict[str, bool]] = defaultdict(dict)
        self._origins: dict[str, dict[str, str]] = defaultdict(dict)
        self._requirements: list[tuple[str, Requirement]] = []
        self._warnings: list[str] = []

    def namespace(self, rules: NamespaceRules) -> None:
        """Apply the rules of a namespace, or of all that its pattern matches."""
        names = [name for name in self._namespaces if _matches(rules.pattern, (name,))]
        if not names:
            self._unused(rules.pattern, "namespace", self._namespaces)
            return
        ids = [id_ for name in names for id_ in self._namespaces[name]]
        abbreviations = self._ontology.abbreviations
        for old, new, origin in rules.synonyms:
            synonym, replaced = Synonym(canonical_name(new, abbreviations), origin), canonical_name(old, abbreviations)
            for name in names:
                _add_synonym(self._synonyms[name], replaced, synonym)
        for patterns, is_context in ((rules.context_parameters, True), (rules.not_context_parameters, False)):
            for pattern in patterns:
                self._context_parameter(pattern, ids, is_context=is_context)
        for rule in rules.tools:
            matched = [id_ for id_ in ids if _matches(rule.pattern, _names(self._tools[id_]))]
            if not matched:
                self._unused(rule.pattern, "tool", (name for id_ in ids for name in _names(self._tools[id_])))
            self._parameters_of(rule, matched)
            for id_ in matched:
                self._tool(id_, rule)

    def _context_parameter(self, pattern: NamePattern, ids: Sequence[str], *, is_context: bool) -> None:
        field_name = CONTEXT_PARAMETERS if is_context else f"not_{CONTEXT_PARAMETERS}"
        found = False
        for id_ in ids:
            for parameter in self._tools[id_].parameters:
                if _matches(pattern, (parameter.name,)):
                    found = True
                    self._context[id_][parameter.name] = is_context
                    self._origins[id_][f"{field_name}.{parameter.name}"] = pattern.origin
        if not found:
            self._unused(pattern, "input", (one.name for id_ in ids for one in self._tools[id_].parameters))

    def _parameters_of(self, rule: ToolRule, ids: Sequence[str]) -> None:
        """Warn of inputs and outputs that no matched tool has."""
        for key, texts in (("parameters", rule.parameters), ("returns", rule.returns)):
            listed: Iterable[Parameter] = (one for id_ in ids for one in getattr(self._tools[id_], key))
            known = {one.name for one in listed}
            for name, text in texts.items():
                if ids and name not in known:
                    kind = "input" if key == "parameters" else "output"
                    self._unused(NamePattern(name, text.origin), kind, known)

    def _tool(self, id_: str, rule: ToolRule) -> None:
        tool, origin, origins = self._tools[id_], rule.pattern.origin, self._origins[id_]
        if rule.hidden is not None:
            (self._hidden.add if rule.hidden else self._hidden.discard)(id_)
        if rule.boost is not None:
            self._boosts[id_] = rule.boost
            origins["boost"] = origin
        changed = list(_changed_fields(tool, rule))
        origins.update(dict.fromkeys(changed, origin))
        if changed:
            self._tools[id_] = with_texts(tool, rule)
        self._requirements += ((id_, one) for one in (*rule.depends_on, *rule.preconditions))

    def result(self, overlays: Sequence[Overlay]) -> AppliedOverlays:
        """Return the catalogue after all rules."""
        dependencies, preconditions = self._required()
        kept = [tool for id_, tool in self._tools.items() if id_ not in self._hidden]
        left_out = {name for id_ in self._hidden for name in (id_, self._tools[id_].name)}
        left_out -= {name for tool in kept for name in (tool.id, tool.name)}
        tools = tuple(_without_dependencies(tool, left_out) for tool in kept)
        ids = {tool.id for tool in tools}
        synonyms = {tool.id: self._synonyms[tool.namespace] for tool in tools if self._synonyms.get(tool.namespace)}
        links = DeclaredLinks(
            synonyms=synonyms,
            context_parameters={id_: _chosen(names, True) for id_, names in self._context.items() if id_ in ids},
            not_context_parameters={id_: _chosen(names, False) for id_, names in self._context.items() if id_ in ids},
            preconditions=tuple(preconditions),
        )
        origins = {id_: dict(sorted(fields.items())) for id_, fields in sorted(self._origins.items()) if id_ in ids}
        declarations = Declarations(
            links=links,
            systems=tuple(system for overlay in overlays for system in overlay.systems),
            synonyms=tuple(sorted({pair for found in self._synonyms.values() for pair in found.items()})),
            dependencies=dependencies,
            origins={id_: fields for id_, fields in origins.items() if fields},
            boosts={id_: boost for id_, boost in sorted(self._boosts.items()) if boost and id_ in ids},
        )
        return AppliedOverlays(
            tools=tools,
            declarations=declarations,
            hidden=tuple(sorted(self._hidden)),
            changes=_changes(declarations),
            warnings=tuple(self._warnings),
        )

    def _required(self) -> tuple[dict[tuple[str, str], str], list[DerivedEdge]]:
        """Add the dependencies to the tools; return their origins, and the edges of the preconditions."""
        origins: dict[tuple[str, str], str] = {}
        edges: list[DerivedEdge] = []
        for id_, requirement in self._requirements:
            needed = self._needed(id_, requirement)
            if not needed or id_ in self._hidden:
                continue
            if requirement.state:
                state = canonical_name(requirement.state, self._ontology.abbreviations)
                edges.append(DerivedEdge.precondition(id_, needed, state, 1.0, requirement.origin))
                continue
            tool = self._tools[id_]
            origins[id_, needed] = requirement.origin
            dependency = Dependency(
                tool=needed,
                parameter=requirement.parameter,
                output=requirement.output,
                reason=_REASON,
                required=requirement.required,
            )
            # What the overlay says of a dependency replaces what the document says of it.
            others = tuple(one for one in tool.depends_on if one.tool != needed or one.reason == _REASON)
            self._tools[id_] = replace(tool, depends_on=tuple(dict.fromkeys((*others, dependency))))
            for kind, name, listed in (
                ("input", requirement.parameter, tool.parameters),
                ("output", requirement.output, self._tools[needed].returns),
            ):
                known = {one.name for one in listed}
                if name and name not in known:
                    self._unused(NamePattern(name, requirement.origin), kind, known)
        return origins, edges

    def _needed(self, id_: str, requirement: Requirement) -> str:
        """Return the id of a needed tool; empty where it is the tool itself, and with a warning where no tool is meant."""
        name = requirement.tool
        near_by = self._namespaces[self._tools[id_].namespace]
        found = [name] if name in self._tools else [one for one in near_by if name in _names(self._tools[one])]
        if len(found) == 1 and found[0] not in self._hidden:
            return found[0] if found[0] != id_ else ""
        problem = {0: "there is no such tool", 1: "it is hidden"}.get(len(found), "several tools have this name")
        known = "" if found else near(name, (one for other in near_by for one in _names(self._tools[other])))
        self._warn(requirement.origin, f"no tool can depend on {name!r}: {problem}{known}")
        return ""

    def _unused(self, pattern: NamePattern, kind: str, known: Iterable[str]) -> None:
        self._warn(pattern.origin, f"{pattern.text!r} matches no {kind}{near(pattern.text, known)}")

    def _warn(self, origin: str, text: str) -> None:
        warning = f"{origin}: {text}"
        if warning not in self._warnings:
            self._warnings.append(warning)


def _add_synonym(known: dict[str, Synonym], replaced: str, synonym: Synonym) -> None:
    """Add a synonym to those of earlier files, so that no replacement is itself replaced; of two opposite ones the later counts."""
    further = known.get(synonym.name)
    if further is not None and further.name != replaced:
        synonym = synonym._replace(name=further.name)
    known.pop(synonym.name, None)
    for other, earlier in known.items():
        if earlier.name == replaced:
            known[other] = earlier._replace(name=synonym.name)
    known[replaced] = synonym


def _matches(pattern: NamePattern, names: Iterable[str]) -> bool:
    return any(name == pattern.text or fnmatchcase(name, pattern.text) for name in names)


def _names(tool: Tool) -> tuple[str, ...]:
    """Return what a tool is called in an overlay: its id, its id without the namespace, and its name."""
    return tuple(dict.fromkeys((tool.id, tool.id.removeprefix(f"{tool.namespace}/"), tool.name)))


def _changed_fields(tool: Tool, rule: ToolRule) -> Iterator[str]:
    if rule.text.description or rule.text.appended:
        yield "description"
    if rule.title:
        yield "title"
    if rule.deprecated is not None:
        yield "deprecated"
    for key, listed, texts in (
        ("parameters", tool.parameters, rule.parameters),
        ("returns", tool.returns, rule.returns),
    ):
        yield from (f"{key}.{one.name}" for one in listed if _says_something(texts.get(one.name)))


def _says_something(rule: TextRule | None) -> bool:
    return rule is not None and bool(rule.description or rule.appended or rule.example)


def _without_dependencies(tool: Tool, left_out: set[str]) -> Tool:
    kept = tuple(one for one in tool.depends_on if one.tool not in left_out)
    return tool if len(kept) == len(tool.depends_on) else replace(tool, depends_on=kept)


def _chosen(names: dict[str, bool], wanted: bool) -> frozenset[str]:
    return frozenset(name for name, is_context in names.items() if is_context is wanted)


def _changes(declarations: Declarations) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for fields in declarations.origins.values():
        counts.update({name.partition(".")[0] for name in fields})
    counts["depends_on"] = len({tool for tool, _ in declarations.dependencies})
    counts["preconditions"] = len({edge.source for edge in declarations.links.preconditions})
    counts["synonyms"] = len(declarations.links.synonyms)
    return {kind: count for kind, count in sorted(counts.items()) if count}
