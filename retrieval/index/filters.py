"""Filters: which tools a request may see, by their metadata and their ids.

A filter has a key and values; a tool passes when it has one of the values of every key. A value is written in one of four ways:

| value | meaning |
|---|---|
| ``finance`` | a tool that has this value |
| ``pay*`` | a tool that has a value that begins so; in an access policy ``*`` alone: any value |
| ``!finance`` | not a tool that has this value |
| ``!pay*`` | not a tool that has a value that begins so |

What a value means is in its own characters alone: tools that have a value ``!finance`` or ``pay*`` change nothing in it. The key ``id`` is
the id of the tool, and ``effect`` what a call of it does: ``read``, ``idempotent`` or ``change``. An exclusion that no tool meets excludes
nothing.
"""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import nsmallest
from pathlib import Path
from typing import TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from ontology.errors import InvalidArgumentError
from ontology.tool import Tool
from ontology.tool_effects import Effect
from retrieval.index.bm25 import EFFECT_KEY, filter_pairs
from retrieval.index.lookup import Lookup, write_lookup
from retrieval.index.records import Records, write_records

FILTERS = "filters"
ID_KEY = "id"
_SHOWN, _SHOWN_CHARS = 20, 100
_NEAR = 1_000  # of the ids, those this near to an unknown one in their order are looked through
_VALUES = "filter_values"
_T = TypeVar("_T")


def write_filters(folder: Path, tools: Iterable[Tool]) -> None:
    """Write the table ``key=value`` → tools, and the values of every key."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    entries = []
    for number, tool in enumerate(tools):
        for key, value in filter_pairs(tool):
            values[key].add(value)
            entries.append((f"{key}={value}", number))
    write_lookup(folder, FILTERS, entries)
    write_records(folder / _VALUES, ({"key": key, "values": sorted(values[key])} for key in sorted(values)))


class FilterIndex:
    """The filters of a snapshot. Thread-safe. The tools are numbered in the order of their ids."""

    def __init__(
        self, folder: Path, tool_count: int, tool_id: Callable[[int], str], find_tool: Callable[[str], int | None]
    ) -> None:
        self._tools = Lookup(folder, FILTERS)
        rows = Records(folder / _VALUES, lambda row: (str(row["key"]), tuple(row["values"])))
        self._rows: Iterable[tuple[str, tuple[str, ...]]] = rows
        self._count = tool_count
        self._tool_id = tool_id
        self._find_tool = find_tool
        self._numbers: Sequence[int] = range(tool_count)

    @property
    def keys(self) -> dict[str, int]:
        """Map from every key of filters to the number of its values."""
        counts = {key: len(values) for key, values in self._values.items()}
        return dict(sorted({**counts, ID_KEY: len(self._numbers)}.items()))

    def tools_by_value(self, key: str) -> Iterator[tuple[str, NDArray[np.int32]]]:
        """Yield each value of a key of the metadata, sorted, with the tools that have it, ascending, int32."""
        values = self._values.get(key, ())
        yield from zip(values, self._tools.many([f"{key}={value}" for value in values]), strict=True)

    def passing(self, filters: Mapping[str, Sequence[str]], *, of_policy: bool = False) -> NDArray[np.bool_]:
        """Return the tools that pass every filter, bool [tools]."""
        passing = np.ones(self._count, dtype=bool)
        for key, values in sorted(filters.items()):
            known_key = key == ID_KEY or key in self._values
            if not known_key and not (values and all(value.startswith("!") for value in values)):
                problem = f"no tool has metadata of the key {key[:200]!r}"
                remedy = f"Known keys: {_listed(key, self.keys, len(self.keys))}"
                raise InvalidArgumentError(problem, subject="filters", remedy=remedy)
            if not values:
                remedy = "Give the allowed values, or leave the key out"
                raise InvalidArgumentError("the key has no values", subject=f"filters.{key}", remedy=remedy)
            alone = next((value for value in values if value in ("*", "!*")), None)
            if alone is not None and not of_policy:
                problem = f"{alone!r} alone is no pattern: every value begins so"
                remedy = "Write how the value begins, as in sal*; or leave it out"
                raise InvalidArgumentError(problem, subject=f"filters.{key}", remedy=remedy)
            wanted, unwanted = _parts(values)
            passing &= ~self._matching(key, unwanted)
            passing &= self._matching(key, wanted, required=True) if wanted else True
        return passing

    def passing_if_known(self, filters: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
        """The same for filters that were not written for this catalogue: a wanted value that no tool has lets no tool pass."""
        passing = np.ones(self._count, dtype=bool)
        for key, values in filters.items():
            wanted, unwanted = _parts(values)
            passing &= ~self._matching(key, unwanted)
            passing &= self._matching(key, wanted) if wanted or not values else True
        return passing

    def restricted(self, visible: NDArray[np.bool_], find_tool: Callable[[str], int | None]) -> FilterIndex:
        """Return the filters of some of the tools alone, under the same numbers: what only others have is unknown.
        ``visible``: these tools, bool [tools]. ``find_tool``: id of one of these → its number, or None."""
        index = copy.copy(self)
        index._tools = self._tools.kept(visible)
        index._find_tool = find_tool
        index._numbers = np.flatnonzero(visible).tolist()
        values = {}
        for key, known in self._values.items():
            found = index._tools.many([f"{key}={value}" for value in known])
            values[key] = tuple(value for value, tools in zip(known, found, strict=True) if len(tools))
        vars(index)["_values"] = {key: known for key, known in values.items() if known}
        return index

    def having(self, key: str, values: Sequence[str]) -> NDArray[np.bool_]:
        """Return the tools that have one of these values in exactly these characters, bool [tools]."""
        having = np.zeros(self._count, dtype=bool)
        for tools in self._having(key, values):
            having[tools] = True
        return having

    def _matching(self, key: str, values: Sequence[str], *, required: bool = False) -> NDArray[np.bool_]:
        """Return the tools that have one of these values, or one that begins as one of these patterns says, bool
        [tools]. All patterns together take one look at the values that begin so: a hundred patterns for the same values
        cost no more than one."""
        matching = np.zeros(self._count, dtype=bool)
        spans = []
        for value, tools in zip(values, self._having(key, values), strict=True):
            span = (0, 0)  # of the sorted ids or values those that begin so
            if value.endswith("*") and key == ID_KEY:
                span = _beginning(self._numbers, value[:-1], self._tool_id)
            elif value.endswith("*"):
                span = _beginning(self._values.get(key, ()), value[:-1], str)
            if required and not len(tools) and span[0] == span[1]:
                self._require(key, value)
            matching[tools] = True
            spans.append(span)
        for first, stop in _apart(spans):
            if key == ID_KEY:
                matching[np.asarray(self._numbers[first:stop], dtype=np.int32)] = True
            else:
                found = self._tools.many([f"{key}={value}" for value in self._values[key][first:stop]])
                matching[np.concatenate(found)] = True
        return matching

    def _require(self, key: str, value: str) -> None:
        """Refuse a value that no tool has; an effect is known without one."""
        if key == EFFECT_KEY and value in get_args(Effect):
            return
        known: Sequence[str] = self._values.get(key, ())
        if key == ID_KEY:  # ids that begin like the value: all of them would be a million strings in memory
            place = bisect_left(self._numbers, value.strip("!*"), key=self._tool_id)
            first = max(0, min(place - _NEAR // 2, len(self._numbers) - _NEAR))
            known = list(map(self._tool_id, self._numbers[first : first + _NEAR]))
        total = len(self._numbers) if key == ID_KEY else len(known)
        problem, remedy = f"no tool has the value {value[:200]!r}", f"Known values: {_listed(value, known, total)}"
        raise InvalidArgumentError(problem, subject=f"filters.{key}", remedy=remedy)

    def _having(self, key: str, values: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return for each value the tools that have it in exactly these characters."""
        if key != ID_KEY:
            return self._tools.many([f"{key}={value}" for value in values])
        numbers = [self._find_tool(value) for value in values]
        return [np.asarray([] if number is None else [number], dtype=np.int32) for number in numbers]

    @cached_property
    def _values(self) -> dict[str, tuple[str, ...]]:
        return dict(self._rows)


def _parts(values: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the wanted values, and the unwanted ones without their ``!``."""
    given = dict.fromkeys(values)
    return [each for each in given if each[:1] != "!"], [each[1:] for each in given if each[:1] == "!"]


def _beginning(sorted_values: Sequence[_T], start: str, text_of: Callable[[_T], str]) -> tuple[int, int]:
    """Return the first position whose text begins so, and the position after the last one."""
    first = bisect_left(sorted_values, start, key=text_of)
    return first, bisect_right(sorted_values, start, lo=first, key=lambda each: text_of(each)[: len(start)])


def _apart(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the same places without those that stand in several spans."""
    end = 0
    for first, stop in sorted(spans):
        if max(first, end) < stop:
            yield max(first, end), stop
            end = stop


def _listed(wanted: str, known: Iterable[str], total: int) -> str:
    """Return up to 20 of the known, those first that are like what is wanted, and how many more of the total there are."""
    folded = wanted.casefold().strip("!*")

    def distance(text: str) -> tuple[bool, int, str]:
        other = text.casefold()
        pairs = enumerate(zip(other, folded, strict=False))
        common = next((place for place, (one, two) in pairs if one != two), min(len(other), len(folded)))
        return other != folded, -common, text

    # Values of a document, for a model too: short, on one line, and without characters that nobody sees.
    near = nsmallest(_SHOWN, known, key=distance)
    plain = ("".join(each if each.isprintable() else "\ufffd" for each in text[:_SHOWN_CHARS]) for text in near)
    shown = ", ".join(told + "…" * (len(text) > _SHOWN_CHARS) for told, text in zip(plain, near, strict=True))
    return shown + (f" and {total - _SHOWN} more" if total > _SHOWN else "")
