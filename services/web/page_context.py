"""What the routes of the page share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from starlette.requests import Request

from egotools import AsyncClient
from services.web.live_runs import LiveRuns
from services.web.page_access import PageAccess
from services.web.page_talks import PageTalks

__all__ = ["OpenClient", "PageContext", "context_of"]

OpenClient: TypeAlias = Callable[[str, str], AsyncClient]
"""Makes a client of the gRPC service with the token and the tenant of a visitor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """What the routes share.

    :param stores: tenant → folder of the store with its findings.
    :param domains: names of the planner's domains, the default first.
    :param talks: conversations about a graph; None: there are none.
    """

    open_client: OpenClient
    access: PageAccess
    runs: LiveRuns
    stores: Mapping[str, Path] = field(default_factory=dict)
    domains: Sequence[str] = ()
    talks: PageTalks | None = None


def context_of(request: Request) -> PageContext:
    """Return the context of the application that serves a request."""
    context: PageContext = request.app.state.context
    return context
