"""Answers are grounded: every number and every quoted name must stand in a result of the run, or in what was asked.

The paper saw models answer from memory after a failure (section 6.4), and this notices it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ontology.json_values import canonical_text
from planners.graphseek.results import Result, ResultStore
from planners.graphseek.turn import StepRecord
from planners.query.numbers import WORDED_NUMBER, number_of
from planners.stores.graph_schema import GraphSchema, NodeType, RelationshipType

_CLAIM = re.compile(
    r"\"(?P<double>[^\"\n]{1,200})\"|“(?P<curly>[^”\n]{1,200})”|`(?P<code>[^`\n]{1,200})`|(?<!\w)'(?P<single>[^'\n]{1,200})'(?!\w)"
    r"|(?P<date>\b\d{4}-\d{2}(?:-\d{2})?\b)"
    rf"|(?P<worded>(?i:(?=[a-z]|\S+ dozen\b){WORDED_NUMBER})(?!(?:[-_./'’&+]|::)\w))"
    r"|(?P<number>(?<![\w.,-])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w]|[.,-]\d|-[A-Z]))(?P<percent>\s?%)?"
)
_ENUMERATION = re.compile(r"(?m)^(?P<mark>\s*(?:[-*•>#]+\s+)*\(?)\d{1,3}(?=[.)]\s)")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"\w+")
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_ABOUT = ("about", "approximately", "around", "nearly", "roughly", "≈", "~")
_BEFORE, _BEHIND = 5, 3  # words around a number that may be one name with it: "Busbar laser welding 0412"
_MOST_CLAIMS = 1_000  # of one answer, which has at most 20,000 characters
_MOST_MISSING = 8  # after which no others are looked for: each took about 5 s in a table of 200,000 rows
_EXACT = 1e-9  # relative: numbers go through decimal texts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """A number or a name of an answer, from ``start`` to ``end``; ``tolerance`` is half of the last digit that was written."""

    text: str
    start: int
    end: int
    number: float | None = None
    tolerance: float = 0.0


async def ungrounded(
    answer: str, *, question: str, schema: GraphSchema, records: Sequence[StepRecord], values: ResultStore
) -> list[str]:
    """Return the numbers and quoted names of an answer that stand nowhere, as they are written, each once: the first
    few, or that there are too many to check. What counts: values of results, what summaries and notes of results say,
    sizes of results, values of arguments that gave something, the question, and the names of the schema."""
    claims = list(_claims(answer))
    if len(claims) > _MOST_CLAIMS:
        return [f"{len(claims):,} numbers and names, of which {_MOST_CLAIMS:,} can be checked"]
    known = _Known(question, schema, records)
    found: dict[str, None] = {}
    for claim in claims:
        if claim.text in found or len(found) >= _MOST_MISSING:
            continue
        stands = known.has(claim.text) if claim.number is None else known.has_number(claim)
        if not (stands or await _in_results(claim, answer, values)):
            found[claim.text] = None
    return [*found]


def _claims(answer: str) -> Iterator[_Claim]:
    text = _ENUMERATION.sub(lambda found: found["mark"] + " " * (len(found[0]) - len(found["mark"])), answer)
    for match in _CLAIM.finditer(text):
        kind = match.lastgroup or ""
        if match["number"] is None and kind != "worded":
            if bare := match[kind].strip(" .,;:"):
                yield _Claim(text=bare, start=match.start(kind), end=match.end(kind))
        elif match[0].lower() != "one":  # "one of them"
            yield _number(match, text)


def _number(match: re.Match[str], text: str) -> _Claim:
    written = match["number"] or ""
    value = float(written.replace(",", "").replace("−", "-")) if written else float(number_of(match["worded"]) or 0)
    decimals = len(written.partition("e")[0].partition(".")[2])
    following, before = _WORD.match(text, match.end() + 1), text[: match.start()].split()[-1:]
    scale = _SCALES.get(following[0].lower(), 1.0) if following else 1.0
    digit = max(scale, _SCALES.get(match[0].lower().split()[-1], 1.0))  # the last that was written: "two thousand"
    is_rounded = decimals > 0 or digit > 1 or (before and before[0].lower().lstrip("(") in _ABOUT)
    tolerance = 0.5 * 10.0**-decimals * digit * (1 + _EXACT) if is_rounded else 0.0
    bare, number = match[0].strip(), value * scale
    return _Claim(text=bare, start=match.start(), end=match.end(), number=number, tolerance=tolerance)


class _Known:
    """What is known without asking the results."""

    def __init__(self, question: str, schema: GraphSchema, records: Sequence[StepRecord]) -> None:
        texts = [question]
        numbers = [each.number for each in _claims(question) if each.number is not None]
        for invocation, outcome in (pair for record in records for pair in record.pairs):
            if isinstance(outcome, Result):
                numbers.append(float(outcome.size))
                texts += [outcome.summary, *outcome.notes]
                texts += [canonical_text(dict(invocation.arguments))] if outcome.size else []
        owners: list[NodeType | RelationshipType] = [*schema.nodes, *schema.relationships]
        for owner in owners:
            texts += [owner.name, *(each.name for each in owner.properties)]
        self._text = _folded("\n".join(texts))
        self._numbers = [*numbers, *_numbers(self._text)]

    def has(self, name: str) -> bool:
        """Whether a name stands in a text as whole words."""
        return re.search(rf"(?<!\w){re.escape(_folded(name))}(?!\w)", self._text) is not None

    def has_number(self, claim: _Claim) -> bool:
        """Whether a number is known, as it is or in words; a percentage also as a share."""
        for value, tolerance in _readings(claim):
            if any(abs(each - value) <= tolerance for each in self._numbers):
                return True
        return not claim.text[:1].isdigit() and self.has(claim.text)


def _readings(claim: _Claim) -> list[tuple[float, float]]:
    """The values that a number may stand for, each with its tolerance: of a percentage also the share."""
    number = claim.number or 0.0
    scales = (1.0, 0.01) if claim.text.endswith("%") else (1.0,)
    return [(number * each, claim.tolerance * each + _EXACT * max(1.0, abs(number * each))) for each in scales]


async def _in_results(claim: _Claim, answer: str, values: ResultStore) -> bool:
    if claim.number is None:
        return await values.has_value(claim.text) is not None
    for value, tolerance in _readings(claim):
        if await values.has_value(value, tolerance=tolerance) is not None:
            return True
    before = [each.start() for each in _WORD.finditer(answer, max(0, claim.start - 120), claim.start)][-_BEFORE:]
    behind = [each.end() for each in _WORD.finditer(answer, claim.end, claim.end + 80)][:_BEHIND]
    texts = [answer[start:end] for start in (claim.start, *reversed(before)) for end in (claim.end, *behind)]
    names = tuple(text for text in texts if text != claim.text and "\n" not in text)
    return bool(names) and await values.has_value(names) is not None


def _numbers(text: str) -> Iterator[float]:
    return (float(each.replace(",", "")) for each in _NUMBER.findall(text))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
