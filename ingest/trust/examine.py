"""Examine tools: all findings of a list of tools, in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ingest.trust.changed_text import changes
from ingest.trust.finding import QUARANTINE, REPORT, Finding, FindingKind, Severity, visible
from ingest.trust.hidden_characters import bidirectional_runs, hidden_text, invisible_runs
from ingest.trust.look_alikes import look_alikes
from ingest.trust.named_hosts import hosts_in, site_of
from ingest.trust.risky_values import risky_values
from ingest.trust.tool_fields import FieldText, tool_fields
from ontology.tool import Tool

__all__ = ["findings_of"]

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
    tools: Sequence[Tool], previous: Mapping[str, Tool] | None = None, *, beside: Sequence[Tool] = ()
) -> list[Finding]:
    """Return the findings of tools, sorted by tool in their order, then by field and span.

    :param tools: of one catalogue, with unique ids; names are compared among them.
    :param beside: the other tools of the catalogue, whose names are compared too; nothing is said of them.
    :param previous: id → tool as it was published last; nothing is compared without it.
    """
    before = previous or {}
    order = {tool.id: at for at, tool in enumerate(tools)}
    among = [*tools, *(tool for tool in beside if tool.id not in order)]
    own = _sites_of(among)
    found = [finding for tool in tools for finding in _of_tool(tool, before.get(tool.id), own)]
    for alike in look_alikes(among, frozenset(before) | {tool.id for tool in beside}):
        if alike.tool.id not in order:
            continue
        text = {"name": alike.tool.name, "id": alike.tool.id}.get(alike.field, alike.tool.namespace)
        field = FieldText(alike.field, text, "name")
        found.append(
            _finding(
                "look-alike-name", alike.severity, alike.tool, field, (alike.start, alike.end), alike.rule, alike.why
            )
        )
    return sorted(
        set(found), key=lambda each: (order[each.tool], each.field, each.start, each.end, each.kind, each.rule)
    )


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


def _of_tool(tool: Tool, before: Tool | None, own: frozenset[str]) -> Iterator[Finding]:
    unchanged = before is not None and before == tool
    for field in tool_fields(tool):
        yield from _of_text(tool, field)
    for value in risky_values(tool, own):
        yield _finding(
            "exfiltrating-value",
            value.severity,
            tool,
            FieldText(value.field, value.text, "value"),
            (value.start, value.end),
            value.rule,
            value.why,
        )
    if before is not None and not unchanged:
        for change in changes(tool, before):
            yield _finding(
                "changed-description",
                change.severity,
                tool,
                FieldText(change.field, change.text, "prose"),
                (change.start, change.end),
                change.rule,
                change.why,
            )


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
