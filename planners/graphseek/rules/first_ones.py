"""The first ones by a value, with all that share the value of the last one: of what is asked for, and on the way to it."""

from __future__ import annotations

from planners.graphseek.results.result import Cell, Result
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.rules.question_reading import TIES, Reading, Stop
from planners.graphseek.rules.relation_choice import TwoReadingsError
from planners.graphseek.rules.replayed_calls import ReplayedCalls
from planners.graphseek.rules.set_finding import SetFinding, filters_of

__all__ = ["find_ranked_stops", "first_with_ties"]


async def first_with_ties(
    page: Result, by: str, first: int, calls: ReplayedCalls, results: ResultStore, *, descending: bool
) -> tuple[Result, Cell]:
    """Return the first ones of a page with all that share the value of the last one, and that value.

    :param by: the column that the page is ordered by.
    """
    at = [each.name for each in page.columns].index(by)
    last = (await results.rows(page.handle, limit=first))[-1][at]
    kept = [{"key": by, "operator": ">=" if descending else "<=", "value": last}]
    found = calls.result("filter", handle=page.handle, filters=kept, order_by=by, descending=descending)
    if found.size == page.size and page.cut:
        calls.notes.append(f"more than {found.size:,} share the value {last}; these are some of them")
    return found, last


async def find_ranked_stops(reading: Reading, calls: ReplayedCalls, results: ResultStore, sets: SetFinding) -> None:
    """Find the first ones that chains go on from: all that share the greatest value are followed.

    :raises EmptyError: when what stands behind one of them leads to nothing.
    :raises TwoReadingsError: when it is not said by which property they are the first ones.
    """
    for chain in (*reading.chains, *reading.without):
        for at, stop in reversed([*enumerate(chain)]):
            if stop.rank is not None:
                reading.planned.add("top")
                behind = chain[at + 1 :]
                among = sets.followed(behind, near=stop) if behind else None
                stop.handle = await _first_of(stop, among, calls, results)
                del chain[at + 1 :]


async def _first_of(stop: Stop, among: Result | None, calls: ReplayedCalls, results: ResultStore) -> str:
    """Return the handle of the first ones.

    :param among: of which they are; None: of all.
    """
    keys = [each.key.name for each in stop.rank.properties if each.owner in stop.types] if stop.rank else []
    if stop.rank is None or len(keys) != 1:
        raise TwoReadingsError(f"The first ones may be found by {' or by '.join(keys)}. Which is meant?")
    (key,), descending = keys, stop.rank.descending
    order = {"order_by": key, "descending": descending, "limit": 1 + TIES}
    if among is not None:
        page = calls.result("filter", handle=among.handle, **order)
    else:
        page = calls.result("get_nodes", node_type=stop.types[0], **filters_of(stop.conditions), **order)
    if page.size <= 1:
        return page.handle
    found, value = await first_with_ties(page, key, 1, calls, results, descending=descending)
    if found.size > 1:
        calls.notes.append(f"{found.size:,} of type {stop.types[0]} share the {key} {value}; all of them were followed")
    return found.handle
