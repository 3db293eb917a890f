"""Filters of the access policy that no tool of a catalogue has: who they are for sees nothing, or too much, and nobody says why."""

from __future__ import annotations

import logging

from ontology.errors import InvalidArgumentError
from retrieval.engine import Engine
from retrieval.snapshot_engine import SnapshotEngine
from services.server.access.policy import Policy
from services.server.logs import fields

__all__ = ["warn_of_unknown_filters"]

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
