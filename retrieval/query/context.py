"""The context of one request: what the stages of retrieval read, and where they record what they find."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Encoder, Floats1d, Floats2d
from ontology.errors import ModelError
from retrieval.index.bm25 import terms
from retrieval.index.lookup import letters_before_digits
from retrieval.index.phrases import PhraseVectors
from retrieval.index.value_shapes import ShapeMatch
from retrieval.index.vectors import NodeVectors
from retrieval.query.query import Clause, Query, analyse, analyse_needs
from retrieval.query.request import Request
from retrieval.query.typed_values import LEAST_SPECIFIC, TypedValue, find_values
from retrieval.retriever import PLAIN, RetrievalConfig
from retrieval.snapshot.reader import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportingTool:
    """A tool that must be called before another one can be, and why: ``call tool first, its output gives the consumer's parameter``."""

    tool: int  # its number
    answers: int  # the tool of the request that it is needed for in the end
    consumer: int  # the tool that it is needed for next; ``answers`` itself after one step
    parameter: str  # the input of the consumer that it fills; empty where it only must go first
    output: str  # its output that fills the input, or empty
    predicate: str  # of the edge that says so: ``depends_on``, ``resolved_by`` or ``supplies``
    required: bool  # whether the consumer cannot be called without
    confidence: float  # of that edge, in (0, 1]
    cost: float  # of all steps from ``answers`` to here, in standard deviations of the scores, > 0
    steps: int  # their number, >= 1


_MOST_NAMES = 20  # of one request
_LOOKED_AT = 16  # tools that are compared with a name: those whose names fit its words best

_NAME = re.compile(r"(?<!`)`(?P<code>[^`\n]{1,200})`(?!`)|(?P<plain>\w[\w./:#-]{0,198}\w)")
_CALL = re.compile(r"\(.{0,200}\)\Z")
_IN_PIECES = re.compile(r"[a-z\d][A-Z]|\w[_./:#]+\w|\w-\w")
_DIGEST = re.compile(r"_([0-9a-f]{6})\Z")


def named_tools(snapshot: Snapshot, text: str, allowed: NDArray[np.bool_] | None) -> tuple[tuple[int, ...], ...]:
    """Return for each name in a request that some tool has the tools that have it, ascending. ``allowed``: the nodes
    that the request may see, bool [nodes]; None allows all."""
    found = []
    for name in tool_names(text):
        having = _having(snapshot, name, allowed)
        found.append(tuple(sorted({tool for tool in having if allowed is None or allowed[tool]})))
    return tuple(dict.fromkeys(tools for tools in found if tools))


def tool_names(text: str) -> tuple[str, ...]:
    """Return what is written as a name of a tool in a request, between backticks or in one piece (``create_issue``), in
    its order, without repeats."""
    names: dict[str, None] = {}
    for match in _NAME.finditer(text):
        name = _CALL.sub("", match[str(match.lastgroup)]).strip()
        if name and (match["code"] or _IN_PIECES.search(name)):
            names[name] = None
        if len(names) == _MOST_NAMES:
            break
    return tuple(names)


def _having(snapshot: Snapshot, name: str, allowed: NDArray[np.bool_] | None) -> list[int]:
    """The tools with an id, name or call name: by the table of ids, else by the index of names."""
    parts = name.split(".")
    at_points = (".".join(parts[:place]) + "/" + ".".join(parts[place:]) for place in range(1, min(len(parts), 6)))
    ids = (name, name.replace("__", "/").replace("--", "."), *at_points)
    by_id = [number for id_ in ids if (number := snapshot.find_node(f"tool:{id_}")) is not None]
    words = dict.fromkeys(terms(_DIGEST.sub("", name)), 1.0)
    if by_id or not words:
        return by_id
    folded, digest = name.casefold(), _DIGEST.search(name)
    found = []
    for number in snapshot.names_index.best(words, _LOOKED_AT, allowed=allowed).tolist():
        tool = snapshot.tool(number)
        called = (tool.name.casefold(), tool.id.casefold(), f"{tool.namespace}.{tool.name}".casefold())
        # a call name that was shortened ends in digits of the hash of the id
        sha256 = hashlib.sha256(tool.id.encode("utf-8", "replace")).hexdigest()
        if folded in called or (digest and sha256.startswith(digest[1])):
            found.append(number)
    return found


# All chosen, not tuned.
_WIDENED = 0.3  # a shape of any letters, next to one of those that were shown
_TAKES_ENTITY, _ACTS_ON_ENTITY = 0.7, 0.4  # next to an input that shows the shape
_MAX_ENTITIES = 3  # a shape of more entities names none of them
_MAX_ABBREVIATED = 20  # a prefix of more entities says none of them
_MAX_TOOLS = 200  # that are followed from one entity
_MAX_VALUES = 20  # distinct values of a request that speak


def support_by_values(snapshot: Snapshot, values: Sequence[TypedValue]) -> dict[int, float]:
    """Tool number → how strongly the values of a request fit its inputs, > 0; tools that no value speaks for are left
    out. A value speaks at most with 1, for a tool that is the only one with an input of its shape. The fewer such tools
    there are, the more it says (inverse document frequency over the tools). Outputs do not count."""

    @cache  # identifiers of one request often begin alike
    def abbreviated(prefix: str) -> list[tuple[int, float]]:
        """The tools of the entities that a prefix abbreviates; none where it may abbreviate too many."""
        entities = snapshot.identified.named(prefix)
        return [
            (tool, quality * strength)
            for node, quality in (entities.items() if len(entities) <= _MAX_ABBREVIATED else ())
            for tool, strength in _tools_of_entity(snapshot, node)
        ]

    support: dict[int, float] = {}
    distinct = {value.text: value for value in values if value.matches or value.kind == "identifier"}
    for value in list(distinct.values())[:_MAX_VALUES]:
        fit = _strongest(
            each for match in value.matches if match.specificity >= LEAST_SPECIFIC for each in _fitting(snapshot, match)
        )
        if all(strength <= _WIDENED for strength in fit.values()):
            fit = _strongest((*fit.items(), *abbreviated(letters_before_digits(value.text))))
        most = math.log1p(snapshot.visible_count)
        rarity = min(1.0, math.log1p(snapshot.visible_count / (1 + len(fit))) / most) if most else 1.0
        for tool, strength in fit.items():
            support[tool] = support.get(tool, 0.0) + strength * rarity
    return support


def _strongest(found: Iterable[tuple[int, float]]) -> dict[int, float]:
    best: dict[int, float] = {}
    for tool, strength in found:
        best[tool] = max(best.get(tool, 0.0), strength)
    return best


def _fitting(snapshot: Snapshot, match: ShapeMatch) -> Iterator[tuple[int, float]]:
    """Yield the tools that a shape speaks for with a strength in (0, 1]."""
    for use in match.uses:
        if not use.output:
            yield use.tool, _WIDENED if use.is_widened else 1.0
    if match.shape.kind or len(match.entities) > _MAX_ENTITIES or all(use.is_widened for use in match.uses):
        return
    for entity in match.entities:
        node = snapshot.find_node(f"business_object:{entity}")
        if node is not None:
            yield from _tools_of_entity(snapshot, node)


def _tools_of_entity(snapshot: Snapshot, node: int) -> Iterator[tuple[int, float]]:
    """Yield the tools that act on an entity, and those that take an identifier of it."""
    reached = [(head, _ACTS_ON_ENTITY) for head in _heads(snapshot, node, "acts_on")]
    for parameter in _heads(snapshot, node, "identifies"):
        reached += [(head, _TAKES_ENTITY) for head in _heads(snapshot, parameter, "has_parameter")]
    yield from ((head, strength) for head, strength in reached if head < snapshot.tool_count)


def _heads(snapshot: Snapshot, node: int, predicate: str) -> list[int]:
    if predicate not in snapshot.predicates:
        return []
    adjacency, number = snapshot.adjacency, snapshot.predicates.index(predicate)
    edges = adjacency.in_edges_of(node)
    edges = edges[adjacency.predicates[edges] == number][:_MAX_TOOLS]
    return [int(head) for head in adjacency.heads[edges]]


_T = TypeVar("_T")
_MAX_NAMED, _MAX_NAMED_CHARS = 5, 100  # unknown ids that a fallback names


@dataclass(frozen=True, slots=True)
class EntryNode:
    """A node that the request matches."""

    node: int  # its number
    kind: str  # ``semantic`` or ``ngram``
    text: str  # the n-gram, or empty for a semantic match
    score: float  # cosine in [-1, 1], or the n-gram's inverse document frequency over the tools, > 0


@dataclass(slots=True, kw_only=True)
class QueryContext:
    """One request on its way through the stages, in one thread."""

    request: Request
    snapshot: Snapshot
    config: RetrievalConfig = PLAIN
    query: Query = field(init=False)
    # the nodes that the request may see, bool [nodes]; None allows all
    allowed: NDArray[np.bool_] | None = field(init=False)
    entries: list[EntryNode] = field(default_factory=list)
    # numbers of the candidate tools, ascending, int64, once they are known
    candidates: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    # for each name of tools that the request says the tools that have it; empty where values are not typed
    named: tuple[tuple[int, ...], ...] = ()
    phrases: PhraseVectors | None = None  # the everyday phrases of the tools; None where they do not count
    done: frozenset[int] = frozenset()  # numbers of the tools that the caller has executed already
    # how well each candidate matches each clause, z-scores, float32 [clauses, candidates]; None until they are computed
    clauses_CT: Floats2d | None = None
    # the tools that must be called before those that answer, with the reasons, once they are known
    supporting: tuple[SupportingTool, ...] = ()
    answering: Mapping[int, int] = field(default_factory=dict)  # over needs: the best tool of each → its place
    # tool number → how many of the nearest past requests used it
    past_sessions: dict[int, int] = field(default_factory=dict)
    fallbacks: list[str] = field(default_factory=list)  # what was left out and why, one sentence each
    timings_ms: dict[str, float] = field(default_factory=dict)  # stage → milliseconds
    _ego_tools: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    _cosines: dict[str, list[Floats1d]] = field(default_factory=dict)
    _support: dict[tuple[tuple[int, int], ...], dict[int, float]] = field(default_factory=dict)
    _once: dict[Hashable, Any] = field(default_factory=dict)
    _started: float = field(default_factory=time.perf_counter)

    @classmethod
    def begin(
        cls, request: Request, snapshot: Snapshot, encoder: Encoder | None, config: RetrievalConfig = PLAIN
    ) -> QueryContext:
        """Analyse a request and apply its filters. Without a working encoder the query has no vectors."""
        typed, decomposed = config.typed_values, config.query_decomposition
        phrases = snapshot.phrase_vectors if config.phrases else None
        context = cls(request=request, snapshot=snapshot, config=config, phrases=phrases)
        with context.stage("encode"):
            texts = request.parts if request.needs else (request.query,)
            values = [find_values(text, snapshot.value_shapes) if typed else None for text in texts]
            known = snapshot.abbreviations
            analysed: Callable[[Encoder | None], Query]
            if request.needs:
                needs = len(set(request.needs))
                analysed = partial(
                    analyse_needs, texts, abbreviations=known, values=values, needs=needs, decomposed=decomposed
                )
            else:
                analysed = partial(analyse, request.query, abbreviations=known, values=values[0], decomposed=decomposed)
            query = context.attempt(lambda: analysed(encoder), "no semantic matching")
            context.query = analysed(None) if query is None else query
        with context.stage("entry"):
            context.allowed = snapshot.allowed(request.filters)
            if context.allowed is not None and not context.allowed[: snapshot.tool_count].any():
                context.fallbacks.append("no tool passes all filters")
            if typed and not request.needs:
                context.named = named_tools(snapshot, request.query, context.allowed)
            context.done, unknown = executed_tools(snapshot, request.done)
            context.fallbacks += unknown
        return context

    def parts(self) -> list[QueryContext]:
        """The context of each part of a request over needs, which is ranked by itself: what the caller may see and has
        executed, the timings and the fallbacks are those of this context."""
        contexts = []
        for query in self.query.parts:
            context = QueryContext(
                request=self.request,
                snapshot=self.snapshot,
                config=self.config,
                phrases=self.phrases,
                fallbacks=self.fallbacks,
                timings_ms=self.timings_ms,
                _ego_tools=self._ego_tools,
                _support=self._support,
            )
            context.query, context.allowed, context.done = query, self.allowed, self.done
            if self.config.typed_values:
                context.named = named_tools(self.snapshot, query.text, self.allowed)
            contexts.append(context)
        return contexts

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
        """The cosine of a clause with tools, float32 [tools]; None where the query has no vector, or the snapshot none of this
        name (``vectors``, ``name_vectors``, ``phrase_vectors``). Those of the candidates are read once, for all clauses."""
        stored: NodeVectors | PhraseVectors | None = getattr(self.snapshot, vectors)
        if clause.vector_D is None or stored is None:
            return None
        parts = (self.query, *self.query.clauses)
        place = next((place for place, part in enumerate(parts) if part is clause), None)
        candidates = self.candidates
        if place is None or not len(candidates):
            return stored.similarities_of([clause.vector_D], tools)[0]
        if vectors not in self._cosines:
            queries = [part.vector_D for part in parts if part.vector_D is not None]
            self._cosines[vectors] = stored.similarities_of(queries, candidates)
        known = self._cosines[vectors][place]
        if tools is candidates:
            return known
        places = np.minimum(np.searchsorted(candidates, tools), len(candidates) - 1)
        found, others = known[places], np.flatnonzero(candidates[places] != tools)
        (found[others],) = stored.similarities_of([clause.vector_D], tools[others])
        return found

    def once(self, what: Hashable, compute: Callable[[], _T]) -> _T:
        """What follows from the request alone: computed once, also where the request is completed with many weights.
        ``what`` names all that it depends on beside the request."""
        if what not in self._once:
            self._once[what] = compute()
        found: _T = self._once[what]
        return found

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure the time of one stage; a DeadlineError instead of it where the caller no longer waits."""
        self.request.check(name)
        started = time.perf_counter()
        yield
        spent_ms = (time.perf_counter() - started) * 1e3
        self.timings_ms[name] = self.timings_ms.get(name, 0.0) + spent_ms

    def attempt(self, call: Callable[[], _T], without: str) -> _T | None:
        """The result of a call that needs a model; where that is down None, and a fallback says what the answer is without."""
        try:
            return call()
        except ModelError as error:
            self.fallbacks.append(f"{without}: {error.for_callers}")
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
