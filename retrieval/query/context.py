"""The context of one request: what the stages of retrieval read, and where they record what they find."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from inference.encoder import Encoder
from ontology.errors import ModelError
from retrieval.index.vectors import NodeVectors
from retrieval.query.named_tools import named_tools
from retrieval.query.query import Clause, Query, analyse, analyse_needs
from retrieval.query.request import Request
from retrieval.query.supporting_tool import SupportingTool
from retrieval.query.typed_values import TypedValue, find_values
from retrieval.query.value_tools import support_by_values
from retrieval.snapshot.reader import Snapshot

__all__ = ["EntryNode", "QueryContext", "executed_tools"]

_T = TypeVar("_T")
_MAX_NAMED, _MAX_NAMED_CHARS = 5, 100  # unknown ids that a fallback names


@dataclass(frozen=True, slots=True)
class EntryNode:
    """A node that the request matches.

    :param node: its number.
    :param kind: ``semantic`` or ``ngram``.
    :param text: the n-gram, or empty for a semantic match.
    :param score: cosine in [-1, 1], or the n-gram's inverse document frequency over the tools, > 0.
    """

    node: int
    kind: str
    text: str
    score: float


@dataclass(slots=True, kw_only=True)
class QueryContext:
    """One request on its way through the stages, in one thread.

    :param snapshot: the snapshot that answers.
    :param query: the analysed request.
    :param allowed: the nodes that the request may see, bool [nodes]; None allows all.
    :param entries: the entry nodes, once they are known.
    :param candidates: numbers of the candidate tools, ascending, int64, once they are known.
    :param named: for each name of tools that the request says the tools that have it; empty where values are not typed.
    :param done: numbers of the tools that the caller has executed already.
    :param clauses_CT: how well each candidate matches each clause, z-scores, float32 [clauses, candidates];
        None until they are computed.
    :param supporting: the tools that must be called before those that answer, with the reasons, once they are known.
    :param past_sessions: tool number → how many of the nearest past requests used it.
    :param fallbacks: what was left out and why, one sentence each.
    :param timings_ms: stage → milliseconds.
    """

    request: Request
    snapshot: Snapshot
    query: Query = field(init=False)
    allowed: NDArray[np.bool_] | None = field(init=False)
    entries: list[EntryNode] = field(default_factory=list)
    candidates: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    named: tuple[tuple[int, ...], ...] = ()
    done: frozenset[int] = frozenset()
    clauses_CT: Floats2d | None = None
    supporting: tuple[SupportingTool, ...] = ()
    past_sessions: dict[int, int] = field(default_factory=dict)
    fallbacks: list[str] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)
    _ego_tools: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    _cosines: dict[str, list[Floats1d]] = field(default_factory=dict)
    _support: dict[tuple[tuple[int, int], ...], dict[int, float]] = field(default_factory=dict)
    _once: dict[Hashable, Any] = field(default_factory=dict)
    _started: float = field(default_factory=time.perf_counter)

    @classmethod
    def begin(
        cls,
        request: Request,
        snapshot: Snapshot,
        encoder: Encoder | None,
        *,
        decomposed: bool = False,
        typed: bool = False,
    ) -> QueryContext:
        """Analyse a request and apply its filters. Without a working encoder the query has no vectors.

        :param decomposed: whether the clauses of the request are analysed too.
        :param typed: whether its values are typed, and not matched as words.
        """
        context = cls(request=request, snapshot=snapshot)
        with context.stage("encode"):
            texts = request.parts if request.needs else (request.query,)
            values = [find_values(text, snapshot.value_shapes) if typed else None for text in texts]
            if request.needs:
                needs = len(set(request.needs))
                analysed = partial(analyse_needs, texts, values=values, needs=needs, decomposed=decomposed)
            else:
                analysed = partial(analyse, request.query, values=values[0], decomposed=decomposed)
            known = snapshot.abbreviations
            query = context.attempt(lambda: analysed(encoder, known), "no semantic matching")
            context.query = analysed(None, known) if query is None else query
        with context.stage("entry"):
            context.allowed = snapshot.allowed(request.filters)
            if context.allowed is not None and not context.allowed[: snapshot.tool_count].any():
                context.fallbacks.append("no tool passes all filters")
            if typed and not request.needs:
                context.named = named_tools(snapshot, request.query, context.allowed)
            context.done, unknown = executed_tools(snapshot, request.done)
            context.fallbacks += unknown
        return context

    def parts(self, *, typed: bool = False) -> list[QueryContext]:
        """The context of each part of a request over needs, which is ranked by itself: what the caller may see and has executed, the timings
        and the fallbacks are those of this context.

        :param typed: as in :meth:`begin`.
        """
        return [self._of_part(part, typed) for part in self.query.parts]

    def _of_part(self, query: Query, typed: bool) -> QueryContext:
        context = QueryContext(
            request=self.request,
            snapshot=self.snapshot,
            fallbacks=self.fallbacks,
            timings_ms=self.timings_ms,
            _ego_tools=self._ego_tools,
            _support=self._support,
        )
        context.query, context.allowed, context.done = query, self.allowed, self.done
        if typed:
            context.named = named_tools(self.snapshot, query.text, self.allowed)
        return context

    def ego_tools(self, node: int) -> NDArray[np.int64]:
        """The tools in the 1-hop ego graph of a node, allowed or not, in no order and with repeats; two stages need them."""
        if node not in self._ego_tools:
            around = np.append(self.snapshot.adjacency.neighbours(node), node)
            self._ego_tools[node] = around[around < self.snapshot.tool_count].astype(np.int64)
        return self._ego_tools[node]

    def support_by_values(self, values: Sequence[TypedValue]) -> Mapping[int, float]:
        """Tool → how strongly values of the request fit its inputs; several stages and clauses ask for the same values."""
        places = tuple((value.start, value.end) for value in values)
        if places not in self._support:
            self._support[places] = support_by_values(self.snapshot, values)
        return self._support[places]

    def cosines(self, vectors: str, clause: Clause, tools: NDArray[np.int64]) -> Floats1d | None:
        """The cosine of a clause with tools, float32 [tools]; None where the query has no vector.

        The vectors of the candidates are read once, for the request and all its clauses.

        :param vectors: the name of vectors of the snapshot, ``vectors`` or ``name_vectors``.
        """
        if clause.vector_D is None:
            return None
        stored: NodeVectors = getattr(self.snapshot, vectors)
        parts = (self.query, *self.query.clauses)
        place = next((place for place, part in enumerate(parts) if part is clause), None)
        candidates = self.candidates
        if place is None or not len(candidates):
            return stored.similarities(clause.vector_D, tools)
        if vectors not in self._cosines:
            queries = [part.vector_D for part in parts if part.vector_D is not None]
            self._cosines[vectors] = stored.similarities_of(queries, candidates)
        known = self._cosines[vectors][place]
        if tools is candidates:
            return known
        places = np.minimum(np.searchsorted(candidates, tools), len(candidates) - 1)
        found, others = known[places], np.flatnonzero(candidates[places] != tools)
        found[others] = stored.similarities(clause.vector_D, tools[others])
        return found

    def once(self, what: Hashable, compute: Callable[[], _T]) -> _T:
        """What follows from the request alone: computed once, also where the request is completed with many weights.

        :param what: names the result, with all that it depends on beside the request.
        """
        if what not in self._once:
            self._once[what] = compute()
        found: _T = self._once[what]
        return found

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure the time of one stage.

        :raises DeadlineError: instead of starting it, when the caller no longer waits.
        """
        self.request.check(name)
        started = time.perf_counter()
        yield
        spent_ms = (time.perf_counter() - started) * 1e3
        self.timings_ms[name] = self.timings_ms.get(name, 0.0) + spent_ms

    def attempt(self, call: Callable[[], _T], without: str) -> _T | None:
        """The result of a call that needs a model; None, and a fallback is recorded, where the model is down.

        :param without: what the answer lacks then.
        """
        try:
            return call()
        except ModelError as error:
            self.fallbacks.append(f"{without}: {error.problem}")
            return None

    def total_ms(self) -> float:
        """Milliseconds since the request began."""
        return (time.perf_counter() - self._started) * 1e3


def executed_tools(snapshot: Snapshot, tool_ids: Sequence[str]) -> tuple[frozenset[int], list[str]]:
    """The numbers of executed tools, and a fallback that names unknown ones: a caller may have met a tool in another snapshot."""
    numbers = {tool_id: snapshot.find_node(f"tool:{tool_id}") for tool_id in tool_ids}
    unknown = [tool_id for tool_id, number in numbers.items() if number is None]
    fallbacks = []
    if unknown:
        more = f" and {len(unknown) - _MAX_NAMED} more" if len(unknown) > _MAX_NAMED else ""
        named = ", ".join(tool_id[:_MAX_NAMED_CHARS] for tool_id in unknown[:_MAX_NAMED])
        fallbacks.append(f"done: the catalogue has no tool {named}{more}")
    return frozenset(number for number in numbers.values() if number is not None), fallbacks
