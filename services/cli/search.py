"""Searching from the command line: a local snapshot, or a running server through the real client."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from egotools.values import Response
from ontology.errors import InvalidArgumentError, error_from_status
from services.cli.format_reasons import format_reasons

__all__ = ["read_filters", "read_k", "search_local", "search_remote", "share"]

Filters = Mapping[str, tuple[str, ...]]
_MAX_AUTO_K = 20  # maximum number of tools with ``-k auto``


def search_local(
    store: Path, query: str, *, k: int, preset: str, filters: Filters, auto_k: bool = False
) -> dict[str, Any]:
    """Search the published snapshot of a store in this process; return the response as JSON values."""
    from retrieval.query.request import Request
    from retrieval.snapshot_engine import open_engine

    request = Request(query=query, k=k, filters=filters, auto_k=auto_k)
    return _response_to_json(open_engine(store).retriever(preset).retrieve(request))


def search_remote(
    address: str, query: str, *, k: int, preset: str, filters: Filters, auto_k: bool = False
) -> dict[str, Any]:
    """Search through a running server; return the response as JSON values.

    :raises EgotoolsError: with the exit code that belongs to the status of the call.
    """
    from egotools import Client, ClientError

    started = time.perf_counter()
    try:
        with Client(address) as client:
            response = client.retrieve(query, k=k, preset=preset, filters=filters, auto_k=auto_k)
    except ClientError as error:
        raise error_from_status(
            error.code, error.message, subject=error.subject or address, remedy=error.remedy
        ) from error
    round_trip_ms = (time.perf_counter() - started) * 1e3
    return _response_to_json(replace(response, timings_ms={**response.timings_ms, "round_trip": round_trip_ms}))


def _response_to_json(response: Response) -> dict[str, Any]:
    return {
        "preset": response.preset,
        "snapshot_id": response.snapshot_id,
        "tools": [
            {
                "rank": tool.rank,
                "id": tool.id,
                "score": tool.score,
                "probability": tool.probability,
                "why": format_reasons(tool.id, tool.reasons),
                "reasons": asdict(tool.reasons),
            }
            for tool in response.tools
        ],
        "timings_ms": {stage: round(spent_ms, 3) for stage, spent_ms in response.timings_ms.items()},
        "fallbacks": list(response.fallbacks),
        "answerable_probability": response.answerable_probability,
        "unanswerable": response.unanswerable,
    }


def read_k(text: str) -> tuple[int, bool]:
    """Parse the option ``-k``: the maximum number of tools, and whether it is ``auto``: ``10``, ``auto`` (20), ``auto:40``.

    :raises InvalidArgumentError: for another text.
    """
    word, _, most = text.partition(":")
    auto = word == "auto"
    try:
        return int((most or _MAX_AUTO_K) if auto else text), auto
    except ValueError:
        raise InvalidArgumentError(
            f"{text!r} is no number of tools", subject="-k", remedy="Write 10, auto or auto:40"
        ) from None


def read_filters(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Parse filters from ``KEY=VALUE`` texts; a repeated key allows one more value.

    :raises InvalidArgumentError: for a text in another format.
    """
    filters: dict[str, tuple[str, ...]] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise InvalidArgumentError(
                f"{text!r} is not KEY=VALUE", subject="--filter", remedy="For example: --filter department=finance"
            )
        filters[key] = (*filters.get(key, ()), value)
    return filters


def share(probability: float | None) -> str:
    """A probability in percent; empty for none."""
    return "" if probability is None else f"{probability:.0%}"
