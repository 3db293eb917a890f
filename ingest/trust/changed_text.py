"""What a tool's document says that it did not say when it was last published."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ingest.trust.finding import QUARANTINE, REPORT, Severity
from ingest.trust.folded_text import fold
from ingest.trust.instructions import sentences_of, signals_in
from ingest.trust.named_hosts import addresses_in, is_documentation, site_of
from ingest.trust.signals import SIGNALS
from ingest.trust.tool_fields import tool_fields
from ingest.trust.wording import any_of, whole_words
from ontology.tool import Parameter, Tool

__all__ = ["Change", "changes"]

_SAFE = whole_words("restrictions")
_REACH = whole_words("reaches")
_MONEY_OR_PLACE = any_of("places_of_change", re.IGNORECASE)
_SWITCH = any_of("switches", re.IGNORECASE)
_FREE_TEXT = whole_words("free_texts")
_ADDED = 0.3
_REMOVED_SAFETY = 0.4
_SEVERE = 0.7  # one hint is enough: a document that was reviewed once is not read again


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
    known = {_plain(text[start:end]) for text in old for start, end in sentences_of(text)}
    sites = {site_of(address.host) for text in old for address in addresses_in(text)}
    inputs = {parameter.name for parameter in before.parameters}
    now = {_plain(text) for each in tool_fields(tool) for text in _sentences(each.text)}
    lost = [text for text in known if text not in now]
    for each in tool_fields(tool):
        if each.role not in {"prose", "label"} or each.text in old:
            continue
        if each.field.startswith("parameters[") and _parameter(tool, each.field) not in inputs:
            continue  # a new input: see ``_inputs``
        added = [
            (start, end)
            for start, end in sentences_of(each.text)
            if _plain(each.text[start:end]) not in known and each.text[start:end].strip()
        ]
        if not added:
            continue
        weight, whys = _weight(" ".join(each.text[start:end] for start, end in added), sites)
        if any(_SAFE.search(text) for text in lost):
            weight += _REMOVED_SAFETY
            whys.append("a restriction was taken out")
        severity: Severity = QUARANTINE if weight >= _SEVERE - 1e-9 else REPORT
        why = f"the text was changed since it was published{': ' if whys else ''}{', '.join(whys)}"
        yield Change(each.field, each.text, added[0][0], added[-1][1], severity, "text", why)


def _sentences(text: str) -> Iterator[str]:
    yield from (text[start:end] for start, end in sentences_of(text))


def _plain(sentence: str) -> str:
    return " ".join(re.findall(r"\w+", sentence.casefold()))


def _parameter(tool: Tool, field: str) -> str:
    return tool.parameters[int(field.partition("[")[2].partition("]")[0])].name


def _weight(added: str, sites: set[str]) -> tuple[float, list[str]]:
    """How much an added text weighs, and why."""
    folded = fold(added).text
    whys = []
    weight = _ADDED
    signals = {SIGNALS[at].name: SIGNALS[at] for part in signals_in(folded) for at in part.signals}
    if signals:
        weight += 1.2 * sum(signal.weight for signal in signals.values())
        whys += [signal.why for signal in signals.values()]
    if any(
        site_of(address.host) not in sites and not is_documentation(address.host) for address in addresses_in(added)
    ):
        weight += 0.5
        whys.append("it names a new host or address")
    reach = {match[0] for match in _REACH.finditer(folded)}
    if reach:
        weight += 0.25 + 0.2 * min(len(reach), 3)
        whys.append(f"it reaches further ({', '.join(sorted(reach)[:3])})")
    return weight, whys


def _inputs(tool: Tool, before: Tool) -> Iterator[Change]:
    """New inputs that take secrets or what was said."""
    old = {parameter.name for parameter in before.parameters}
    for number, parameter in enumerate(tool.parameters):
        if parameter.name in old:
            continue
        about = fold(f"{parameter.name.replace('_', ' ')}: {parameter.description}").text
        taken = {match[0] for match in _FREE_TEXT.finditer(about)}
        weight = (
            _ADDED
            + (0.5 if taken else 0.0)
            + 0.2 * (len(taken) > 1)
            + 0.3 * (parameter.default in {"true", "True"} and bool(taken))
        )
        signals = {SIGNALS[at].name: SIGNALS[at].weight for part in signals_in(about) for at in part.signals}
        weight += sum(signals.values()) * 0.6
        severity: Severity = QUARANTINE if weight >= _SEVERE - 1e-9 else REPORT
        text = parameter.description or parameter.name
        field = f"parameters[{number}].{'description' if parameter.description else 'name'}"
        why = (
            f"an input was added since it was published{': it takes ' + ', '.join(sorted(taken)[:3]) if taken else ''}"
        )
        yield Change(field, text, 0, len(text), severity, "input", why)


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
