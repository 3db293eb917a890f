"""The index of value shapes: what a value in a text looks like, and which parameters and entities have such values."""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import re2

from ontology.errors import SnapshotCorruptError
from ontology.value_shape import KIND_SHAPES, MAX_VALUE_CHARS, ShapeFacts, ShapeUse, ValueShape, facts_of
from retrieval.index.records import Records, write_records

_FILE = "value_shapes"
_MAX_TOKENS = 400  # distinct values that are looked up in one text
# Instructions times characters that are looked up: at worst about a second. Chosen, not tuned.
_MAX_STEPS = 300_000_000
# Memory of RE2 for the states that it has met. With less than some 160 bytes an instruction it would match nothing.
_LEAST_BYTES, _BYTES_AN_INSTRUCTION = 2**24, 256
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


class _Entry(NamedTuple):
    shape: ValueShape
    facts: ShapeFacts
    uses: tuple[ValueUse, ...]


class _Shapes(NamedTuple):
    entries: list[_Entry]
    set: Any  # of RE2; finds the places of the entries that a value has
    most_chars: int  # of the values that are looked up in one text


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
        _ = self._shapes  # read once, for all restrictions
        index = copy.copy(self)
        index._visible = visible
        return index

    def match(self, text: str) -> list[ShapeMatch]:
        """Return the values in a text that have a shape of the index, the most specific first. A value that has a shape that
        was shown is not matched with shapes of any word (``[A-Z]{2,10}-\\d{2,5}``). Values that follow 400 distinct others,
        fewer in an index of ten thousand shapes, are not looked up: so the time has a bound."""
        found: list[ShapeMatch] = []
        known: dict[str, list[_Entry]] = {}
        for start, value in _values(text):
            whole = self._matches(start, value, known)
            found += whole
            for part in () if whole else _PARTS.finditer(value):  # of ``PO/4711`` and ``id=INC0012345``
                if part[0] != value and _may_be_value(part[0]):
                    found += self._matches(start + part.start(), part[0], known)
        taken = {(match.start, match.end) for match in found}
        for pattern in _SPACED:
            for spaced in islice(pattern.finditer(text), _MAX_TOKENS):
                if spaced.span() not in taken:
                    found += self._matches(spaced.start(), spaced[0], known)
        return sorted(found, key=lambda match: (-match.specificity, match.start, match.shape))

    def _matches(self, start: int, value: str, known: dict[str, list[_Entry]]) -> list[ShapeMatch]:
        shapes = self._shapes
        if value not in known and len(known) < _MAX_TOKENS and sum(map(len, known)) < shapes.most_chars:
            found: list[_Entry] = []
            for number in shapes.set.Match(value.encode("utf-8", "replace")) or ():
                shape, facts, of_all = shapes.entries[number]
                uses = tuple(use for use in of_all if self._visible is None or self._visible(use.tool))
                fits_length = shape.kind or len(value) <= MAX_VALUE_CHARS
                if uses and fits_length and (facts.digits_only or not value.isdigit()):
                    found.append(_Entry(shape, facts, uses))
            known[value] = [entry for entry in found if not all(use.is_widened for use in entry.uses)] or found
        end = start + len(value)
        return [
            ShapeMatch(start, end, value, shape, facts.specificity, uses) for shape, facts, uses in known.get(value, ())
        ]

    @cached_property
    def _shapes(self) -> _Shapes:
        entries: dict[ValueShape, _Entry] = {}
        for row in self._rows:
            try:
                shape = ValueShape(row["pattern"], row["kind"])
                uses = tuple(ValueUse(*_checked(values)) for values in row["uses"])
                if not uses or not all(0 <= use.tool < self._tool_count for use in uses):
                    raise ValueError("a use of no tool")
                if shape in entries:  # so many equal rows cost no more than one
                    raise ValueError(f"the shape {shape.pattern!r} has two rows")
                entries[shape] = _Entry(shape, facts_of(shape), uses)
            except (KeyError, TypeError, ValueError) as error:
                problem, subject = f"the index of value shapes has an invalid row: {error}", f"{self._path}.jsonl"
                raise SnapshotCorruptError(problem, subject=subject, remedy="Build again") from error
        instructions = 1 + sum(entry.facts.instructions for entry in entries.values())
        options = re2.Options()
        options.max_mem = _LEAST_BYTES + _BYTES_AN_INSTRUCTION * instructions
        set_ = re2.Set.FullMatchSet(options)
        for entry in entries.values():
            set_.Add(entry.facts.expression)
        set_.Compile()
        return _Shapes(list(entries.values()), set_, _MAX_STEPS // instructions)


_TYPES = [int, str, str, bool, str, bool]  # of the fields of a use


def _checked(values: Any) -> list[Any]:
    if [type(value) for value in values] != _TYPES:
        raise TypeError(f"{str(values)[:100]} is no use of a shape")
    return list(values)


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
