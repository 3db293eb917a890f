"""Labelled requests, their tool paths, and the edges between tools."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

MAX_TOOLS = 5  # maximum number of tools of a path of the six classes

# ``R-P``: an output of one tool fills an input of another. ``P-P``: their inputs are similar; only requests of earlier
# versions have it.
EdgeKind = Literal["R-P", "P-P"]
# One tool; each feeds the next; two or more feed one; one feeds two or more; parts that do not need each other, each of
# which may be a chain of its own
Shape = Literal["single", "chain", "join", "fan", "set"]
# The six classes of the paper's section 4.1: one request without steps; independent requests in any order; dependent
# steps, the dependence stated; dependent steps, the dependence to be inferred; an action under a stated condition; a
# question of general knowledge beside a personal action
CLASSES = (
    "single-intent",
    "multi-intent",
    "explicit-multi-step",
    "implicit-multi-step",
    "conditional-multi-step",
    "ir-multi-intent",
)
# Classes whose tools depend on each other
DEPENDENT_CLASSES = frozenset(("explicit-multi-step", "implicit-multi-step", "conditional-multi-step"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PathEdge:
    """An edge between two tools.

    :param source: id of the tool that is called first; for a P-P edge the smaller id.
    :param target: id of the tool that is called after it.
    :param output: the output that fills the input, as documented or inferred; the input of ``source`` for P-P.
    :param parameter: the input of ``target``.
    :param confidence: in [0, 1].
    :param reason: the reason, one sentence without a full stop.
    """

    kind: EdgeKind
    source: str
    target: str
    output: str
    parameter: str
    confidence: float
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPath:
    """One to five distinct tools.

    :param tools: ids, in an order in which they can be called.
    :param edges: the edges of the path; none for the shape ``single``.
    :param alternatives: for each tool, in their order, the ids of other tools that would do equally; empty where no tool
        has any. None of them is a tool of the path.
    """

    tools: tuple[str, ...]
    edges: tuple[PathEdge, ...] = ()
    shape: Shape = "single"
    alternatives: tuple[tuple[str, ...], ...] = ()

    @property
    def slots(self) -> tuple[tuple[str, ...], ...]:
        """The gold set: for each tool the tool itself, then its alternatives."""
        others = self.alternatives or ((),) * len(self.tools)
        return tuple((tool, *further) for tool, further in zip(self.tools, others, strict=True))

    @property
    def id(self) -> str:
        """12 hex digits of the SHA-256 of the sorted slots: requests with the same path id have the same gold set.

        It does not depend on which tool of a slot is first.
        """
        slots = sorted("\t".join(sorted(slot)) for slot in self.slots)
        return hashlib.sha256("\n".join(slots).encode()).hexdigest()[:12]

    @property
    def rp_pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of tools, (source, target), of its R-P edges."""
        return frozenset((edge.source, edge.target) for edge in self.edges if edge.kind == "R-P")

    def into(self, tool_id: str) -> tuple[PathEdge, ...]:
        """Return the R-P edges that fill inputs of a tool."""
        return tuple(edge for edge in self.edges if edge.kind == "R-P" and edge.target == tool_id)


@dataclass(frozen=True)
class ToolLinks:
    """Edges in a fixed order."""

    edges: tuple[PathEdge, ...] = ()

    def __len__(self) -> int:
        return len(self.edges)

    def __iter__(self) -> Iterator[PathEdge]:
        return iter(self.edges)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of tools, (source, target), that an edge connects."""
        return frozenset((edge.source, edge.target) for edge in self.edges)

    def out_of(self, tool_id: str) -> tuple[PathEdge, ...]:
        """Return the outgoing edges of a tool, in order."""
        return self._by_source.get(tool_id, ())

    def into(self, tool_id: str) -> tuple[PathEdge, ...]:
        """Return the incoming edges of a tool, in order."""
        return self._by_target.get(tool_id, ())

    def between(self, source: str, target: str) -> tuple[PathEdge, ...]:
        """Return the edges from one tool to another, in order."""
        return tuple(edge for edge in self.out_of(source) if edge.target == target)

    @cached_property
    def _by_source(self) -> Mapping[str, tuple[PathEdge, ...]]:
        return self._grouped(lambda edge: edge.source)

    @cached_property
    def _by_target(self) -> Mapping[str, tuple[PathEdge, ...]]:
        return self._grouped(lambda edge: edge.target)

    def _grouped(self, end: Callable[[PathEdge], str]) -> Mapping[str, tuple[PathEdge, ...]]:
        found: dict[str, list[PathEdge]] = defaultdict(list)
        for edge in self.edges:
            found[end(edge)].append(edge)
        return {tool: tuple(edges) for tool, edges in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleValue:
    """A value that a request states for an input.

    :param value: exactly as in the request (``last quarter``, ``over $1M``).
    :param typed: as a call would have it (``2026-12-24``, ``IN_PROGRESS``); empty where it is not recorded.
    """

    tool: str
    parameter: str
    value: str
    typed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of one check.

    :param check: ``class``, ``sequence`` or ``error``.
    :param reason: one sentence without a full stop, also for a passed check.
    :param by: versioned name of the validator, ``rules.v1``.
    """

    check: str
    passed: bool
    reason: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticRequest:
    """One labelled request.

    :param id: unique in its set.
    :param request_class: one of :data:`CLASSES`.
    :param values: the values that the request states for inputs; at least one, unless no tool of the path has an input.
    :param generator: versioned name of its writer; ``hand`` for a request that was written without datagen.
    :param needs: what an agent would search for, a phrase for each tool of the path, without the names of tools; perhaps none.
    :param names: names in the text by which a thing is found, and which no input takes.
    """

    id: str
    text: str
    request_class: str
    path: ToolPath
    values: tuple[SampleValue, ...] = ()
    generator: str = ""
    verdicts: tuple[Verdict, ...] = ()
    needs: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: a row of ``queries.jsonl``.

        ``tools`` has an entry for each tool of the path, in their order: its id, or a list of it and of the tools that would
        do equally.
        """
        return {
            "id": self.id,
            "query": self.text,
            "tools": [slot[0] if len(slot) == 1 else list(slot) for slot in self.path.slots],
            "class": self.request_class,
            "path_id": self.path.id,
            "shape": self.path.shape,
            "edges": [asdict(edge) for edge in self.path.edges],
            "values": [asdict(value) for value in self.values],
            "generator": self.generator,
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
            **({"names": list(self.names)} if self.names else {}),
            **({"needs": list(self.needs)} if self.needs else {}),
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> SyntheticRequest:
        """Return the request for a JSON form; only id, query, tools and class are required."""
        slots = [(slot,) if isinstance(slot, str) else tuple(slot) for slot in row["tools"]]
        alternatives = tuple(slot[1:] for slot in slots)
        path = ToolPath(
            tools=tuple(slot[0] for slot in slots),
            edges=tuple(PathEdge(**edge) for edge in row.get("edges", ())),
            shape=row.get("shape", "single" if len(slots) == 1 else "chain"),
            alternatives=alternatives if any(alternatives) else (),
        )
        return cls(
            id=row["id"],
            text=row["query"],
            request_class=row["class"],
            path=path,
            values=tuple(SampleValue(**value) for value in row.get("values", ())),
            generator=row.get("generator", ""),
            verdicts=tuple(Verdict(**verdict) for verdict in row.get("verdicts", ())),
            names=tuple(row.get("names", ())),
            needs=tuple(row.get("needs", ())),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedRequest:
    """A rejection: a row of ``rejected.jsonl``.

    :param stage: ``outputs``, ``path``, ``sequence``, ``generate``, ``validate`` or ``diversity``.
    :param subject: its tools, in their order.
    :param reason: one sentence without a full stop.
    :param text: the written text, if there is one.
    :param final: whether the path is not tried again: another attempt would give none either.
    """

    stage: str
    subject: tuple[str, ...]
    reason: str
    request_class: str = ""
    text: str = ""
    final: bool = False
