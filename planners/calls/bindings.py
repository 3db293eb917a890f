"""What goes in where and what comes out where of a tool: whether it does what is wanted, by its document, and the entities of its answer.

Names that the caller knows go first; then names that say an identifier of the wanted entity (``supplier_id``, ``buildings[].buildingId``),
formats, and at last what is the only one of its kind. The document alone decides; nothing is called.

A path such as ``messages[].id`` is made of names and of ``[]``, which stands for every item of a list; ``*`` stands for every member of an
object, whose name is then the row's source. A list without a name begins with ``[]``, or with ``result[]``, as documents of tools write it.
Of a list in a list that is a pair of a text and an object, the text is the row's source and the object the row.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from types import MappingProxyType
from typing import Any, NamedTuple

from egotools import Tool
from egotools.calling.input_arguments import kinds, properties_of, required_parts
from ontology.errors import ToolCallError
from ontology.names import canonical_name, identified_entity, noun_lemma, words

__all__ = [
    "AnswerRow", "Binding", "EntityName", "Misfit", "Paging", "Wanted", "answer_rows", "bind", "bind_count", "paging_of", "path_steps",
    "value_at",
]  # fmt: skip

_STEP = re.compile(r"\[\]|[^.\[\]]+")
_ROOT = "result"
_MEMBERS = "*"
_ITEMS = "[]"
_ABSENT = object()  # the value of a member that is not there
_FORMATS = frozenset({"uuid", "email", "uri"})
_BEGINNINGS = frozenset({"from", "after", "since", "start", "begin", "min"})
_ENDS = frozenset({"to", "before", "until", "end", "till", "max"})
_SOURCE_NAMES = (("source", "id"), ("source",), ("for", "id"))
_WRAPPERS = ("[]", "*", "result", "items", "data", "results", "value", "entity")
_LIMITS = (("limit",), ("page", "size"), ("max", "results"), ("per", "page"), ("top",), ("maximum", "results"))
_TOTALS = (("total",), ("total", "count"), ("count",), ("total", "results"), ("total", "items"), ("total", "size"))
_PARTS = ","


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
    """How a tool does it.

    :param takes: input that gets the identifiers; of an interval two, ``from,to``; empty where it takes none.
    :param is_list: whether that input takes a list of them; None where its schema does not say.
    :param gives: path of the identifiers in the output.
    :param source: path in the output of the source's identifier; empty where the answer does not say it.
    :param fields: field → input, of those fields that have one.
    :param every: input that the tool demands → what goes in where no filter does.
    :param exact: whether every name that the caller knew is one of the tool.
    :param reason: one sentence.
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
    required = schema.get("required")
    demanded = [str(name) for name in required] if isinstance(required, list) else []
    every = {name: text for hint, text in wanted.every.items() if (name := _named(inputs, hint)) in demanded}
    if short := [name for name, text in every.items() if _is_too_short(text, inputs[name], schema)]:
        return Misfit(f"{tool.id} wants more characters in {_listed(short)} than the words that find everything have")
    supplied = {*takes.name.split(_PARTS), *fields.values(), *every}
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
    known = all(wanted.fields[name] in ("", used) for name, used in fields.items())
    return Binding(
        takes=takes.name,
        is_list=None if allowed is None else "array" in allowed,
        gives=gives.name,
        source=source,
        fields=fields,
        every=every,
        exact=takes.exact and gives.exact and known,
        reason=f"{tool.id}: {'; '.join(said) or 'it takes nothing'}",
    )


def bind_count(tool: Tool, wanted: Wanted) -> Binding | Misfit:
    """Return how a tool counts the entities of ``wanted.target`` that meet conditions on their fields, or why it does not."""
    named = words(tool.name)
    if "count" not in named or not any(map(wanted.target.is_named, named)):
        return Misfit(f"{tool.id} does not count {wanted.target.names[0]} by its name")
    numbers = [each.name for each in tool.returns if each.type in ("integer", "number") and "[]" not in each.name]
    if len(numbers) != 1:
        return Misfit(f"{tool.id} gives {len(numbers)} numbers instead of one")
    fields = _fields(properties_of(tool.input_schema, tool.input_schema), wanted)
    return Binding(takes="", is_list=False, gives=numbers[0], fields=fields, reason=f"{tool.id} counts them")


def paging_of(tool: Tool) -> Paging:
    """Return how a tool gives long answers in parts: ``page_token`` and ``next_page_token``, ``offset`` and ``next_offset``, …"""
    inputs = {tuple(words(each.name)): each.name for each in tool.parameters if "." not in each.name}
    page = next_page = total = ""
    for each in tool.returns:
        leaf = () if "[]" in each.name else tuple(words(path_steps(each.name)[-1]))
        if leaf[:1] == ("next",) and leaf[1:] in inputs:
            page, next_page = inputs[leaf[1:]], each.name
        elif leaf in _TOTALS and each.type in ("integer", "number") and not total:
            total = each.name
    limit = next((inputs[name] for name in _LIMITS if name in inputs), "")
    return Paging(page, next_page, limit, total)


def _takes(inputs: Mapping[str, Any], root: Mapping[str, Any], wanted: Wanted, source: EntityName) -> _Match | None:
    parts = wanted.takes.split(_PARTS) if wanted.takes else []
    hinted = [_named(inputs, part) for part in parts]
    if parts and all(bool(found) == bool(part.strip()) for found, part in zip(hinted, parts, strict=True)):
        return _Match(_PARTS.join(hinted), "is the input that was asked for", exact=True)
    if source.interval and (both := _interval(inputs, root)):
        return _Match(both, f"bound the {source.names[0]}")
    typed = [name for name in inputs if _may_identify(inputs[name], root)]
    for name in typed:
        if source.is_identified(name) or source.is_named(name):
            return _Match(name, f"takes identifiers of {source.names[0]} by its name")
    own = [name for name in typed if words(name)[-1:] == words(source.identifier)[-1:]]
    formats = [name for name in typed if _format(inputs[name]) in _FORMATS & set(words(source.identifier))]
    for found, why in ((own, f"is called as {source.names[0]}'s {source.identifier}"), (formats, "has its format")):
        if len(found) == 1 and not identified_entity(found[0]):
            return _Match(found[0], why)
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


def _format(schema: Any) -> str:
    items = schema.get("items") if isinstance(schema, Mapping) else None
    inner = items if isinstance(items, Mapping) else schema
    return str(inner.get("format", "")) if isinstance(inner, Mapping) else ""


def _is_too_short(text: str, schema: Any, root: Any) -> bool:
    least = [part.get("minLength") for part in required_parts(schema, root)]
    return any(isinstance(each, int) and len(text) < each for each in least)


def _interval(inputs: Mapping[str, Any], root: Any) -> str:
    """Return the two inputs between which a time lies, or empty; there must be one pair of the same stem."""

    def stem(name: str, ends: Collection[str]) -> list[str] | None:
        parts = words(name)
        return [part for part in parts if part not in ends] if set(ends) & set(parts) else None

    begins = {name: stem(name, _BEGINNINGS) for name in inputs if _may_identify(inputs[name], root)}
    pairs = [(one, two) for one, its in begins.items() if its is not None for two in inputs if stem(two, _ENDS) == its]
    chosen = [pair for pair in pairs if "date" in _format(inputs[pair[0]])] or pairs
    return _PARTS.join(chosen[0]) if len(chosen) == 1 else ""


def _fields(inputs: Mapping[str, Any], wanted: Wanted) -> dict[str, str]:
    found = {}
    for name, hint in wanted.fields.items():
        parts = [_named(inputs, part) for part in (hint or name).split(_PARTS)]
        if all(parts):
            found[name] = _PARTS.join(parts)
    return found


def _gives(tool: Tool, wanted: Wanted) -> _Match | None:
    outputs, target = [each.name for each in tool.returns], wanted.target
    if wanted.gives:
        hint = _bare(wanted.gives)
        if any(hint in (_bare(name), _bare(f"{name}[]")) for name in outputs):
            return _Match(wanted.gives, "is the output that was asked for", exact=True)
        if not outputs:
            return _Match(wanted.gives, "was asked for, and its document describes no answer", exact=True)
    leaves = [(name, path_steps(name)) for name in outputs]
    by_fields = wanted.source is None  # what finds entities by their fields finds several
    named = [(name, steps) for name, steps in leaves if target.is_identified(steps[-1])]
    several = [pair for pair in leaves if "[]" in pair[1] or not by_fields]
    inside = [pair for pair in several if _in_list_of(pair[1][:-1], target)]
    own = [name for name, steps in inside if words(steps[-1]) == words(target.identifier)]
    by_name = f"gives identifiers of {target.names[0]} by its name"
    best = [name for name, steps in inside if (name, steps) in named]
    if best:
        return _Match(best[0], by_name)
    if own:
        return _Match(own[0], f"gives the {target.identifier} of {target.names[0]}")
    if named and not by_fields:  # in rows of another type it would filter by the fields of these
        return _Match(named[0][0], by_name)
    for each in tool.returns:
        inner = any(other.startswith((f"{each.name}.", f"{each.name}[")) for other in outputs if other != each.name)
        if each.type == "array" and target.is_named(path_steps(each.name)[-1]) and not inner:
            return _Match(f"{each.name}[]", f"is a list of {target.names[0]}")
    return None


def _bare(path: str) -> tuple[str, ...]:
    steps = path_steps(path)
    return steps[1:] if steps[:1] == ("result",) else steps


def _in_list_of(outer: Sequence[str], target: EntityName) -> bool:
    # By the name of its list or of itself; a bare list is.
    named = [step for step in outer if step not in _WRAPPERS]
    return not named or target.is_named(named[-1]) or target.is_named(noun_lemma(named[-1].lower()))


def _source(tool: Tool, source: EntityName, takes: str, gives: str) -> str:
    """Return the path at which each row says which of the given identifiers it belongs to, or empty."""
    *stem, last = words(takes) or [""]
    known = {*_SOURCE_NAMES, (*stem, noun_lemma(last))}
    steps_of_gives = path_steps(gives)
    if "*" in steps_of_gives or "[][]" in gives:
        return "*"  # the name of each member, or the first part of each pair
    for each in tool.returns:
        steps = path_steps(each.name)
        if "[]" not in steps or steps.count("[]") > steps_of_gives.count("[]") or _bare(each.name) == _bare(gives):
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
    """A value in an answer; the objects that it stands in, outermost first; the last member that ``*`` stood for, or first part of a pair."""

    value: Any
    outer: tuple[Mapping[str, Any], ...] = ()
    member: str = ""
    in_list: bool = False


@lru_cache(maxsize=4_096)
def path_steps(path: str) -> tuple[str, ...]:
    """Return the steps of a path: ``a.b[].c`` → ``a``, ``b``, ``[]``, ``c``."""
    return tuple(_STEP.findall(path))


def value_at(body: Any, path: str) -> Any:
    """Return the value at a path without lists, or None."""
    for step in path_steps(path):
        body = body.get(step) if isinstance(body, Mapping) else None
    return body


def answer_rows(body: Any, path: str, *, source: str = "", subject: str = "") -> list[AnswerRow]:
    """Return the entities at a path, in the order of the answer; an identifier that is null or absent is no entity.

    :param source: path of the source's identifier, which shares its beginning with ``path``; ``*`` where a step of ``path`` names it;
        empty where answers do not say it.
    :param subject: of the error: the tool.
    :raises ToolCallError: when the answer has another shape: no such list, or rows none of which has the identifier.
    """
    steps = path_steps(path)
    if steps[:1] == (_ROOT,) and not (isinstance(body, dict) and _ROOT in body):
        steps = steps[1:]
    places = [_Place(body)]
    for at, step in enumerate(steps):
        places = [inner for place in places for inner in _next(place, step, "".join(steps[: at + 1]), subject)]
        if not places:
            return []
    if all(place.value is _ABSENT for place in places) and any(place.outer for place in places):
        raise _other_shape(f"no row has {path}", subject)
    wanted = _after_common(path_steps(source), path_steps(path)) if source != _MEMBERS else ()
    return [_row(place, wanted) for place in places if place.value is not _ABSENT and place.value is not None]


def _next(place: _Place, step: str, so_far: str, subject: str) -> Iterator[_Place]:
    value = place.value
    if value is None or value is _ABSENT:
        yield place
    elif step == _ITEMS:
        if not isinstance(value, list):
            raise _other_shape(f"{so_far} is no list", subject)
        if place.in_list and len(value) == 2 and isinstance(value[0], str | int) and isinstance(value[1], dict):
            yield _Place(value[1], place.outer, str(value[0]))  # a pair: a source and its entity
            return
        yield from (_Place(item, place.outer, place.member, in_list=True) for item in value if item is not None)
    elif isinstance(value, list) and step.isdecimal():  # a pair that is written as a list
        outer = (*place.outer, {str(index): item for index, item in enumerate(value)})
        yield _Place(value[int(step)] if int(step) < len(value) else _ABSENT, outer, place.member)
    elif not isinstance(value, dict):
        raise _other_shape(f"what holds {so_far} is no object", subject)
    elif step == _MEMBERS:
        yield from (_Place(inner, (*place.outer, value), str(name)) for name, inner in value.items())
    elif step in value:
        yield _Place(value[step], (*place.outer, value), place.member)
    elif not place.outer and ("error" in value or any(isinstance(inner, dict | list) for inner in value.values())):
        raise _other_shape(f"it has no {step}", subject)
    else:  # of an optional member; an answer without any row may leave the list of them out, as Gmail's does
        yield _Place(_ABSENT, place.outer, place.member)


def _after_common(source: tuple[str, ...], path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the steps of a source after the last list that it shares with another path."""
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(source, path, strict=False))
    lists = [at for at, (step, _) in enumerate(shared, 1) if step in (_ITEMS, _MEMBERS)]
    return source[max(lists, default=0) :]


def _row(place: _Place, source: tuple[str, ...]) -> AnswerRow:
    value, outer, belongs = place.value, place.outer, "" if source else place.member
    fields: Mapping[str, Any] = outer[-1] if outer else {}
    if isinstance(value, dict):  # the path leads to objects: the whole object names itself
        value, fields = value.get("id", ""), value
    for start in reversed(outer) if source else ():  # of the innermost object that has it
        found: Any = start
        for step in source:
            found = found.get(step) if isinstance(found, dict) else None
        if isinstance(found, str | int | float):
            belongs = _text(found)
            break
    return AnswerRow(_text(value), fields, belongs)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _other_shape(what: str, subject: str) -> ToolCallError:
    return ToolCallError(f"the answer has another shape than its document says: {what}", subject=subject)
