"""Structural checks of a written request: what must stand in its text by construction, whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from datagen.catalogue import ProfiledCatalogue
from datagen.requests import SampleValue, ToolPath
from datagen.slots import Slot, fault_of_value
from ontology.errors import InvalidArgumentError
from ontology.names import words
from ontology.tool import Tool
from retrieval.query.request import Request, check_needs

_MACHINE = re.compile(r"[^\W_][_/.:\-][^\W_]|[a-z0-9][A-Z]")  # snake_case, a/b, camelCase
_LONG_NAME = 4  # words: a shorter name may be an everyday phrase
# What looks like a value: a digit, something in quotation marks, an address
_VALUE_LIKE = re.compile(r"\d|\"[^\"]*\w[^\"]*\"|“[^”]*\w[^”]*”|\S@\S")


@dataclass(frozen=True, kw_only=True)
class Written:
    """A text with what its writer says of it, before any check."""

    text: str
    values: tuple[SampleValue, ...]  # the values that it states
    names: tuple[str, ...] = ()  # names in the text by which a thing is found, and which no input takes
    needs: tuple[str, ...] = ()  # a phrase for each tool of the path; none where the writer has no words of its own


def fault_of(written: Written, path: ToolPath, slots: Sequence[Slot], catalogue: ProfiledCatalogue) -> str:
    """Return what is wrong with a text, one clause; empty where every slot and value stands and no other. Each required
    slot has a value, each value stands in the text letter by letter and has the type of its input, the given ones are
    said as given, and nothing else in the text looks like a value. No name of the software stands in text or needs."""
    try:
        Request(query=written.text)
        check_needs(written.needs)
    except InvalidArgumentError as error:
        return error.problem
    tools = [catalogue.tool(tool) for tool in path.tools]
    faults = (
        *_faults_of_values(written, slots),
        *_unaccounted(written),
        *(
            f"it says {name!r}, a name that only the software has"
            for name in _machine_names(tools)
            if name.casefold() in written.text.casefold()
        ),
        *_faults_of_needs(written.needs, tools),
    )
    return next(iter(faults), "")


def _faults_of_values(written: Written, slots: Sequence[Slot]) -> Iterable[str]:
    known = {(slot.tool, slot.parameter.name): slot for slot in slots}
    text = written.text.casefold()
    stated = set()
    for value in written.values:
        slot = known.get((value.tool, value.parameter))
        if slot is None:
            yield f"{value.parameter} of {value.tool} is no slot, but a value is given for it"
            continue
        stated.add((value.tool, value.parameter))
        if not value.value.strip() or value.value.casefold() not in text:
            yield f"{value.value!r} for {value.parameter} does not stand in the text"
        if slot.given and slot.value.casefold() not in value.value.casefold():
            yield f"{value.parameter} must be said as {slot.value!r}, not {value.value!r}"
        if fault := fault_of_value(slot, value.typed) if value.typed else "":
            yield fault
    for key, slot in known.items():
        if slot.required and key not in stated:
            yield f"nothing is stated for {slot.parameter.name}, which {slot.tool} requires"
    yield from (
        f"the name {name!r} does not stand in the text" for name in written.names if name.casefold() not in text
    )


def _unaccounted(written: Written) -> Iterable[str]:
    """What looks like a value and is none of the stated ones."""
    rest = written.text
    for said in sorted((*(value.value for value in written.values), *written.names), key=len, reverse=True):
        if said.strip():
            rest = re.sub(re.escape(said), " ", rest, flags=re.IGNORECASE)
    if found := _VALUE_LIKE.search(rest):
        around = rest[max(found.start() - 15, 0) : found.end() + 15].strip()
        yield f"it states a value that is recorded for no input: {around!r}"


def _faults_of_needs(needs: Sequence[str], tools: Sequence[Tool]) -> Iterable[str]:
    if needs and len(needs) != len(tools):
        yield f"{len(needs)} needs are given for {len(tools)} steps"
    if len(set(needs)) < len(needs):
        yield "two needs are the same"
    for need in needs:
        if name := contains_name(need, tools):
            yield f"the need {need!r} has the name {name!r} of an operation"


def contains_name(text: str, tools: Iterable[Tool]) -> str:
    """Return the id, name or title of a tool that a text contains, in machine spelling or of four words or more; or empty."""
    lower, spaced = text.casefold(), f" {' '.join(words(text))} "
    for tool in tools:
        for name in (tool.id, tool.name, tool.title):
            if " " not in name and _MACHINE.search(name) and name.casefold() in lower:
                return name
            if len(words(name)) >= _LONG_NAME and f" {' '.join(words(name))} " in spaced:
                return name
    return ""


def _machine_names(tools: Iterable[Tool]) -> Iterable[str]:
    for tool in tools:
        parameters = (one.name.rsplit(".", 1)[-1] for one in tool.parameters)
        yield from (
            name for name in (tool.id, tool.name, *parameters) if "_" in name or re.search(r"[a-z0-9][A-Z]", name)
        )


def said_alike(one: str, other: str) -> bool:
    """Whether two quotations of a text state one value: equal words, or the words of one in those of the other."""
    first, second = (f" {' '.join(words(text))} " for text in (one, other))
    return bool(first.strip()) and bool(second.strip()) and (first in second or second in first)
