"""The further requests of a run: those that no tool serves, and long tasks; each kind in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from datagen.long_tasks import make_long_tasks
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.run.make_requests import RunResult
from datagen.unanswerable import make_unanswerable
from datagen.validation.rules_validator import rules_validators
from ontology.files import disk_errors, write_rows
from services.jobs.plans import DatagenPlan

__all__ = ["LONG_TASKS_FILE", "UNANSWERABLE_FILE", "FurtherRequests", "write_further"]

UNANSWERABLE_FILE = "unanswerable.jsonl"
LONG_TASKS_FILE = "long_tasks.jsonl"


@dataclass(frozen=True, kw_only=True)
class FurtherRequests:
    """How many were made, and why not more.

    :param made: map from file to number of requests, for the files that were asked for.
    :param wanted: likewise.
    :param reasons: map from file to what was left out, one sentence each.
    :param absent: the kinds of requests that no tool serves for which nothing was found, one sentence each.
    """

    made: Mapping[str, int]
    wanted: Mapping[str, int]
    reasons: Mapping[str, tuple[str, ...]]
    absent: tuple[str, ...] = ()


def write_further(plan: DatagenPlan, catalogue: ProfiledCatalogue, made: RunResult) -> FurtherRequests:
    """Write the further requests that a plan asks for; a file of an earlier run that it does not ask for is removed.

    :raises StorageError: when a file cannot be written.
    """
    requests = made.generated.requests
    counts: dict[str, int] = {}
    reasons: dict[str, tuple[str, ...]] = {}
    absent: tuple[str, ...] = ()
    wanted = {UNANSWERABLE_FILE: plan.unanswerable, LONG_TASKS_FILE: plan.long}
    for name, count in wanted.items():
        if not count:
            with disk_errors(plan.out):
                (plan.out / name).unlink(missing_ok=True)
    if plan.unanswerable:
        none = make_unanswerable(catalogue, requests, plan.unanswerable, seed=plan.seed)
        counts[UNANSWERABLE_FILE], reasons[UNANSWERABLE_FILE] = len(none.requests), none.left_out
        absent = none.absent
        write_rows(plan.out / UNANSWERABLE_FILE, (one.to_json() for one in none.requests))
    if plan.long:
        validators = rules_validators(catalogue, made.rp)
        long = make_long_tasks(catalogue, requests, validators, plan.long, seed=plan.seed)
        counts[LONG_TASKS_FILE] = len(long.tasks)
        reasons[LONG_TASKS_FILE] = (long.shortage,) if long.shortage else ()
        write_rows(plan.out / LONG_TASKS_FILE, (one.to_json() for one in long.tasks))
    return FurtherRequests(
        made=counts, wanted={name: count for name, count in wanted.items() if count}, reasons=reasons, absent=absent
    )
