"""Searching from the command line: a local snapshot, or a running server through the real client."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ontology.errors import error_from_status
from services.why import why

__all__ = ["search_local", "search_remote"]

Filters = Mapping[str, tuple[str, ...]]


def search_local(store: Path, query: str, *, k: int, preset: str, filters: Filters) -> dict[str, Any]:
    """Ask the published snapshot of a store, in this process."""
    from retrieval.retriever import Request
    from retrieval.snapshot_engine import open_engine

    request = Request(query=query, k=k, filters=filters)
    response = open_engine(store).retriever(preset).retrieve(request)
    return {
        "preset": response.preset,
        "snapshot_id": response.snapshot_id,
        "tools": [
            {
                "rank": tool.rank,
                "id": tool.tool_id,
                "score": tool.score,
                "why": why(tool.tool_id, tool.reasons),
                "reasons": asdict(tool.reasons),
            }
            for tool in response.tools
        ],
        "timings_ms": {stage: round(spent, 3) for stage, spent in response.timings_ms.items()},
        "degraded": list(response.degraded),
    }


def search_remote(address: str, query: str, *, k: int, preset: str, filters: Filters) -> dict[str, Any]:
    """Ask a running server.

    :raises EgotoolsError: with the exit code of what the server, or the way to it, refused.
    """
    from egotools import Client, ClientError

    started = time.perf_counter()
    wanted = {key: list(values) for key, values in filters.items()}
    try:
        with Client(address) as client:
            answer = client.retrieve(query, k=k, preset=preset, filters=wanted)
    except ClientError as error:
        raise error_from_status(
            error.code, error.message, subject=error.subject or address, remedy=error.remedy
        ) from error
    return {
        "preset": answer.preset,
        "snapshot_id": answer.snapshot_id,
        "tools": [
            {
                "rank": tool.rank,
                "id": tool.id,
                "score": tool.score,
                "why": why(tool.id, tool.reasons) if tool.reasons else "",
                "reasons": asdict(tool.reasons) if tool.reasons else {},
            }
            for tool in answer.tools
        ],
        "timings_ms": {**answer.timings_ms, "round_trip": round((time.perf_counter() - started) * 1e3, 3)},
        "degraded": list(answer.degraded),
    }
