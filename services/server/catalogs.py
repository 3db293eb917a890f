"""The catalogues of one server, by tenant. Each serves one engine; a swap replaces it between two calls."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from ontology.errors import InvalidArgumentError, NotFoundError, NotReadyError, StaleSnapshotError
from retrieval.engine import Engine

__all__ = ["Catalogs", "ServedCatalog"]

_KEPT_IDS = 10_000


class ServedCatalog(NamedTuple):
    """What a catalogue serves now.

    :param engine: None while no snapshot is loaded.
    :param since: when it was swapped in, in seconds since 1970; 0 while there is none.
    :param problem: why the last publication was refused; empty if it was not.
    :param draining: number of calls that still use an older engine.
    """

    tenant: str
    engine: Engine | None
    since: float
    problem: str
    draining: int

    @property
    def snapshot_id(self) -> str:
        """The id of the snapshot that is served; empty without one."""
        return self.engine.snapshot_id if self.engine else ""


@dataclass(slots=True, eq=False)
class _Served:
    """One engine with the number of the calls that use it."""

    engine: Engine
    leases: int = 0


@dataclass(slots=True)
class _Catalog:
    served: _Served | None = None
    since: float = 0.0
    problem: str = ""
    problems: dict[str, str] = field(default_factory=dict)  # of single snapshots, by id
    retired: list[_Served] = field(default_factory=list)
    order: dict[str, int] = field(
        default_factory=dict
    )  # snapshot id → when it was published last; a larger number is later
    seen: int = 0  # publications of the store's history that are in ``order``


class Catalogs:
    """Tenant → engine. Use it in one event loop.

    :param tenants: the catalogues of the server; one named with the empty string serves calls without a tenant.
    :param required: those without which the server is not ready; None for all.
    :param drained: called with tenant and snapshot id when the last call of an engine that is served no more has ended.
    :param on_swap: called with tenant and snapshot id at each swap.
    """

    def __init__(
        self,
        tenants: Sequence[str] = ("",),
        *,
        required: Iterable[str] | None = None,
        drained: Callable[[str, str], None] = lambda tenant, snapshot_id: None,
        on_swap: Callable[[str, str], None] = lambda tenant, snapshot_id: None,
    ) -> None:
        self._catalogs = {tenant: _Catalog() for tenant in tenants}
        self._missing = set(tenants if required is None else required)
        self._drained = drained
        self._on_swap = on_swap
        self._clock = itertools.count()

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants, sorted."""
        return tuple(sorted(self._catalogs))

    @property
    def ready(self) -> bool:
        """Whether every required catalogue has an engine. It stays true: an engine is only replaced by another."""
        return not self._missing

    def is_missing(self, tenant: str) -> bool:
        """Whether a required catalogue has no engine yet."""
        return tenant in self._missing

    def resolve(self, tenant: str) -> str:
        """Return the tenant whose catalogue a call means: the only one of the server, if it names none.

        :raises NotFoundError: when the server has no such catalogue.
        :raises InvalidArgumentError: when it names none of several.
        """
        if tenant in self._catalogs:
            return tenant
        if tenant:
            raise NotFoundError("this server has no such catalogue", subject=tenant, remedy="Name another tenant")
        if len(self._catalogs) == 1:
            return next(iter(self._catalogs))
        raise InvalidArgumentError(
            "the server has several catalogues, and the call names none",
            subject="egotools-tenant",
            remedy="Name the tenant in the metadata egotools-tenant",
        )

    @contextmanager
    def lease(self, tenant: str) -> Iterator[Engine]:
        """Yield the engine of a tenant for one call: all that the call answers is from this engine.

        :raises NotFoundError: when the server has no such catalogue.
        :raises NotReadyError: while a required catalogue has no engine, or this one has none.
        """
        tenant = self.resolve(tenant)
        served = self._catalogs[tenant].served
        if served is None or self._missing:
            raise NotReadyError("the snapshot is still being loaded", remedy="Try again in a moment")
        served.leases += 1
        try:
            yield served.engine
        finally:
            served.leases -= 1
            self._release(tenant, served)

    def require_snapshot(self, tenant: str, served_id: str, wanted: str) -> None:
        """Check that a snapshot is not older than the one that a request asks for.

        :param served_id: of the engine that answers.
        :param wanted: ``min_snapshot`` of the request; empty for any.
        :raises StaleSnapshotError: when ``wanted`` was published after it, or is not known.
        """
        if not wanted or wanted == served_id:
            return
        order = self._catalogs[self.resolve(tenant)].order
        if wanted in order and order[wanted] < order.get(served_id, -1):
            return
        raise StaleSnapshotError(
            f"this server serves {served_id}, and does not know that it is newer",
            subject=wanted,
            remedy="Try again in a moment, or use another replica",
        )

    def swap(self, tenant: str, engine: Engine, history: Sequence[str] = ()) -> str:
        """Serve ``engine`` from the next call on. The old one is dropped when its last call has ended.

        :param history: ids of the publications of the store, the oldest first, as they were before the engine was opened.
        :returns: the id of the snapshot that was served before; empty if there was none.
        """
        catalog = self._catalogs[tenant]
        before, catalog.served = catalog.served, _Served(engine)
        catalog.since = time.time()
        self.add_history(tenant, history)
        self._missing.discard(tenant)
        self._on_swap(tenant, engine.snapshot_id)
        if before is None:
            return ""
        catalog.retired.append(before)
        self._release(tenant, before)
        return before.engine.snapshot_id

    def add_history(self, tenant: str, history: Sequence[str]) -> None:
        """Note publications of the store, the oldest first. Call it only while the store names the served snapshot as current: that
        counts as the latest.
        """
        catalog = self._catalogs[tenant]
        if len(history) < catalog.seen:  # the store was replaced, or its history cut
            catalog.seen = 0
        for snapshot_id in history[catalog.seen :]:
            catalog.order[snapshot_id] = next(self._clock)
        catalog.seen = len(history)
        if catalog.served is not None:
            catalog.order[catalog.served.engine.snapshot_id] = next(self._clock)
        if len(catalog.order) > _KEPT_IDS:
            for snapshot_id in sorted(catalog.order, key=catalog.order.__getitem__)[:-_KEPT_IDS]:
                del catalog.order[snapshot_id]

    def refused(self, tenant: str, problem: str, snapshot_id: str = "") -> None:
        """Note why a publication was refused; the old engine serves on.

        :param snapshot_id: of the snapshot that cannot be served; empty where it is not known.
        """
        catalog = self._catalogs[tenant]
        catalog.problem = problem
        if snapshot_id:
            catalog.problems[snapshot_id] = problem

    def passed(self, tenant: str, snapshot_id: str) -> None:
        """Note that nothing is known against a snapshot any more, and that the last publication was not refused."""
        catalog = self._catalogs[tenant]
        catalog.problem = ""
        catalog.problems.pop(snapshot_id, None)

    def problem_of(self, tenant: str, snapshot_id: str) -> str:
        """Return why a snapshot cannot be served; empty if nothing is known against it."""
        return self._catalogs[tenant].problems.get(snapshot_id, "")

    def state(self, tenant: str) -> ServedCatalog:
        """Return what a catalogue serves now."""
        catalog = self._catalogs[tenant]
        return ServedCatalog(
            tenant=tenant,
            engine=catalog.served.engine if catalog.served else None,
            since=catalog.since,
            problem=catalog.problem,
            draining=sum(old.leases for old in catalog.retired),
        )

    def _release(self, tenant: str, served: _Served) -> None:
        """Drop an engine that is served no more and that no call uses: its last reference frees its memory."""
        retired = self._catalogs[tenant].retired
        if served.leases or served not in retired:
            return
        retired.remove(served)
        self._drained(tenant, served.engine.snapshot_id)
