"""Examine tools: all findings of a list of tools, in their order."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from ingest.tool_cache import ToolCache
from ingest.trust.finding import QUARANTINE, REPORT, Finding, FindingKind, Severity, visible
from ingest.trust.hidden_characters import bidirectional_runs, hidden_text, invisible_runs
from ingest.trust.look_alikes import look_alikes
from ingest.trust.risky_values import hosts_in, is_documentation, risky_values, site_of
from ontology.files import code_digest
from ontology.json_values import JsonObject
from ontology.tool import Parameter, Tool

__all__ = ["findings_of"]

Role: TypeAlias = Literal["name", "label", "prose", "value"]
"""A name of a tool or parameter; a title, or another text of the metadata; a description; a default, example or allowed value."""

# Written by egotools, or places and hashes.
_OWN_METADATA = frozenset(("format", "source", "method", "path", "cut", "overlay", "source_id"))
_NAMES = frozenset(("namespace", "owner"))  # of all tools of a source: what changes there is no change of a tool
_VALUES = frozenset(("default", "example", "examples", "enum", "const", "x-example", "x-examples"))
_LABELS = frozenset(("title", "summary"))
_PROSE = frozenset(("description",))


class FieldText(NamedTuple):
    """A text of a tool and its place in the tool's JSON form."""

    field: str
    text: str
    role: Role


def tool_fields(tool: Tool) -> Iterator[FieldText]:
    """Yield the texts of a tool, each text once: descriptions in a schema that are also those of a parameter come as the latter."""
    seen: set[str] = set()
    for each in _all_fields(tool):
        if each.text and each.text not in seen:
            seen.add(each.text)
            yield each


def _all_fields(tool: Tool) -> Iterator[FieldText]:
    yield FieldText("id", tool.id, "name")
    yield FieldText("name", tool.name, "name")
    yield FieldText("description", tool.description, "prose")
    for title, parameters in (("parameters", tool.parameters), ("returns", tool.returns)):
        for number, parameter in enumerate(parameters):
            yield from _parameter_fields(f"{title}[{number}]", parameter)
    for key, value in tool.metadata.items():
        if key not in _OWN_METADATA:
            yield from _walk(f"metadata.{key}", value, "name" if key in _NAMES else "label")
    for number, dependency in enumerate(tool.depends_on):
        yield FieldText(f"depends_on[{number}].reason", dependency.reason, "label")
    for title, schema in (("input_schema", tool.input_schema), ("output_schema", tool.output_schema)):
        if isinstance(schema, JsonObject):
            for name, definition in schema.definitions:
                place = f"{title}.$defs.{name}"
                yield from (each._replace(field=f"{place}{each.field}") for each in _schema_fields(definition))
            yield from (each._replace(field=f"{title}{each.field}") for each in _schema_fields(schema.own_text))
        elif schema is not None:
            yield from _walk(title, schema, "label")


def _parameter_fields(place: str, parameter: Parameter) -> Iterator[FieldText]:
    yield FieldText(f"{place}.name", parameter.name, "name")
    yield FieldText(f"{place}.type", parameter.type, "name")
    yield FieldText(f"{place}.description", parameter.description, "prose")
    for key in ("default", "example"):
        yield FieldText(f"{place}.{key}", getattr(parameter, key), "value")
    for number, value in enumerate(parameter.enum):
        yield FieldText(f"{place}.enum[{number}]", value, "value")


@lru_cache(maxsize=1 << 14)
def _schema_fields(text: str) -> tuple[FieldText, ...]:
    """The texts of a JSON Schema, each once; definitions that many schemas have are read once."""
    return tuple({each.text: each for each in _walk("", json.loads(text), "label")}.values())


def _walk(place: str, value: Any, role: Role) -> Iterator[FieldText]:
    """Yield the strings of a JSON value, and its keys where these are names of properties."""
    if isinstance(value, str):
        yield FieldText(place, value, role)
    elif isinstance(value, (Mapping, JsonObject)):
        for key, inner in value.items():
            if len(key) > _LONG_KEY or not key.isascii():
                yield FieldText(f"{place}.{key}", key, "name")
            if key == "properties" and isinstance(inner, Mapping):
                for name, schema in inner.items():
                    yield FieldText(f"{place}.properties.{name}", name, "name")
                    yield from _walk(f"{place}.properties.{name}", schema, role)
            else:
                yield from _walk(f"{place}.{key}", inner, _role(key, role))
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            yield from _walk(f"{place}[{number}]", inner, role)


_LONG_KEY = 60  # chosen, not tuned: a key that long is a text


def _role(key: str, role: Role) -> Role:
    if key in _VALUES or role == "value":
        return "value"
    return "prose" if key in _PROSE else "label" if key in _LABELS else role


class Change(NamedTuple):
    """A changed text of a tool: ``text[start:end]`` of a field was not there before. It is severe where it names a new host."""

    field: str
    text: str
    start: int
    end: int
    severe: bool
    rule: str
    why: str


_END = re.compile(r"[.!?](?=\s|$)|[;\n。！？；]")


def changes(tool: Tool, before: Tool) -> Iterator[Change]:
    """Yield what was added to a tool since it was published."""
    old = {each.text for each in tool_fields(before)}
    known = {_plain(text[start:end]) for text in old for start, end in _sentences(text)}
    sites = {site_of(host) for text in old for host in hosts_in(text)}
    inputs = {parameter.name for parameter in before.parameters}
    for each in tool_fields(tool):
        if each.text in old or (each.role == "name" and not each.field.startswith("parameters[")):
            continue
        if each.field.startswith("parameters[") and _parameter(tool, each.field) not in inputs:
            if each.field.endswith(".name"):
                yield Change(
                    each.field,
                    each.text,
                    0,
                    len(each.text),
                    False,
                    "input",
                    "an input was added since it was published",
                )
            continue
        spans = [(0, len(each.text))] if each.role == "value" else list(_sentences(each.text))
        added = [
            (start, end)
            for start, end in spans
            if each.text[start:end].strip() and _plain(each.text[start:end]) not in known
        ]
        if not added:
            continue
        start, end = added[0][0], added[-1][1]
        hosts = (host for one, other in added for host in hosts_in(each.text[one:other].rstrip(" .!?\n")))
        severe = any(site_of(host) not in sites and not is_documentation(host) for host in hosts)
        why = f"the {'value' if each.role == 'value' else 'text'} was changed since it was published{': it names a new host' if severe else ''}"
        yield Change(each.field, each.text, start, end, severe, "value" if each.role == "value" else "text", why)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences of a text; linear."""
    start = 0
    for match in _END.finditer(text):
        yield start, match.end()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def _plain(sentence: str) -> str:
    return " ".join(re.findall(r"\w+", sentence.casefold()))


def _parameter(tool: Tool, field: str) -> str:
    return tool.parameters[int(field.partition("[")[2].partition("]")[0])].name


_REMEDIES: Mapping[FindingKind, str] = {
    "invisible-characters": "Ask the owner why the characters are there; take them out",
    "bidirectional-characters": "Compare what is shown with what is stored; take the controls out",
    "look-alike-name": "Check who publishes each of the two tools; hide the one that is not meant",
    "changed-description": "Compare it with what was published before, and approve it if the owner meant it",
    "exfiltrating-value": "Check where the value sends data; ask for another default, or set one by an overlay",
}
_MOST_OF_A_FIELD = 20  # findings
_SHARE_OF_SITE = 3  # tools of a catalogue that are called at a site, from which on it is the catalogue's own


def findings_of(
    tools: Sequence[Tool],
    previous: Mapping[str, Tool] | None = None,
    *,
    beside: Sequence[Tool] = (),
    unchanged: Collection[str] = (),
    cache: ToolCache | None = None,
) -> list[Finding]:
    """Return the findings of tools, sorted by tool in their order, then by field and span.

    :param tools: of one catalogue, with unique ids; names are compared among them.
    :param beside: the other tools of the catalogue, whose names are compared too; nothing is said of them.
    :param previous: id → tool as it was published last; nothing is compared without it.
    :param unchanged: ids of tools that are known to be as they were published.
    :param cache: what was found in unchanged tools is taken from it.
    """
    before = previous or {}
    order = {tool.id: at for at, tool in enumerate(tools)}
    among = [*tools, *(tool for tool in beside if tool.id not in order)]
    own = _sites_of(among)
    depends_on = f"{code_digest('ingest', 'ontology')}\n{sorted(own)}"

    def make(missing: Sequence[Tool]) -> list[list[Finding]]:
        return [list(_of_tool(tool, own)) for tool in missing]

    made = (cache or ToolCache(None)).each("findings.v1", depends_on, tools, make, _codec())
    found = [finding for each in made for finding in each.value]
    for tool in tools:
        if tool.id in before and tool.id not in unchanged:
            found.extend(_of_changes(tool, before[tool.id]))
    for alike in look_alikes(among, frozenset(before) | {tool.id for tool in beside}):
        if alike.tool.id not in order:
            continue
        text = {"name": alike.tool.name, "id": alike.tool.id}.get(alike.field, alike.tool.namespace)
        field, span = FieldText(alike.field, text, "name"), (alike.start, alike.end)
        found.append(_finding("look-alike-name", QUARANTINE, alike.tool, field, span, alike.rule, alike.why))
    return sorted(
        set(found), key=lambda each: (order[each.tool], each.field, each.start, each.end, each.kind, each.rule)
    )


@lru_cache(maxsize=1)
def _codec() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(list[Finding])


def _sites_of(tools: Sequence[Tool]) -> frozenset[str]:
    """The sites at which several tools of the catalogue are called."""
    servers: Counter[str] = Counter(
        server for tool in tools if tool.call is not None for server in tool.call.servers[:1]
    )
    sites: Counter[str] = Counter()
    for server, number in servers.items():
        for host in hosts_in(server)[:1]:
            sites[site_of(host)] += number
    return frozenset(site for site, number in sites.items() if number >= _SHARE_OF_SITE)


def _of_tool(tool: Tool, own: frozenset[str]) -> Iterator[Finding]:
    for field in tool_fields(tool):
        yield from _of_text(tool, field)
    for value in risky_values(tool, own):
        severity = QUARANTINE if value.field.startswith("parameters") else REPORT
        field, span = FieldText(value.field, value.text, "value"), (value.start, value.end)
        yield _finding("exfiltrating-value", severity, tool, field, span, value.rule, value.why)


def _of_changes(tool: Tool, before: Tool) -> Iterator[Finding]:
    for change in changes(tool, before) if before != tool else ():
        severity = QUARANTINE if change.severe else REPORT
        field, span = FieldText(change.field, change.text, "prose"), (change.start, change.end)
        yield _finding("changed-description", severity, tool, field, span, change.rule, change.why)


def _of_text(tool: Tool, field: FieldText) -> Iterator[Finding]:
    text = field.text
    if not text.isascii():
        for run in invisible_runs(text)[:_MOST_OF_A_FIELD]:
            spelled = hidden_text(text[run.start : run.end])
            why = f"characters that nobody sees stand in the text{f' and spell: {visible(spelled, 80)}' if spelled else ''}"
            severity = QUARANTINE if run.severe or field.role in {"name", "value"} else REPORT
            yield _finding("invisible-characters", severity, tool, field, (run.start, run.end), "hidden", why)
        for run in bidirectional_runs(text)[:_MOST_OF_A_FIELD]:
            severity = QUARANTINE if run.severe or field.role in {"name", "value"} else REPORT
            yield _finding(
                "bidirectional-characters",
                severity,
                tool,
                field,
                (run.start, run.end),
                "reordered",
                "controls show the text in another order than it is stored",
            )


def _finding(
    kind: FindingKind, severity: Severity, tool: Tool, field: FieldText, span: tuple[int, int], rule: str, why: str
) -> Finding:
    start, end = span
    shown = field.text[start:end]
    if kind in {"invisible-characters", "bidirectional-characters"}:  # some of what stands around it
        shown = field.text[max(0, start - 20) : end + 20]
    return Finding(
        kind=kind,
        severity=severity,
        tool=tool.id,
        field=field.field,
        start=start,
        end=end,
        quote=visible(shown.strip(" \n")),
        rule=f"{kind}.{rule}.v1",
        why=why,
        remedy=_REMEDIES[kind],
    )
