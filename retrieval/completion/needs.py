"""What a tool needs before it can be called: a value for each input that other tools can supply, and tools that must go first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ontology.names import words
from ontology.tool import CONTEXT_PARAMETERS, Dependency
from retrieval.index.bm25 import terms
from retrieval.query.query import Clause, Query
from retrieval.snapshot.graph_views import supplier_edges
from retrieval.snapshot.reader import Snapshot

DEPENDS_ON, RESOLVED_BY, SUPPLIES = "depends_on", "resolved_by", "supplies"
_ORDER = {DEPENDS_ON: 0, RESOLVED_BY: 1, SUPPLIES: 2}
# A longer list of declared dependencies names what can come before a tool, not what it needs. What is concluded (a
# login) stays.
_MAX_DECLARED = 7


@dataclass(frozen=True, slots=True)
class Supplier:
    """A tool that meets a need."""

    tool: int  # its number
    predicate: str  # of the edge: ``depends_on``, ``resolved_by`` or ``supplies``
    output: str = ""  # the output that fills the input, or empty
    confidence: float = 1.0  # of the edge, in (0, 1]
    position: int = 0  # how many dependencies its author declares before it


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that a tool needs: a value for an input, or the effect of another tool."""

    parameter: str  # the input; empty for a tool that must be called before, whatever the inputs
    required: bool  # whether the tool cannot be called without
    # the tools any of which meets it: declared dependencies, resolvers, others, each by confidence
    suppliers: tuple[Supplier, ...]
    entity: str = ""  # canonical name of the entity that the input identifies, or empty
    field: str = ""  # the field of that entity, or empty


NeedsOf: TypeAlias = Callable[[int], Sequence[Need]]  # the needs of a tool, in a fixed order


def tool_needs(snapshot: Snapshot, predicates: Collection[str], tool: int) -> tuple[Need, ...]:
    """The needs of a tool that edges of these predicates meet: required ones first, then by name. A context parameter
    is none: its value comes with the request or from the caller's configuration."""
    name, required, declared, context = snapshot.tools.read(tool, _declarations)
    subject = frozenset(terms(name)) if not required else frozenset()
    found: defaultdict[tuple[str, int], list[_Meeting]] = defaultdict(list)
    for meeting in _meetings(snapshot, predicates, tool, declared):
        if meeting.parameter not in context:
            # A tool that must go first is a need of its own; the suppliers of an input are alternatives.
            found[meeting.parameter, -1 if meeting.parameter else meeting.supplier.tool].append(meeting)
    needs = [
        Need(
            parameter=parameter,
            # An input may identify what the name of its tool names: ``event_id`` of ``delete_event``, whose document
            # requires nothing.
            required=not parameter
            or parameter in required
            or any(subject.intersection(terms(each.entity)[-1:]) for each in meetings),
            suppliers=_best(each.supplier for each in meetings),
            entity=next((each.entity for each in meetings if each.entity), ""),
            field=next((each.field for each in meetings if each.field), ""),
        )
        for (parameter, _), meetings in found.items()
    ]
    return tuple(sorted(needs, key=lambda need: (not need.required, need.parameter, need.suppliers[0].tool)))


class _Meeting(NamedTuple):
    """An edge by which a supplier meets a need."""

    parameter: str
    entity: str
    field: str
    supplier: Supplier


def _declarations(row: Any) -> tuple[str, frozenset[str], tuple[Dependency, ...], frozenset[str]]:
    """The name, the required inputs, the declared dependencies and the context parameters of a tool."""
    context = row.get("metadata", {}).get(CONTEXT_PARAMETERS, ())
    return (
        row["name"],
        frozenset(parameter["name"] for parameter in row["parameters"] if parameter["required"]),
        tuple(
            Dependency(
                tool=each["tool"],
                parameter=each.get("parameter", ""),
                output=each.get("output", ""),
                required=each.get("required", True),
            )
            for each in row.get("depends_on", ())
        ),
        frozenset(name for name in context if isinstance(name, str)),
    )


def _best(suppliers: Iterable[Supplier]) -> tuple[Supplier, ...]:
    """The best edge of each supplier, in the order of :attr:`Need.suppliers`."""
    found: dict[int, Supplier] = {}
    for each in sorted(suppliers, key=lambda each: (_ORDER[each.predicate], -each.confidence, each.tool)):
        found.setdefault(each.tool, each)
    return tuple(found.values())


def _meetings(
    snapshot: Snapshot, predicates: Collection[str], tool: int, declared: Sequence[Dependency]
) -> Iterator[_Meeting]:
    needed = [each for each in declared if each.required]
    # Needed tool → what is declared of it, with the place of the tool among those that are declared.
    kept: dict[int, list[tuple[int, Dependency]]] = {}
    for each in needed if len(needed) <= _MAX_DECLARED else ():
        number = snapshot.find_node(f"tool:{each.tool}")
        if number is not None:
            position = kept[number][0][0] if number in kept else len(kept)
            kept.setdefault(number, []).append((position, each))
    for edge, other, predicate in supplier_edges(snapshot, tool, predicates):
        confidence = float(snapshot.adjacency.confidences[edge])
        if confidence <= 0:
            continue
        record = snapshot.edges[edge]
        if predicate == DEPENDS_ON and record.key == DEPENDS_ON:
            for position, each in kept.get(other, ()):
                parameter = each.parameter if each.output else ""
                yield _Meeting(parameter, "", "", Supplier(other, predicate, each.output, confidence, position))
        elif predicate != SUPPLIES or record.entity:
            # A request mostly states its plain values, such as a position or a text.
            supplier = Supplier(other, predicate, record.output, confidence)
            yield _Meeting(record.parameter, record.entity, record.field, supplier)


# Kinds of value that identify something; which entity, the kind does not say.
_IDENTIFIERS = frozenset({"identifier", "uuid", "arn", "hex digest"})
# Words before a value that make it an identifier, whatever its kind. Found on the sets gtc and sealtools.
_MARKS = frozenset({"id", "identifier", "number", "no", "nr", "code", "key", "ref", "reference"})
_NAMES = frozenset({"name", "title"})  # fields that a request states in words
# Kinds of value that are the field of an entity. Chosen, not tuned.
_ADDRESSES = frozenset({"arn", "domain", "email", "iban", "ip", "phone"})
_SECRET = "token"  # the field of a session: no request states its value
_BEFORE = 4  # words before a value that say what it identifies: "purchase order number 4711". Chosen, not tuned
_BEFORE_CHARS = 80


class GivenInputs:
    """The inputs that the values of one request give. A value that has a shape of the snapshot, or whose noun is before
    it ("order 4711"), gives the inputs of its entity. An identifier of which neither is known gives one input of the
    tool that is asked for in its clause."""

    def __init__(self, query: Query, *, named: bool = False) -> None:
        self.named = named
        self._terms = frozenset(query.terms)
        self._entities: set[str] = set()
        self._uses: set[tuple[int, str]] = set()
        self._addresses = _ADDRESSES & {value.kind for value in query.values}
        self._nouns: set[str] = set()
        self._loose: set[int] = set()
        for value in query.values:
            self._uses.update((use.tool, use.parameter) for match in value.matches for use in match.uses)
            exact = [match for match in value.matches if not match.shape.kind]
            own = {use.entity for match in exact for use in match.uses if use.entity and not use.is_widened}
            self._entities |= own
            before = words(query.text[max(0, value.start - _BEFORE_CHARS) : value.start])[-_BEFORE:]
            if not own and (value.kind in _IDENTIFIERS or not _MARKS.isdisjoint(before[-2:])):
                self._nouns.update(terms(" ".join(before)))
                self._loose.add(value.start)

    def gives(self, tool: int, need: Need) -> bool:
        """Whether a value of known entity fits this input of a tool."""
        if not need.parameter or need.field == _SECRET:
            return False
        if need.field in _NAMES:
            return True
        return (
            (tool, need.parameter) in self._uses
            or need.entity in self._entities
            or need.field in self._addresses
            or not self._nouns.isdisjoint(terms(need.entity)[-1:])
        )

    def speaks_of(self, need: Need) -> bool:
        """Whether the request has a word of the entity or of the name of an input, or a name that a resolver takes."""
        if self.named and need.suppliers[0].predicate == RESOLVED_BY:
            return True
        return not self._terms.isdisjoint(terms(f"{need.entity} {need.parameter}"))

    def loose(self, parts: Collection[Clause]) -> int:
        """How many identifiers of unknown entity one of some clauses has at most: each gives one input."""
        return max((sum(value.start in self._loose for value in part.values) for part in parts), default=0)

    def open_needs(self, tool: int, needs: Sequence[Need], parts: Collection[Clause]) -> list[Need]:
        """The needs of a tool that the request leaves open."""
        loose = self.loose(parts)
        found: list[Need] = []
        for need in needs:
            if self.gives(tool, need) or not (need.required or self.speaks_of(need)):
                continue
            if loose and need.parameter and need.field != _SECRET:
                loose -= 1
                continue
            found.append(need)
        return found
