"""What a request costs, from its fields alone: units of processor time, and the least bytes of its answer.

A unit is 50 ms of one processor: about what a short request for ten tools with reasons takes. The terms are an upper line
through 200 requests of 20 to 20,000 characters for 10 to 1,000 tools over three catalogues of 101 to 4,629 tools: the real
one, whose documents are the longest, decides. A catalogue of short documents takes a sixth of it for many tools. Filters and the
presets of rank-bm25, which read every tool for every word, are measured on 20,000 tools with as many different titles.
"""

from __future__ import annotations

from collections.abc import Sequence

from ontology.errors import InvalidArgumentError
from retrieval.query.plan_request import PlanRequest
from retrieval.query.request import Request

__all__ = ["check_call_cost", "least_answer_bytes", "plan_cost", "request_cost"]

_MS_OF_UNIT = 50.0
_MS = 10.0
_MS_OF_CHARACTER, _MOST_FULL_CHARACTERS = 0.02, 1_000  # beyond them the encoder reads no further
_MS_OF_LATER_CHARACTER = 0.0025
_MS_OF_TOOL, _MS_OF_REASONS, _MS_OF_SCHEMA = 0.5, 3.0, 0.5
_MOST_TOOLS = 500  # a request for 1,000 had at most 458 candidates
_LEAST_TOOL_BYTES, _LEAST_REASONS_BYTES, _LEAST_SCHEMA_BYTES = 140, 400, 400
_MS_OF_FILTER_VALUE, _MS_OF_PATTERN_KEY = 0.025, 25.0  # all patterns of a key look once at all its values
_RANK_BM25, _MS_OF_RANK_BM25_CHARACTER = ("bm25-", "hybrid"), 0.25
_PLAN_UNITS = 1
_SURE_TOOLS = 100  # of so many that are asked for, no catalogue returned fewer


def request_cost(request: Request) -> int:
    """Return the cost of a request in units, from 1 to about 170; without filters and needs, by a preset that is served by default, to about 43."""
    characters = len(request.text) + sum(
        map(len, request.needs)
    )  # each need is encoded by itself and in the whole text
    tool_ms = _MS_OF_TOOL + _MS_OF_REASONS * request.explain + _MS_OF_SCHEMA * (request.schema_format != "none")
    spent_ms = (
        _MS * (1 + len(request.needs))
        + _MS_OF_CHARACTER * min(characters, _MOST_FULL_CHARACTERS)
        + _MS_OF_LATER_CHARACTER * characters
        + tool_ms * min(request.k, _MOST_TOOLS)
        + sum(map(_filter_ms, request.filters.values()))
        + _MS_OF_RANK_BM25_CHARACTER * characters * request.preset.startswith(_RANK_BM25)
    )
    return max(1, round(spent_ms / _MS_OF_UNIT))


def _filter_ms(values: Sequence[str]) -> float:
    return _MS_OF_FILTER_VALUE * len(values) + _MS_OF_PATTERN_KEY * any(value.endswith("*") for value in values)


def plan_cost(request: PlanRequest) -> int:
    """Return the cost of a plan in units: that of the search, which is bounded, and of the retrieval where there is a query or a need."""
    return _PLAN_UNITS + (request_cost(request.retrieval()) if request.is_matched else 0)


def check_call_cost(costs: Sequence[int], most: int) -> None:
    """Check what a call with several requests costs.

    :param costs: of its requests, in units.
    :param most: units that one call may cost.
    :raises InvalidArgumentError: when they cost more together; it says what to ask for instead.
    """
    total = sum(costs)
    if total > most:
        raise InvalidArgumentError(
            f"the call would cost {total:,} units, its dearest request {max(costs)}; at most {most:,} are allowed",
            subject="requests",
            remedy=(f"Split it into {-(-total // most)} calls or more, or ask" if len(costs) > 1 else "Ask")
            + " for fewer tools, without reasons, in fewer words, with fewer keys of filters",
        )


def least_answer_bytes(request: Request, tool_count: int) -> int:
    """Return the bytes that an answer has at least; 0 where the number of its tools cannot be known.

    :param tool_count: tools of the catalogue.
    """
    if request.filters or request.auto_k or request.abstain or request.done:
        return 0
    tool = (
        _LEAST_TOOL_BYTES
        + _LEAST_REASONS_BYTES * request.explain
        + _LEAST_SCHEMA_BYTES * (request.schema_format != "none")
    )
    return tool * min(request.k, tool_count, _SURE_TOOLS)
