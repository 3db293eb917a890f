"""Which tool to call before another one: the claims of an explanation that a tool supplies an input of another.

A claim is made only where it is likely true and of use: the input is required, the request does not give it, and the supplier looks
things up. Edges said at .9 and more were true in 93 % of a judged sample, those at .8 to .9 in 75 % (``docs/real-documents.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from retrieval.explain.tool_facts import Input, ToolFacts
from retrieval.index.analysis import terms
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.supplier_edges import supplier_edges

__all__ = ["MIN_CONFIDENCE", "FirstCall", "first_calls"]

MIN_CONFIDENCE = 0.9
"""Of the edge behind a claim."""
_MIN_OUTSIDE = 0.95  # for a tool that the answer does not have
_CONFIDENCE_STEPS = 50
_CREATES = frozenset("create add insert start register new put open request import issue make define".split())
"""Verbs of tools that make an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstCall:
    """A tool to call first.

    :param supplier: its number.
    :param parameter: the input that it fills.
    :param output: its output with the value, or empty.
    """

    supplier: int
    parameter: Input
    output: str
    confidence: float


def first_calls(
    snapshot: Snapshot,
    tool: int,
    facts: ToolFacts,
    open_inputs: Collection[Input],
    ranks: Mapping[int, int],
    callable_first: Callable[[int], bool],
) -> list[FirstCall]:
    """The best supplier of each open input, in the order of the inputs; none where no claim is safe.

    :param open_inputs: required inputs that the request does not give.
    :param ranks: number of each tool of the answer → its rank; executed tools have rank 0.
    :param callable_first: whether the request gives what a tool requires, or the consumer requires it too.
    """
    found: list[FirstCall] = []
    by_name = {each.name: each for each in open_inputs if not _is_said(facts, each)}
    claims = [(call, frozenset(terms(snapshot.tool_id(call.supplier)))) for call in _claims(snapshot, tool, by_name)]
    claims = [(call, words) for call, words in claims if _is_safe(call, words, ranks, ranks[tool])]
    claims.sort(key=lambda each: _order(each[0], each[1], facts, ranks))
    for name in by_name:
        rivals = [call for call, _ in claims if call.parameter.name == name]
        best = next((call for call in rivals if callable_first(call.supplier)), None)
        if best is not None:
            found.append(best)
    return found


def _order(
    call: FirstCall, words: frozenset[str], facts: ToolFacts, ranks: Mapping[int, int]
) -> tuple[bool, bool, float, int, int]:
    """Tools that find the object first, then those of the answer, then by confidence; of much the same confidence those that share
    words with the consumer.
    """
    shared = len(words.intersection(facts.name))
    return (
        not _looks_up(call, words),
        call.supplier not in ranks,
        -round(call.confidence * _CONFIDENCE_STEPS),
        -shared,
        call.supplier,
    )


def _is_safe(call: FirstCall, words: frozenset[str], ranks: Mapping[int, int], rank: int) -> bool:
    """Whether a claim is likely true, and the supplier finds the object, or makes it: then it is what the request asks for first."""
    looks_up = _looks_up(call, words)
    if call.supplier not in ranks:
        return call.confidence >= _MIN_OUTSIDE and looks_up
    return looks_up or ranks[call.supplier] < min(rank, 2)


def _looks_up(call: FirstCall, words: frozenset[str]) -> bool:
    """Whether a supplier finds objects: its value is in a list, so that it need not know the object already."""
    return "[]" in call.output and not words & _CREATES


def _is_said(facts: ToolFacts, needed: Input) -> bool:
    """Whether a person says the value of an input: the name of a thing (``BudgetName``), or of what the tool makes."""
    if needed.is_name:
        return True
    makes = facts.verb in _CREATES and (not needed.entity or needed.location != "path")
    return makes and needed.entity[-1:] in ((), (facts.object,))


def _claims(snapshot: Snapshot, tool: int, inputs: Mapping[str, Input]) -> Iterator[FirstCall]:
    """The edges by which another tool fills one of these inputs."""
    for edge, supplier, _ in supplier_edges(snapshot, tool):
        confidence = float(snapshot.adjacency.confidences[edge])
        if confidence < MIN_CONFIDENCE:
            continue
        record = snapshot.edges[edge]
        if record.parameter in inputs:
            yield FirstCall(
                supplier=supplier, parameter=inputs[record.parameter], output=record.output, confidence=confidence
            )
