"""The catalogues of one server, by tenant. Each serves one engine; a swap replaces it between two calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ontology.errors import NotFoundError, NotReadyError
from retrieval.engine import Engine

__all__ = ["Catalogs"]


class Catalogs:
    """Tenant → engine. Use it in one event loop.

    :param tenants: the catalogues of the server; one named with the empty string serves calls without a tenant.
    :param on_swap: called with tenant and snapshot id at each swap.
    """

    def __init__(
        self,
        tenants: tuple[str, ...] = ("",),
        *,
        on_swap: Callable[[str, str], None] = lambda tenant, snapshot_id: None,
    ) -> None:
        self._on_swap = on_swap
        self._engines: dict[str, Engine | None] = dict.fromkeys(tenants)

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants, sorted."""
        return tuple(sorted(self._engines))

    @contextmanager
    def lease(self, tenant: str) -> Iterator[Engine]:
        """Yield the engine of a tenant for one call: all that the call answers is from this engine.

        :raises NotFoundError: when the server has no such catalogue.
        :raises NotReadyError: while none of its snapshots is loaded.
        """
        if tenant not in self._engines:
            raise NotFoundError(
                "this server has no such catalogue", subject=tenant or "egotools-tenant", remedy="Name another tenant"
            )
        engine = self._engines[tenant]
        if engine is None:
            raise NotReadyError("the snapshot is still being loaded", remedy="Try again in a moment")
        yield engine

    def swap(self, tenant: str, engine: Engine) -> None:
        """Serve ``engine`` from the next call on."""
        self._engines[tenant] = engine
        self._on_swap(tenant, engine.snapshot_id)
