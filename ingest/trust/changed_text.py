"""What a tool's document says that it did not say when it was last published."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ingest.trust.finding import QUARANTINE, REPORT, Severity
from ingest.trust.named_hosts import addresses_in, is_documentation, site_of
from ingest.trust.tool_fields import tool_fields
from ingest.trust.wording import any_of
from ontology.tool import Parameter, Tool

__all__ = ["Change", "changes"]

_MONEY_OR_PLACE = any_of("places_of_change", re.IGNORECASE)
_SWITCH = any_of("switches", re.IGNORECASE)
_END = re.compile(r"[.!?](?=\s|$)|[;\n。！？；]")


class Change(NamedTuple):
    """A changed text of a tool: ``text[start:end]`` of a field was not there before."""

    field: str
    text: str
    start: int
    end: int
    severity: Severity
    rule: str
    why: str


def changes(tool: Tool, before: Tool) -> Iterator[Change]:
    """Yield what was added to a tool since it was published; its severity depends on what it is."""
    yield from _values(tool, before)
    yield from _choices(tool, before)
    yield from _inputs(tool, before)
    yield from _texts(tool, before)


def _texts(tool: Tool, before: Tool) -> Iterator[Change]:
    old = {each.text for each in tool_fields(before)}
    known = {_plain(text[start:end]) for text in old for start, end in _sentences(text)}
    sites = {site_of(address.host) for text in old for address in addresses_in(text)}
    inputs = {parameter.name for parameter in before.parameters}
    for each in tool_fields(tool):
        if each.role not in {"prose", "label"} or each.text in old:
            continue
        if each.field.startswith("parameters[") and _parameter(tool, each.field) not in inputs:
            continue  # a new input: see ``_inputs``
        added = [
            (start, end)
            for start, end in _sentences(each.text)
            if _plain(each.text[start:end]) not in known and each.text[start:end].strip()
        ]
        if not added:
            continue
        new_host = any(
            site_of(address.host) not in sites and not is_documentation(address.host)
            for start, end in added
            for address in addresses_in(each.text[start:end].rstrip(" .!?\n"))
        )
        severity: Severity = QUARANTINE if new_host else REPORT
        why = f"the text was changed since it was published{': it names a new host or address' if new_host else ''}"
        yield Change(each.field, each.text, added[0][0], added[-1][1], severity, "text", why)


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


def _inputs(tool: Tool, before: Tool) -> Iterator[Change]:
    """New inputs. What they send elsewhere by themselves is a risky value."""
    old = {parameter.name for parameter in before.parameters}
    for number, parameter in enumerate(tool.parameters):
        if parameter.name not in old:
            text = parameter.description or parameter.name
            field = f"parameters[{number}].{'description' if parameter.description else 'name'}"
            why = "an input was added since it was published"
            yield Change(field, text, 0, len(text), REPORT, "input", why)


def _values(tool: Tool, before: Tool) -> Iterator[Change]:
    """Defaults and examples that were changed; those of accounts, addresses and switches are severe."""
    old: Mapping[str, Parameter] = {parameter.name: parameter for parameter in before.parameters}
    for number, parameter in enumerate(tool.parameters):
        was = old.get(parameter.name)
        if was is None:
            continue
        for key in ("default", "example"):
            value, earlier = getattr(parameter, key), getattr(was, key)
            if not value or value == earlier:
                continue
            risky = (
                _MONEY_OR_PLACE.search(parameter.name)
                or any(not is_documentation(address.host) for address in addresses_in(value))
                or value.strip() == "*"
            )
            flipped = value in {"true", "false", "True", "False"} and bool(earlier) and _SWITCH.search(parameter.name)
            severe = (key == "default" and (risky or flipped)) or (
                key == "example" and risky and bool(addresses_in_list(value))
            )
            why = f"the {key} was changed since it was published, from {earlier[:60]!r}"
            yield Change(
                f"parameters[{number}].{key}", value, 0, len(value), QUARANTINE if severe else REPORT, key, why
            )


def _choices(tool: Tool, before: Tool) -> Iterator[Change]:
    """New allowed values; one that says something, among others that only name, is severe."""
    old: Mapping[str, Parameter] = {parameter.name: parameter for parameter in before.parameters}
    for number, parameter in enumerate(tool.parameters):
        was = old.get(parameter.name)
        if was is None or parameter.enum == was.enum or not was.enum:
            continue
        longest = max(value.count(" ") for value in was.enum)
        for at, value in enumerate(parameter.enum):
            if value not in was.enum:
                severe = value.count(" ") >= longest + _WORDS_MORE or bool(addresses_in_list(value))
                why = "an allowed value was added since it was published"
                severity: Severity = QUARANTINE if severe else REPORT
                yield Change(f"parameters[{number}].enum[{at}]", value, 0, len(value), severity, "choice", why)


_WORDS_MORE = 3


def addresses_in_list(text: str) -> list[str]:
    """The hosts of a text that data can leave to."""
    return [address.host for address in addresses_in(text) if not is_documentation(address.host)]
