"""The index of value shapes: what a value in a text looks like, and which parameters and entities have such values."""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from ontology.errors import SnapshotCorruptError
from ontology.value_shape import KIND_SHAPES, MAX_VALUE_CHARS, ShapeFacts, ShapeUse, ValueShape, facts_of
from retrieval.index.records import Records, write_records

_FILE = "value_shapes"
_MAX_TOKENS = 400  # distinct values that are looked up in one text
_MAX_WAYS = 5_000_000  # ways to match that are tried for one text: at worst about a second. Chosen, not tuned.
_TOKEN = re.compile(r"[^\s\"'`<>()\[\]{},;|“”‘’«»]{3,256}")
_PARTS = re.compile(r"[^/:=#?&]{3,64}")
_SPACED = tuple(re.compile(rf"(?<![\w+]){KIND_SHAPES[kind].pattern}(?!\w)", re.ASCII) for kind in ("phone", "iban"))
_LEADING, _TRAILING = "#*_~-=", ".:!?*_~-=…"


@dataclass(frozen=True, slots=True)
class ValueUse:
    """A parameter with values of a shape; the fields are those of :class:`ontology.value_shape.ShapeUse`."""

    tool: int  # the tool's number
    parameter: str
    entity: str
    output: bool
    source: str
    is_widened: bool


@dataclass(frozen=True, slots=True)
class ShapeMatch:
    """A value in a text that has a shape of the index."""

    start: int  # its first character in the text; ``text[start:end]`` is the value
    end: int
    text: str
    shape: ValueShape
    specificity: float  # bits that a text must agree in to have the shape; more is more specific
    uses: tuple[ValueUse, ...]

    @property
    def entities(self) -> tuple[str, ...]:
        """The entities of its parameters, sorted."""
        return tuple(sorted({use.entity for use in self.uses if use.entity}))


def write_value_shapes(folder: Path, uses: Iterable[ShapeUse], numbers: Mapping[str, int]) -> None:
    """Write the index."""
    rows: defaultdict[ValueShape, list[list[Any]]] = defaultdict(list)
    for use in uses:
        rows[use.shape].append([numbers[use.tool], use.parameter, use.entity, use.output, use.source, use.is_widened])
    shapes = ({"pattern": each.pattern, "kind": each.kind, "uses": sorted(rows[each])} for each in sorted(rows))
    write_records(folder / _FILE, shapes)


@dataclass(slots=True)
class _Known:
    """The entries of the values of one text that were looked up."""

    entries: dict[str, list[_Entry]] = field(default_factory=dict)
    ways: float = _MAX_WAYS  # how many ways to match may still be tried

    @property
    def is_full(self) -> bool:
        return len(self.entries) >= _MAX_TOKENS or self.ways < 0


@dataclass(frozen=True)
class _Entry:
    shape: ValueShape
    facts: ShapeFacts
    compiled: re.Pattern[str]
    uses: tuple[ValueUse, ...]

    @property
    def is_widened(self) -> bool:
        return all(use.is_widened for use in self.uses)


class ValueShapes:
    """The index of value shapes of a snapshot of so many tools. It is read at the first use."""

    def __init__(self, folder: Path, tool_count: int) -> None:
        self._path = folder / _FILE
        self._tool_count = tool_count
        self._visible: Callable[[int], bool] | None = None
        self._rows: Records[Any] = Records(self._path, lambda row: row)

    def __len__(self) -> int:
        return len(self._rows)

    def restricted(self, visible: Callable[[int], bool]) -> ValueShapes:
        """Return the index of some of the tools alone: a shape that only others use is unknown. ``visible``: whether
        the tool with this number is one of them."""
        _ = self._by_first  # read once, for all restrictions
        index = copy.copy(self)
        index._visible = visible
        return index

    def match(self, text: str) -> list[ShapeMatch]:
        """Return the values in a text that have a shape of the index, the most specific first. A value that has a shape that
        was shown is not matched with shapes of any word (``[A-Z]{2,10}-\\d{2,5}``). Values that follow 400 distinct others
        are not looked up, nor those after five million ways to match: so the time has a bound."""
        found: list[ShapeMatch] = []
        known = _Known()
        for start, value in _values(text):
            if value not in known.entries and known.is_full:
                break
            entries = self._entries_of(value, known)
            found.extend(_match(start, value, entry) for entry in entries)
            for part in () if entries else _PARTS.finditer(value):  # of ``PO/4711`` and ``id=INC0012345``
                if not known.is_full and part[0] != value and _may_be_value(part[0]):
                    of_part = self._entries_of(part[0], known)
                    found.extend(_match(start + part.start(), part[0], entry) for entry in of_part)
        taken = {(match.start, match.end) for match in found}
        for pattern in _SPACED:
            for spaced in islice(pattern.finditer(text), _MAX_TOKENS):
                if spaced.span() not in taken:
                    entries = self._entries_of(spaced[0], known)
                    found.extend(_match(spaced.start(), spaced[0], entry) for entry in entries)
        return sorted(found, key=lambda match: (-match.specificity, match.start, match.shape))

    def _entries_of(self, value: str, known: _Known) -> list[_Entry]:
        if value in known.entries:
            return known.entries[value]
        found: list[_Entry] = []
        for entry in self._by_first.get(value[0], ()):
            fits_length = entry.shape.kind or len(value) <= MAX_VALUE_CHARS
            if not fits_length or (value.isdigit() and not entry.facts.digits_only):
                continue
            known.ways -= entry.facts.ways
            if known.ways < 0:
                break
            uses = tuple(use for use in entry.uses if self._visible is None or self._visible(use.tool))
            if uses and entry.compiled.fullmatch(value):
                found.append(replace(entry, uses=uses))
        known.entries[value] = [entry for entry in found if not entry.is_widened] or found
        return known.entries[value]

    @cached_property
    def _by_first(self) -> dict[str, list[_Entry]]:
        """The shapes by the characters with which their values begin."""
        found: defaultdict[str, list[_Entry]] = defaultdict(list)
        shapes: set[ValueShape] = set()
        for row in self._rows:
            try:
                shape = ValueShape(row["pattern"], row["kind"])
                uses = tuple(ValueUse(*_checked(values)) for values in row["uses"])
                if not uses or not all(0 <= use.tool < self._tool_count for use in uses):
                    raise ValueError("a use of no tool")
                facts = facts_of(shape)
                entry = _Entry(shape, facts, re.compile(shape.pattern, facts.flags), uses)
                if shape in shapes:  # so many equal rows cost no more than one
                    raise ValueError(f"the shape {shape.pattern!r} has two rows")
            except (KeyError, TypeError, ValueError) as error:
                problem, subject = (
                    f"the index of value shapes has an invalid row: {error}",
                    self._path.with_suffix(".jsonl"),
                )
                raise SnapshotCorruptError(problem, subject=str(subject), remedy="Build again") from error
            shapes.add(shape)
            for first in sorted(facts.firsts):
                found[first].append(entry)
        return dict(found)


_TYPES = [int, str, str, bool, str, bool]  # of the fields of a use


def _checked(values: Any) -> list[Any]:
    if [type(value) for value in values] != _TYPES:
        raise TypeError(f"{str(values)[:100]} is no use of a shape")
    return list(values)


def _match(start: int, value: str, entry: _Entry) -> ShapeMatch:
    return ShapeMatch(start, start + len(value), value, entry.shape, entry.facts.specificity, entry.uses)


def _values(text: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a text that may be values, each with the position of its first character."""
    for token in _TOKEN.finditer(text):
        value = token[0].rstrip(_TRAILING)
        start = len(value) - len(value.lstrip(_LEADING))
        if len(value) - start > 2 and _may_be_value(value):
            yield token.start() + start, value[start:]


def _may_be_value(text: str) -> bool:
    """Whether a word has a digit, or a character of an address. Other words have no specific shape."""
    return any(one.isdigit() or one in "@/" for one in text)
