"""What the routes of the page share."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from starlette.requests import Request

from egotools import AsyncClient
from ontology.errors import PermissionDeniedError, UnauthenticatedError
from services.server.access.authentication import Authentication, check_permission
from services.web.live_runs import LiveRuns
from services.web.page_talks import PageTalks

__all__ = ["OpenClient", "PageAccess", "PageContext", "Visitor", "context_of"]

CSRF_HEADER, TENANT_HEADER = "x-egotools-csrf", "x-egotools-tenant"
_READ, _CHANGE = "/egotools.v1.ToolRetrieval/Retrieve", "/egotools.v1.CatalogAdmin/Publish"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who makes a request of the page.

    :param name: for the record of approvals; empty where there is no access control.
    :param token: bearer token, or empty.
    :param key: stands for the visitor where the token must not be kept.
    """

    name: str
    token: str = field(repr=False)
    tenant: str
    key: str


class PageAccess:
    """The access checks of the page.

    :param authentication: that of the gRPC server; None: everybody may do everything, as there.
    """

    def __init__(self, authentication: Authentication | None) -> None:
        self._authentication = authentication
        self._secret = secrets.token_bytes(32)

    async def reader(self, request: Request) -> Visitor:
        """Return who asks, when they may call ``Retrieve``.

        :raises UnauthenticatedError: without a valid token.
        :raises PermissionDeniedError: without the role or the tenant.
        """
        return await self._visitor(request, _READ)

    async def admin(self, request: Request) -> Visitor:
        """Return who asks, when they may call ``Publish``. Errors as of :meth:`reader`."""
        return await self._visitor(request, _CHANGE)

    async def _visitor(self, request: Request, method: str) -> Visitor:
        token, tenant = _token(request), request.headers.get(TENANT_HEADER, "")
        if self._authentication is None:
            return Visitor(name="", token="", tenant=tenant, key=self._key(""))
        if not token:
            remedy = "The page has no sign-in: let a proxy send authorization: Bearer TOKEN"
            raise UnauthenticatedError("the request has no token", subject="authorization", remedy=remedy)
        identity = await self._authentication.bearer(f"Bearer {token}")
        caller = await self._authentication.caller(identity)
        check_permission(caller, method, tenant)
        name = caller.name or identity.name
        return Visitor(name=name, token=token, tenant=tenant or caller.home, key=self._key(token))

    def csrf_token(self, request: Request) -> str:
        """Return what this visitor's page must send with each change: another site cannot read it."""
        return self._key(f"csrf:{_token(request)}")

    def check_csrf(self, request: Request) -> None:
        """Check that a change comes from the page.

        :raises PermissionDeniedError: when not.
        """
        given = request.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(given.encode(), self.csrf_token(request).encode()):
            raise PermissionDeniedError("the request does not come from this page", remedy="Load the page again")

    def _key(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()


def _token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


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
