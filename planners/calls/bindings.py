"""What goes in where and what comes out where of a tool: whether it does what is wanted, by its document, and the entities of its answer.

Names that the caller knows go first; then names that say an identifier of the wanted entity (``supplier_id``, ``buildings[].buildingId``),
and at last what is the only one of its kind. The document alone decides; nothing is called.

A path such as ``messages[].id`` is made of names and of ``[]``, which stands for every item of a list. A list without a name begins with
``[]``, or with ``result[]``, as documents of tools write it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from egotools import Tool
from egotools.calling.input_arguments import kinds, properties_of
from ontology.errors import ToolCallError
from ontology.names import canonical_name, identified_entity, noun_lemma, words

_STEP = re.compile(r"\[\]|[^.\[\]]+")
_ROOT, _ITEMS = "result", "[]"
_ABSENT = object()  # the value of a member that is not there
_BEGINNINGS = frozenset({"from", "after", "since", "start", "begin", "min"})
_ENDS = frozenset({"to", "before", "until", "end", "till", "max"})
_SOURCE_NAMES = (("source", "id"), ("source",), ("for", "id"))
_WRAPPERS = (_ITEMS, _ROOT, "items", "data", "results", "value", "entity")
_LIMITS = (("limit",), ("page", "size"), ("max", "results"), ("per", "page"), ("top",), ("maximum", "results"))
_TOTALS = (("total",), ("total", "count"), ("count",), ("total", "results"), ("total", "items"), ("total", "size"))


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityName:
    """A type of entity as documents may write it: its name and nouns, the field that identifies it, and whether that is an interval of time."""

    names: tuple[str, ...]
    identifier: str = "id"
    interval: bool = False

    def is_named(self, word: str) -> bool:
        """Whether a word is one of its names, whatever way it is written."""
        return bool(word) and canonical_name(word) in {canonical_name(name) for name in self.names}

    def is_identified(self, name: str) -> bool:
        """Whether a name says an identifier of the entity: ``supplier_id``."""
        return self.is_named(identified_entity(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a tool shall do; names may be empty where the caller does not know them.

    :param source: whose identifiers go in; None where the tool shall find entities by their fields.
    :param takes: the input that gets the identifiers; two of an interval, ``from,to``, of which one may be empty.
    :param gives: path of the identifiers in the output.
    :param fields: field → input that filters by it.
    :param every: input → words in it that find everything.
    """

    target: EntityName
    source: EntityName | None = None
    takes: str = ""
    gives: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    every: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """How a tool does it; as in :class:`Wanted`, and:

    :param is_list: whether the input takes a list of identifiers; None where its schema does not say.
    :param source: path in the output of the source's identifier; empty where the answer does not say it.
    :param exact: whether every name that the caller knew is one of the tool.
    """

    takes: str
    is_list: bool | None
    gives: str
    source: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    every: Mapping[str, str] = field(default_factory=dict)
    exact: bool = True
    reason: str = ""


class Misfit(NamedTuple):
    """Why a tool does not do it, one sentence."""

    reason: str


class Paging(NamedTuple):
    """The inputs for a page and for the most rows of an answer, the paths of the next page and of the number of all rows; or empty."""

    page: str = ""
    next_page: str = ""
    limit: str = ""
    total: str = ""


class _Match(NamedTuple):
    name: str
    why: str
    exact: bool = False


def bind(tool: Tool, wanted: Wanted) -> Binding | Misfit:
    """Return how a tool does what is wanted, or why it does not."""
    schema = tool.input_schema
    inputs = properties_of(schema, schema)
    takes = _takes(inputs, schema, wanted, wanted.source) if wanted.source else _Match("", "", exact=True)
    if takes is None:
        source = wanted.source.names[0] if wanted.source else ""
        return Misfit(f"no input of {tool.id} takes identifiers of {source}; it has {_listed(inputs)}")
    fields = _fields(inputs, wanted)
    demanded = [str(name) for name in schema.get("required") or ()]
    every = {name: text for hint, text in wanted.every.items() if (name := _named(inputs, hint)) in demanded}
    supplied = {*takes.name.split(","), *fields.values(), *every}
    if open_inputs := [name for name in demanded if name not in supplied]:
        return Misfit(f"{tool.id} also needs {_listed(open_inputs)}, which nothing here supplies")
    gives = _gives(tool, wanted)
    if gives is None:
        outputs = _listed([each.name for each in tool.returns])
        return Misfit(f"no output of {tool.id} gives identifiers of {wanted.target.names[0]}; it has {outputs}")
    allowed = kinds(inputs.get(takes.name, {}), schema)
    source = _source(tool, wanted.source, takes.name, gives.name) if wanted.source and takes.name else ""
    said = [f"{each.name} {each.why}" for each in (takes, gives) if each.why]
    said += [f"{name} is {text!r} where there is nothing to search for" for name, text in every.items()]
    said += [f"each row names its source in {source}"] if source else []
    return Binding(
        takes=takes.name,
        is_list=None if allowed is None else "array" in allowed,
        gives=gives.name,
        source=source,
        fields=fields,
        every=every,
        exact=takes.exact and gives.exact and all(wanted.fields[name] in ("", used) for name, used in fields.items()),
        reason=f"{tool.id}: {'; '.join(said) or 'it takes nothing'}",
    )


def bind_count(tool: Tool, wanted: Wanted) -> Binding | Misfit:
    """Return how a tool counts the entities of ``wanted.target`` that meet conditions on their fields, or why it does not."""
    named = words(tool.name)
    if "count" not in named or not any(map(wanted.target.is_named, named)):
        return Misfit(f"{tool.id} does not count {wanted.target.names[0]} by its name")
    found = [each.name for each in tool.returns if each.type in ("integer", "number") and _ITEMS not in each.name]
    if len(found) != 1:
        return Misfit(f"{tool.id} gives {len(found)} numbers instead of one")
    fields = _fields(properties_of(tool.input_schema, tool.input_schema), wanted)
    return Binding(takes="", is_list=False, gives=found[0], fields=fields, reason=f"{tool.id} counts them")


def paging_of(tool: Tool) -> Paging:
    """Return how a tool gives long answers in parts: ``page_token`` and ``next_page_token``, ``offset`` and ``next_offset``, …"""
    inputs = {tuple(words(each.name)): each.name for each in tool.parameters if "." not in each.name}
    page = next_page = total = ""
    for each in tool.returns:
        leaf = () if _ITEMS in each.name else tuple(words(path_steps(each.name)[-1]))
        if leaf[:1] == ("next",) and leaf[1:] in inputs:
            page, next_page = inputs[leaf[1:]], each.name
        elif leaf in _TOTALS and each.type in ("integer", "number") and not total:
            total = each.name
    return Paging(page, next_page, next((inputs[name] for name in _LIMITS if name in inputs), ""), total)


def _takes(inputs: Mapping[str, Any], root: Mapping[str, Any], wanted: Wanted, source: EntityName) -> _Match | None:
    parts = wanted.takes.split(",") if wanted.takes else []
    hinted = [_named(inputs, part) for part in parts]
    if parts and all(bool(found) == bool(part.strip()) for found, part in zip(hinted, parts, strict=True)):
        return _Match(",".join(hinted), "is the input that was asked for", exact=True)
    typed = [name for name, schema in inputs.items() if _may_identify(schema, root)]
    if source.interval and (both := _interval(typed)):
        return _Match(both, f"bound the {source.names[0]}")
    for name in typed:
        if source.is_identified(name) or source.is_named(name):
            return _Match(name, f"takes identifiers of {source.names[0]} by its name")
    own = [name for name in typed if words(name)[-1:] == words(source.identifier)[-1:]]
    if len(own) == 1 and not identified_entity(own[0]):
        return _Match(own[0], f"is called as {source.names[0]}'s {source.identifier}")
    if not inputs and not wanted.takes:
        return _Match("", "", exact=True)
    required = [name for name in inputs if name in (root.get("required") or ())]
    if required == typed and len(typed) == 1 and not identified_entity(typed[0]):
        return _Match(typed[0], "is its only input that can take an identifier")
    return None


def _named(inputs: Mapping[str, Any], name: str) -> str:
    """Return the input of a name, whatever way it is written, or empty."""
    name = name.strip()
    return name if name in inputs or not name else next((each for each in inputs if words(each) == words(name)), "")


def _may_identify(schema: Any, root: Any) -> bool:
    allowed = kinds(schema, root)
    return allowed is None or bool(allowed & {"string", "integer", "array"})


def _interval(inputs: Sequence[str]) -> str:
    """Return the two inputs between which a time lies, or empty; there must be one pair of the same stem."""

    def stem(name: str, ends: Collection[str]) -> list[str] | None:
        parts = words(name)
        return [part for part in parts if part not in ends] if set(ends) & set(parts) else None

    begins = {name: its for name in inputs if (its := stem(name, _BEGINNINGS)) is not None}
    pairs = [f"{one},{two}" for one, its in begins.items() for two in inputs if stem(two, _ENDS) == its]
    return pairs[0] if len(pairs) == 1 else ""


def _fields(inputs: Mapping[str, Any], wanted: Wanted) -> dict[str, str]:
    found = {}
    for name, hint in wanted.fields.items():
        parts = [_named(inputs, part) for part in (hint or name).split(",")]
        if all(parts):
            found[name] = ",".join(parts)
    return found


def _gives(tool: Tool, wanted: Wanted) -> _Match | None:
    outputs, target = [each.name for each in tool.returns], wanted.target
    if wanted.gives:
        hint = _bare(wanted.gives)
        if any(hint in (_bare(name), _bare(f"{name}[]")) for name in outputs):
            return _Match(wanted.gives, "is the output that was asked for", exact=True)
        if not outputs:
            return _Match(wanted.gives, "was asked for, and its document describes no answer", exact=True)
    by_fields = wanted.source is None  # what finds entities by their fields finds several
    leaves = [(name, path_steps(name)) for name in outputs]
    named = [name for name, steps in leaves if target.is_identified(steps[-1])]
    inside = [(n, steps) for n, steps in leaves if (_ITEMS in steps or not by_fields) and _in_list_of(steps, target)]
    best = [name for name, _ in inside if name in named]
    own = [name for name, steps in inside if words(steps[-1]) == words(target.identifier)]
    if own and not best:
        return _Match(own[0], f"gives the {target.identifier} of {target.names[0]}")
    if best or (named and not by_fields):  # in rows of another type it would filter by the fields of these
        return _Match((best or named)[0], f"gives identifiers of {target.names[0]} by its name")
    for each in tool.returns:
        inner = any(other.startswith((f"{each.name}.", f"{each.name}[")) for other in outputs if other != each.name)
        if each.type == "array" and target.is_named(path_steps(each.name)[-1]) and not inner:
            return _Match(f"{each.name}[]", f"is a list of {target.names[0]}")
    return None


def _bare(path: str) -> tuple[str, ...]:
    steps = path_steps(path)
    return steps[1:] if steps[:1] == (_ROOT,) else steps


def _in_list_of(steps: Sequence[str], target: EntityName) -> bool:
    """Whether an output stands in a list of a type, by the name of the list; a bare list is one."""
    named = [step for step in steps[:-1] if step not in _WRAPPERS]
    return not named or target.is_named(named[-1]) or target.is_named(noun_lemma(named[-1].lower()))


def _source(tool: Tool, source: EntityName, takes: str, gives: str) -> str:
    """Return the path at which each row says which of the given identifiers it belongs to, or empty."""
    *stem, last = words(takes) or [""]
    known = {*_SOURCE_NAMES, (*stem, noun_lemma(last))}
    for each in tool.returns:
        steps = path_steps(each.name)
        if _ITEMS not in steps or steps.count(_ITEMS) > gives.count(_ITEMS) or _bare(each.name) == _bare(gives):
            continue
        if tuple(words(steps[-1])) in known or source.is_identified(steps[-1]):
            return each.name
    return ""


def _listed(names: Collection[str]) -> str:
    shown = list(names)[:12]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "") if shown else "none"


class AnswerRow(NamedTuple):
    """One entity of an answer. A tuple, because it is made 38,000 times for one request over 25,000 mails.

    :param fields: the other members of the object that the identifier stands in; of a bare identifier none.
    :param source: identifier of the entity that it belongs to, where the answer says so; else empty.
    """

    id: str
    fields: Mapping[str, Any] = MappingProxyType({})
    source: str = ""


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
    """Return the entities at a path, in the order of the answer; an identifier that is null or absent is no entity.

    :param source: path of the source's identifier; empty where answers do not say it.
    :param subject: of the error: the tool.
    :raises ToolCallError: when the answer has another shape: no such list, or rows none of which has the identifier.
    """
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
    return [_row(place, below) for place in there if place.value is not None]


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
    if isinstance(value, dict):  # the path leads to objects: the whole object names itself
        value, fields = value.get("id", ""), value
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
