"""Routes for whoever may change the catalogue: findings and their approval, near-duplicate tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ontology.errors import NotFoundError, UnsupportedError
from services.audited import audited, named_tools
from services.web.page_access import Visitor
from services.web.page_context import context_of
from services.web.page_requests import Approved, read_body

__all__ = ["TRUST_ROUTES"]

_MOST_FINDINGS, _MOST_GROUPS = 1_000, 500


async def _findings(request: Request) -> JSONResponse:
    _, store = await _store(request)
    return JSONResponse(await asyncio.to_thread(_read_findings, store))


def _read_findings(store: Path) -> dict[str, Any]:
    from ingest.trust.approvals import read_approvals
    from ingest.trust.quarantine import read_record

    record = read_record(store)
    released = {(each.tool, each.sha256) for each in read_approvals(store)}
    return {
        "total": len(record.findings),
        "findings": [each.to_json() for each in record.findings[:_MOST_FINDINGS]],
        "quarantined": sorted(record.quarantined),
        "approved": sorted(tool for tool, sha256 in record.hashes.items() if (tool, sha256) in released),
    }


async def _approve(request: Request) -> JSONResponse:
    visitor, store = await _store(request)
    approved = await read_body(request, Approved)
    count = await asyncio.to_thread(_release, store, approved, visitor.name or "page")
    return JSONResponse({"approved": count})


def _release(store: Path, approved: Approved, by: str) -> int:
    """Release tools as the last build saw them; return how many.

    :raises NotFoundError: when that found nothing in them.
    """
    from ingest.trust.approvals import approve
    from ingest.trust.quarantine import read_record

    record = read_record(store)
    ids = [id_ for id_ in (approved.tool,) if id_ in record.hashes] or record.matching(approved.pattern)
    if not ids:
        subject = approved.tool or approved.pattern
        raise NotFoundError("the last build found nothing in it", subject=subject, remedy="Load the findings again")
    with audited("approve-finding", ids[0] if len(ids) == 1 else named_tools(ids)):
        return len(approve(store, record.releases(ids), reason=approved.reason, by=by))


async def _duplicates(request: Request) -> JSONResponse:
    _, store = await _store(request)
    groups = await asyncio.to_thread(_near_duplicates, store)
    return JSONResponse({"total": len(groups), "groups": groups[:_MOST_GROUPS]})


def _near_duplicates(store: Path) -> tuple[tuple[str, ...], ...]:
    from ingest.duplicate_tools import near_duplicates
    from retrieval.snapshot.reader import open_snapshot

    snapshot = open_snapshot(store)
    try:
        return near_duplicates(snapshot.tool(number) for number in range(snapshot.tool_count))
    finally:
        snapshot.release()


async def _store(request: Request) -> tuple[Visitor, Path]:
    """The visitor, who may change the catalogue, and its store."""
    context = context_of(request)
    visitor = await context.access.admin(request)
    tenant = visitor.tenant or (next(iter(context.stores)) if len(context.stores) == 1 else "")
    if tenant not in context.stores:
        raise UnsupportedError(
            "this server has no store of this catalogue", subject=tenant, remedy="Serve the page from the store"
        )
    return visitor, context.stores[tenant]


TRUST_ROUTES = (
    Route("/api/findings", _findings),
    Route("/api/approve", _approve, methods=["POST"]),
    Route("/api/near-duplicates", _duplicates),
)
