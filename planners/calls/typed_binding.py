"""Whether a tool does what is wanted, by the types and names of its inputs and outputs: what goes in where, what comes out where.

Names that the caller knows go first; then names that say an identifier of the wanted entity (``supplier_id``, ``buildings[].buildingId``),
formats, and at last what is the only one of its kind. The document alone decides; nothing is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from egotools import Tool
from egotools.calling.schema_kinds import kinds, properties_of, required_parts
from ontology.names import canonical_name, identified_entity, noun_lemma, words
from planners.calls.answer_rows import path_steps

__all__ = ["Binding", "EntityName", "Misfit", "Wanted", "bind", "bind_count"]

_FORMATS = frozenset({"uuid", "email", "uri"})
_BEGINNINGS = frozenset({"from", "after", "since", "start", "begin", "min"})
_ENDS = frozenset({"to", "before", "until", "end", "till", "max"})
_SOURCE_NAMES = ("source_id", "source", "for_id")
_PARTS = ","


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityName:
    """A type of entity as documents may write it.

    :param names: its name and its nouns (``Purchase order``, ``order``).
    :param identifier: field that names an entity for good (``id``, ``url``).
    :param interval: whether its identifiers are intervals of time, for inputs with a beginning and an end.
    """

    names: tuple[str, ...]
    identifier: str = "id"
    interval: bool = False

    @property
    def canonical(self) -> frozenset[str]:
        """Its names in canonical form."""
        return frozenset(canonical_name(name) for name in self.names) - {""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a tool shall do.

    :param source: whose identifiers go in; None where the tool shall find entities by their fields.
    :param target: what comes out.
    :param takes: the input that gets the identifiers, where the caller knows it; two of an interval, ``from,to``, of which one may
        be empty.
    :param gives: path of the identifiers in the output, where the caller knows it.
    :param fields: field → input that filters by it, where the caller knows it; the same name where the value is empty.
    :param every: input → words in it that find everything, where the caller knows them.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """Why a tool does not do it, one sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Match:
    name: str
    why: str
    exact: bool = False


def bind(tool: Tool, wanted: Wanted) -> Binding | Misfit:
    """Return how a tool does what is wanted, or why it does not."""
    schema = tool.input_schema
    inputs = properties_of(schema, schema)
    takes = _takes(inputs, schema, wanted) if wanted.source is not None else _Match("", "", exact=True)
    if takes is None:
        source = wanted.source.names[0] if wanted.source else ""
        return Misfit(reason=f"no input of {tool.id} takes identifiers of {source}; it has {_listed(inputs)}")
    fields = _fields(inputs, wanted)
    required = schema.get("required")
    demanded = [str(name) for name in required] if isinstance(required, list) else []
    every = {name: text for hint, text in wanted.every.items() if (name := _named(inputs, hint)) in demanded}
    if short := [name for name, text in every.items() if _is_too_short(text, inputs[name], schema)]:
        return Misfit(
            reason=f"{tool.id} wants more characters in {_listed(short)} than the words that find everything have"
        )
    supplied = {*takes.name.split(_PARTS), *fields.values(), *every}
    if open_inputs := [name for name in demanded if name not in supplied]:
        return Misfit(reason=f"{tool.id} also needs {_listed(open_inputs)}, which nothing here supplies")
    gives = _gives(tool, wanted)
    if gives is None:
        outputs = [each.name for each in tool.returns]
        return Misfit(
            reason=f"no output of {tool.id} gives identifiers of {wanted.target.names[0]}; it has {_listed(outputs)}"
        )
    allowed = kinds(inputs.get(takes.name, {}), schema)
    source = _source(tool, wanted, takes.name, gives.name) if wanted.source is not None else ""
    said = [f"{each.name} {each.why}" for each in (takes, gives) if each.why]
    said += [f"{name} is {text!r} where there is nothing to search for" for name, text in every.items()]
    if source:
        said.append(f"each row names its source in {source}")
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
    if "count" not in words(tool.name) or not wanted.target.canonical & {
        canonical_name(each) for each in words(tool.name)
    }:
        return Misfit(reason=f"{tool.id} does not count {wanted.target.names[0]} by its name")
    numbers = [each.name for each in tool.returns if each.type in ("integer", "number") and "[]" not in each.name]
    if len(numbers) != 1:
        return Misfit(reason=f"{tool.id} gives {len(numbers)} numbers instead of one")
    schema = tool.input_schema
    fields = _fields(properties_of(schema, schema), wanted)
    return Binding(takes="", is_list=False, gives=numbers[0], fields=fields, reason=f"{tool.id} counts them")


def _takes(inputs: Mapping[str, Any], root: Mapping[str, Any], wanted: Wanted) -> _Match | None:
    source = wanted.source
    if source is None:
        return None
    parts = wanted.takes.split(_PARTS) if wanted.takes else []
    hinted = [_named(inputs, part) for part in parts]
    if parts and all(bool(found) == bool(part.strip()) for found, part in zip(hinted, parts, strict=True)):
        return _Match(_PARTS.join(hinted), "is the input that was asked for", exact=True)
    if source.interval and (both := _interval(inputs, root)):
        return _Match(both, f"bound the {source.names[0]}")
    typed = {name for name in inputs if _may_identify(inputs[name], root)}
    for name in inputs:
        if name in typed and (identified_entity(name) in source.canonical or canonical_name(name) in source.canonical):
            return _Match(name, f"takes identifiers of {source.names[0]} by its name")
    own = [name for name in inputs if name in typed and words(name)[-1:] == words(source.identifier)[-1:]]
    formats = [name for name in typed if _format(inputs[name]) in _FORMATS & set(words(source.identifier))]
    for found, why in ((own, f"is called as {source.names[0]}'s {source.identifier}"), (formats, "has its format")):
        if len(found) == 1 and not identified_entity(found[0]):
            return _Match(found[0], why)
    if not inputs and not wanted.takes:
        return _Match("", "", exact=True)
    required = [name for name in inputs if name in (root.get("required") or ())]
    if len(required) == 1 and required[0] in typed and not identified_entity(required[0]) and len(typed) == 1:
        return _Match(required[0], "is its only input that can take an identifier")
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
    pairs = []
    for name in inputs:
        parts = words(name)
        if not _BEGINNINGS & set(parts) or not _may_identify(inputs[name], root):
            continue
        stem = [part for part in parts if part not in _BEGINNINGS]
        for other in inputs:
            its = words(other)
            if _ENDS & set(its) and [part for part in its if part not in _ENDS] == stem:
                pairs.append((name, other))
    dated = [pair for pair in pairs if "date" in _format(inputs[pair[0]])]
    chosen = dated or pairs
    return _PARTS.join(chosen[0]) if len(chosen) == 1 else ""


def _fields(inputs: Mapping[str, Any], wanted: Wanted) -> dict[str, str]:
    found = {}
    for name, hint in wanted.fields.items():
        parts = [_named(inputs, part) for part in (hint or name).split(_PARTS)]
        if all(parts):
            found[name] = _PARTS.join(parts)
    return found


def _gives(tool: Tool, wanted: Wanted) -> _Match | None:
    outputs = [each.name for each in tool.returns]
    if wanted.gives:
        hint = _bare(wanted.gives)
        same = next((name for name in outputs if _bare(name) == hint or _bare(f"{name}[]") == hint), None)
        if same is not None:
            return _Match(wanted.gives, "is the output that was asked for", exact=True)
        if not outputs:
            return _Match(wanted.gives, "was asked for, and its document describes no answer", exact=True)
    return _gives_by_name(tool, wanted) or _list_of_identifiers(tool, wanted.target)


def _gives_by_name(tool: Tool, wanted: Wanted) -> _Match | None:
    target = wanted.target
    leaves = [(each.name, path_steps(each.name)) for each in tool.returns]
    if wanted.source is None:  # what finds entities by their fields finds several
        leaves = [(name, steps) for name, steps in leaves if "[]" in steps]
    named = f"gives identifiers of {target.names[0]} by its name"
    for name, steps in leaves:
        if identified_entity(steps[-1]) in target.canonical and _in_list_of(steps[:-1], target):
            return _Match(name, named)
    for name, steps in leaves:
        if words(steps[-1]) == words(target.identifier) and _in_list_of(steps[:-1], target):
            return _Match(name, f"gives the {target.identifier} of {target.names[0]}")
    if wanted.source is None:  # in rows of another type it filters by the fields of these
        return None
    return next(
        (_Match(name, named) for name, steps in leaves if identified_entity(steps[-1]) in target.canonical), None
    )


def _list_of_identifiers(tool: Tool, target: EntityName) -> _Match | None:
    outputs = [each.name for each in tool.returns]
    for each in tool.returns:
        leaf = path_steps(each.name)[-1]
        if each.type == "array" and canonical_name(leaf) in target.canonical and not _has_inner(each.name, outputs):
            return _Match(f"{each.name}[]", f"is a list of {target.names[0]}")
    return None


def _bare(path: str) -> tuple[str, ...]:
    steps = path_steps(path)
    return steps[1:] if steps[:1] == ("result",) else steps


def _in_list_of(outer: Sequence[str], target: EntityName) -> bool:
    """Whether the object that an identifier stands in is the entity, by the name of its list or of itself; a bare list is."""
    named = [step for step in outer if step not in ("[]", "*", "result", "items", "data", "results", "value", "entity")]
    return (
        not named or canonical_name(named[-1]) in target.canonical or noun_lemma(named[-1].lower()) in target.canonical
    )


def _has_inner(name: str, outputs: Sequence[str]) -> bool:
    return any(other.startswith((f"{name}.", f"{name}[")) for other in outputs if other != name)


def _source(tool: Tool, wanted: Wanted, takes: str, gives: str) -> str:
    """Return the path at which each row says which of the given identifiers it belongs to, or empty."""
    if wanted.source is None or not takes:
        return ""
    known = {tuple(words(name)) for name in _SOURCE_NAMES} | {_singular(takes)}
    steps_of_gives = path_steps(gives)
    if "*" in steps_of_gives or "[][]" in gives:
        return "*"  # the name of each member, or the first part of each pair
    for each in tool.returns:
        steps = path_steps(each.name)
        shared = [step for step in steps if step == "[]"] == [step for step in steps_of_gives if step == "[]"][
            : steps.count("[]")
        ]
        if _bare(each.name) == _bare(gives) or "[]" not in steps or not shared:
            continue
        if tuple(words(steps[-1])) in known or identified_entity(steps[-1]) in wanted.source.canonical:
            return each.name
    return ""


def _singular(name: str) -> tuple[str, ...]:
    parts = words(name)
    return tuple([*parts[:-1], noun_lemma(parts[-1])]) if parts else ()


def _listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    shown = list(names)[:12]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "") if shown else "none"
