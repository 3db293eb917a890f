"""What goes in where and what comes out where of a tool: whether it does what is wanted, by its document, and the entities of its answer.

Whoever wants it knows the names of the inputs and of the output. The document alone decides; nothing is called.

A path such as ``messages[].id`` is made of names and of ``[]``, which stands for every item of a list. A list without a name begins with
``[]``, or with ``result[]``, as documents of tools write it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from egotools import Tool
from egotools.calling.input_arguments import kinds, properties_of
from ontology.errors import ToolCallError
from ontology.names import noun_lemma, words
from planners.query.domain import Lookup

_STEP = re.compile(r"\[\]|[^.\[\]]+")
_ROOT, _ITEMS = "result", "[]"
_ABSENT = object()  # the value of a member that is not there


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """How a tool does it; what it has in common with :class:`Lookup` means the same."""

    takes: str
    is_list: bool | None  # whether the input takes a list of identifiers; None where its schema does not say
    gives: str
    source: str = ""  # path in the output of the source's identifier; empty where the answer does not say it
    fields: Mapping[str, str] = field(default_factory=dict)
    every: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


class Misfit(NamedTuple):
    """Why a tool does not do it, one sentence."""

    reason: str


class Paging(NamedTuple):
    """The input for a page, and the path of the next page in an answer; or empty."""

    page: str = ""
    next_page: str = ""


def bind(tool: Tool, wanted: Lookup) -> Binding | Misfit:
    """Return how a tool does what is wanted, or why it does not: it has the inputs and the output of these names. An
    interval goes into two inputs, ``from,to``, one of which may be empty; a field with an empty input into that of its name.
    """
    schema = tool.input_schema
    inputs, outputs = properties_of(schema, schema), [each.name for each in tool.returns]
    parts = wanted.takes.split(",") if wanted.takes else []
    taken = [_named(inputs, part) for part in parts]
    if any(part.strip() and not found for part, found in zip(parts, taken, strict=True)):
        return Misfit(f"no input of {tool.id} is {wanted.takes}; it has {_listed(inputs)}")
    takes, fields = ",".join(taken), _fields(inputs, wanted)
    demanded = [str(name) for name in schema.get("required") or ()]
    every = {name: text for hint, text in wanted.every.items() if (name := _named(inputs, hint)) in demanded}
    supplied = {*taken, *(part for name in fields.values() for part in (name, *name.split(","))), *every}
    if open_inputs := [name for name in demanded if name not in supplied]:
        return Misfit(f"{tool.id} also needs {_listed(open_inputs)}, which nothing here supplies")
    hint = _bare(wanted.gives)
    if outputs and not any(hint in (_bare(name), _bare(f"{name}[]")) for name in outputs):
        return Misfit(f"no output of {tool.id} is {wanted.gives}; it has {_listed(outputs)}")
    allowed, source = kinds(inputs.get(takes, {}), schema), _source(tool, takes, wanted.gives) if takes else ""
    said = [f"{takes} is the input that was asked for"] if takes else []
    described = "is the output that was asked for" if outputs else "was asked for, and its document describes no answer"
    said += [f"{wanted.gives} {described}"]
    said += [f"{name} is {text!r} where there is nothing to search for" for name, text in every.items()]
    said += [f"each row names its source in {source}"] if source else []
    return Binding(
        takes=takes,
        is_list=None if allowed is None else "array" in allowed,
        gives=wanted.gives,
        source=source,
        fields=fields,
        every=every,
        reason=f"{tool.id}: {'; '.join(said)}",
    )


def paging_of(tool: Tool) -> Paging:
    """Return how a tool gives long answers in parts: ``page_token`` and ``next_page_token``, ``offset`` and ``next_offset``, …"""
    inputs = {tuple(words(each.name)): each.name for each in tool.parameters if "." not in each.name}
    for each in tool.returns:
        leaf = () if _ITEMS in each.name else tuple(words(path_steps(each.name)[-1]))
        if leaf[:1] == ("next",) and leaf[1:] in inputs:
            return Paging(inputs[leaf[1:]], each.name)
    return Paging()


def _named(inputs: Mapping[str, Any], name: str) -> str:
    """Return the input of a name, whatever way it is written, or empty."""
    name = name.strip()
    return name if name in inputs or not name else next((each for each in inputs if words(each) == words(name)), "")


def _fields(inputs: Mapping[str, Any], wanted: Lookup) -> dict[str, str]:
    found = {}
    for name, hint in wanted.fields.items():
        parts = [_named(inputs, part) for part in (hint or name).split(",")]
        if all(parts):
            found[name] = ",".join(parts)
    return found


def _bare(path: str) -> tuple[str, ...]:
    steps = path_steps(path)
    return steps[1:] if steps[:1] == (_ROOT,) else steps


def _source(tool: Tool, takes: str, gives: str) -> str:
    """Return the path at which each row says which of the given identifiers it belongs to (``source_id``, or the input's own name), or
    empty."""
    *stem, last = words(takes)
    for each in tool.returns:
        steps = path_steps(each.name)
        if _ITEMS not in steps or steps.count(_ITEMS) > gives.count(_ITEMS) or _bare(each.name) == _bare(gives):
            continue
        if words(steps[-1]) in (["source", "id"], [*stem, noun_lemma(last)]):
            return each.name
    return ""


def _listed(names: Collection[str]) -> str:
    shown = list(names)[:12]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "") if shown else "none"


class AnswerRow(NamedTuple):
    """One entity of an answer. A tuple, because it is made 38,000 times for one request over 25,000 mails."""

    id: str
    # the other members of the object that the identifier stands in; of a bare identifier none
    fields: Mapping[str, Any] = MappingProxyType({})
    source: str = ""  # identifier of the entity that it belongs to, where the answer says so; else empty


class _Place(NamedTuple):
    """A value in an answer, and the objects that it stands in, outermost first."""

    value: Any
    outer: tuple[Mapping[str, Any], ...] = ()


@lru_cache(maxsize=4_096)
def path_steps(path: str) -> tuple[str, ...]:
    """Return the steps of a path: ``a.b[].c`` → ``a``, ``b``, ``[]``, ``c``."""
    return tuple(_STEP.findall(path))


def value_at(body: Any, path: str | tuple[str, ...]) -> Any:
    """Return the value at a path without lists, or None."""
    for step in path_steps(path) if isinstance(path, str) else path:
        body = body.get(step) if isinstance(body, Mapping) else None
    return body


def answer_rows(body: Any, path: str, *, source: str = "", subject: str = "") -> list[AnswerRow]:
    """Return the entities at a path, in the order of the answer; an identifier that is null, absent or a list is no entity, and
    the source's path is empty where answers do not say it. Raises ToolCallError, of the tool ``subject``, when there is
    no such list, or no row has the identifier."""
    is_wrapped = isinstance(body, dict) and _ROOT in body
    steps = path_steps(path) if is_wrapped else _bare(path)
    places = [_Place(body)]
    for at, step in enumerate(steps):
        so_far = "".join(steps[: at + 1])
        places = [inner for place in places for inner in _next(place, step, so_far, subject)]
    there = [place for place in places if place.value is not _ABSENT]
    if not there and any(place.outer for place in places):
        raise _other_shape(f"no row has {path}", subject)
    within, _, last = source.rpartition(_ITEMS)
    below = path_steps(last) if path.startswith(within) else ()  # of another list it says nothing
    return [_row(place, below) for place in there if not isinstance(place.value, list | dict | None)]


def _next(place: _Place, step: str, so_far: str, subject: str) -> Iterator[_Place]:
    value = place.value
    if value is None or value is _ABSENT:
        yield place
    elif step == _ITEMS:
        if not isinstance(value, list):
            raise _other_shape(f"{so_far} is no list", subject)
        yield from (_Place(item, place.outer) for item in value if item is not None)
    elif not isinstance(value, dict):
        raise _other_shape(f"what holds {so_far} is no object", subject)
    elif step in value:
        yield _Place(value[step], (*place.outer, value))
    elif not place.outer and ("error" in value or any(isinstance(inner, dict | list) for inner in value.values())):
        raise _other_shape(f"it has no {step}", subject)
    else:  # of an optional member; an answer without any row may leave the list of them out, as Gmail's does
        yield _Place(_ABSENT, place.outer)


def _row(place: _Place, source: tuple[str, ...]) -> AnswerRow:
    value, outer, belongs = place.value, place.outer, ""
    fields: Mapping[str, Any] = outer[-1] if outer else {}
    for start in reversed(outer) if source else ():  # of the innermost object that has it
        found = value_at(start, source)
        if isinstance(found, str | int | float):
            belongs = _text(found)
            break
    return AnswerRow(_text(value), fields, belongs)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _other_shape(what: str, subject: str) -> ToolCallError:
    return ToolCallError(f"the answer has another shape than its document says: {what}", subject=subject)
