"""Which engine answers a caller: one in which only its tools exist."""

from __future__ import annotations

import logging

from ontology.errors import InvalidArgumentError
from retrieval.engine import Engine, SnapshotEngine
from services.server.access.policy import Policy
from services.server.caller import Caller
from services.server.logs import fields

__all__ = ["engine_for", "prepare", "warn_of_unknown_filters"]

_NO_TOOL = {"id": ("!*",)}


def engine_for(engine: Engine, caller: Caller) -> Engine:
    """Return the engine of a catalogue as a caller may see it; it is prepared at its first use, on a worker."""
    return engine.restricted(caller.filters) if caller.filters else engine


def prepare(engine: Engine) -> None:
    """Read what all parts of a catalogue share, so that the first caller with filters does not wait for it: seconds for 100,000 tools."""
    engine.restricted(_NO_TOOL).catalog()


_LOG = logging.getLogger("egotools.access")


def warn_of_unknown_filters(policy: Policy, tenant: str, engine: Engine) -> None:
    """Log each key or value of a rule's filters and exclusions that no tool of the tenant's catalogue has; what claims fill in is left out."""
    if not isinstance(engine, SnapshotEngine):
        return
    for number, rule in enumerate(policy.rules, start=1):
        if not any(each in (tenant, "*", "") or "{" in each for each in rule.tenants):
            continue
        for key, values in (*rule.filters.items(), *rule.exclude.items()):
            for value in values:
                try:
                    if "{" not in value:
                        engine.snapshot.filters.passing({key: (value,)}, of_policy=True)
                except InvalidArgumentError as error:
                    said = {"rule": rule.name or str(number), "key": key, "problem": error.problem}
                    _LOG.warning("no tool has a filter of the policy", extra=fields(tenant=tenant, **said))
