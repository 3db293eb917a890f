"""What a query graph means under a domain: its faults, each with what is allowed instead, its ordinals, and how its filters compare."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date
from typing import Any

from ontology.errors import InvalidArgumentError
from planners.query.dates import read_range
from planners.query.domain import Domain
from planners.query.query_graph import EdgeConstraint, FilterConstraint, QueryGraph, words_of

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_BARE = str.maketrans("łŁøØđĐı", "lLoOdDi")  # letters whose stroke is no accent
_WORDS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_PLACES = {word: at for at, word in enumerate(_WORDS)} | {"earliest": 0, "oldest": 0}
_LAST = {"last", "latest", "newest", "most recent"}
_NUMBER = re.compile(r"(\d{1,6})(?:st|nd|rd|th)?")
_SEVERAL = re.compile(r"(first|last) ([1-9]\d{0,3})")


def graph_faults(graph: QueryGraph, domain: Domain) -> tuple[str, ...]:
    """Return the faults of a graph, one sentence each, in the order of the graph; empty for a graph that can be executed."""
    return (
        *_variables(graph, domain),
        *(fault for each in graph.edges for fault in _edge(each, graph, domain)),
        *(fault for each in graph.filters for fault in _filter(each, graph, domain)),
        *_beyond_the_paper(graph, domain),
    )


def _variables(graph: QueryGraph, domain: Domain) -> Iterator[str]:
    for var, kind in graph.vars.items():
        if kind not in domain.types:
            yield f"The variable {var} has the unknown type {kind}; the types are {', '.join(domain.types)}."
    if graph.return_var not in graph.vars:
        yield f"The return variable {graph.return_var} is not in vars."
        return
    reached = graph.reached(graph.return_var)
    for var in [each for each in graph.vars if each not in reached]:
        yield f"No path of edges joins the variable {var} to the return variable {graph.return_var}."


def _edge(edge: EdgeConstraint, graph: QueryGraph, domain: Domain) -> Iterator[str]:
    written, source, target = words_of(edge), graph.vars.get(edge.source, ""), graph.vars.get(edge.target, "")
    if not source or not target:
        yield f"The edge {written} names the variable {edge.target if source else edge.source}, which is not in vars."
        return
    if edge.source == edge.target:
        yield f"The edge {written} leads from a variable to itself."
    if not {source, target} <= domain.types.keys() or domain.edge(edge.edge, source, target):
        return
    if domain.edge(edge.edge, target, source):
        yield f"The edge {written} is the wrong way round: it leads from {target} to {source}."
        return
    allowed = [f"{a} {name} {b}" for a, name, b in domain.signatures() if {a, b} == {source, target}]
    between = f"allowed between them: {', '.join(allowed)}" if allowed else "no edge joins these types"
    yield f"The edge {written} does not lead from {source} to {target}; {between}."


def _filter(each: FilterConstraint, graph: QueryGraph, domain: Domain) -> Iterator[str]:
    kind = graph.vars.get(each.var)
    if kind is None:
        yield f"The filter on {each.var}.{each.field} names a variable that is not in vars."
        return
    if kind not in domain.types:
        return
    known = domain.types[kind].fields.get(each.field)
    if known is None:
        allowed = ", ".join(domain.types[kind].fields) or "none"
        yield f"The type {kind} of {each.var} has no field {each.field} to filter by; its fields: {allowed}."
    elif not {each.op, each.op.removesuffix("=")} & {*known.operators}:
        operators = ", ".join(known.operators)
        yield f"The field {each.field} of {each.var} does not take the operator {each.op}; it takes {operators}."
    elif not all(str(value).strip() for value in each.values):
        yield f"The filter on {each.var}.{each.field} has an empty value."
    elif each.others and known.kind in ("date", "ordinal"):
        yield f"The filter on {each.var}.{each.field} has alternatives, which dates and ordinals have not."


def _beyond_the_paper(graph: QueryGraph, domain: Domain) -> Iterator[str]:
    """What excludes must be all that joins two parts; calls of tools answer no groups, orders by a measure, and steps."""
    for edge in [each for each in graph.edges if each.negated]:
        beside = [each for each in graph.edges if {each.source, each.target} == {edge.source, edge.target}]
        both = domain.extended and len(beside) > 1  # "take but do not return"
        if not both and edge.target in graph.reached(edge.source, without=edge):
            yield f"The negated edge {words_of(edge)} stands in a circle of edges."
        if not domain.extended and graph.return_var not in (edge.source, edge.target):
            yield "Only what is asked for can be without something, not what it is joined to."
    if domain.extended:
        return
    if graph.action not in ("find", "count") or graph.measure or graph.show:
        yield "Groups, measures and orders cannot be answered by calling tools; ask for all of them."
    if any(edge.max_hops > 1 or edge.only for edge in graph.edges):
        yield 'Steps and "only" cannot be answered by calling tools.'


def read_ordinal(value: str | int | float | bool) -> slice:
    """Return the places of a list that an ordinal means.

    :param value: a word (``third``), a number (``3``, ``3rd``), one of these with ``to last``, or several (``last 3``, ``first 5``).
    :raises InvalidArgumentError: when it is no ordinal.
    """
    text = " ".join(str(value).split()).casefold()
    if several := _SEVERAL.fullmatch(text):
        return slice(int(several[2])) if several[1] == "first" else slice(-int(several[2]), None)
    word = text.removesuffix(" to last")
    number = _NUMBER.fullmatch(word)
    place = 0 if text in _LAST else int(number[1]) - 1 if number else _PLACES.get(word, -1)
    if place < 0:
        remedy = "Write first, last, third, 3rd, last 3 or second to last"
        raise InvalidArgumentError(f"{value!r} is no ordinal", subject="ordinal", remedy=remedy)
    if text in _LAST or word != text:
        return slice(-place - 1, -place or None)
    return slice(place, place + 1)


def compare(value: Any, op: str, wanted: str | int | float | bool) -> bool:
    """Whether ``value op wanted`` holds, where ``op`` is ``contains``, ``=``, ``<``, ``>``, ``<=`` or ``>=``: by number
    where both are numbers, else by text, see :func:`folded`."""
    number, limit = _number(value), _number(wanted)
    if op != "contains" and number is not None and limit is not None:
        return _COMPARED[op](number, limit)
    text, other = folded(str(value)), folded(str(wanted))
    return other in text if op == "contains" else _COMPARED[op](text, other)


def folded(text: str) -> str:
    """Return a text as it is compared: without case, accents, width of letters, and kinds and number of blanks."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text).translate(_BARE)
        text = "".join(char for char in text if not unicodedata.combining(char))
    return " ".join(text.casefold().split())


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):  # the latter of an integer of 310 digits
        return None


def date_notes(graph: QueryGraph, domain: Domain, today: date) -> tuple[str, ...]:
    """How each date of a graph without faults is read, one sentence each."""
    return tuple(
        read_range(str(each.value), today, each.op).said
        for each in graph.filters
        if each.op in ("=", "<", ">") and domain.types[graph.vars[each.var]].fields[each.field].kind == "date"
    )


def holds(value: Any, each: FilterConstraint) -> bool:
    """Whether a value meets a filter that is not by date; of a list, whether one of its values does."""
    return any(compare(one, each.op, wanted) for one in listed(value) for wanted in each.values)


def listed(value: Any) -> Collection[Any]:
    """A value as a list of values."""
    return value if isinstance(value, list | tuple) else [value]
