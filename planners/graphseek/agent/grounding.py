"""Grounding: every number and every proper name of an answer must stand in a result of the run, or in what was asked.

The paper saw models answer from memory after a failure (section 6.4); this is what notices it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ontology.names import words
from planners.graphseek.agent.answer_claims import Claim, claims_of
from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.results.result import Result, Sought
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.turn import Question, StepRecord
from planners.stores.graph_schema import GraphSchema

__all__ = ["ungrounded"]

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"\w+")
_CUT = "…"
_LEAST_PREFIX = 3  # characters of a name that is the beginning of a longer one
_BEFORE, _BEHIND = 5, 3  # words around a number or name that may belong to it: "Busbar laser welding 0412"
_MOST_CLAIMS = 1_000  # of one answer; chosen without data: an answer has at most 20,000 characters
_MOST_MISSING = 8  # after which no others are looked for: each took about 5 s in a table of 200,000 rows
_EXACT = 1e-9  # relative: numbers go through decimal texts


async def ungrounded(
    answer: str,
    *,
    question: Question,
    schema: GraphSchema,
    catalog: SemanticCatalog,
    records: Sequence[StepRecord],
    values: ResultStore,
) -> tuple[str, ...]:
    """Return the numbers and names of an answer that stand nowhere, as they are written, each once: the first few, or that there are
    too many claims to check.

    What counts: values of results, what summaries and notes of results say, sizes of results, values of arguments that gave something,
    the question and those before it. Earlier answers do not count: their results do. Names of the schema and the catalog's own words are vocabulary, not facts.
    """
    known, looked_up = _Known(question, schema, catalog, records), _LookedUp(values)
    claims = claims_of(answer)
    if len(claims) > _MOST_CLAIMS:
        return (f"{len(claims):,} numbers and names, of which {_MOST_CLAIMS:,} can be checked",)
    found: dict[str, None] = {}
    for claim in claims:
        if len(found) >= _MOST_MISSING:
            break
        if claim.number is not None:
            if not await _number_stands(claim, answer, known, looked_up):
                found[claim.text.strip()] = None
        else:
            found.update(dict.fromkeys(await _missing_names(claim, answer, known, looked_up)))
    return tuple(found)


class _LookedUp:
    """Values that were looked for in the results, each once."""

    def __init__(self, results: ResultStore) -> None:
        self._results = results
        self._found: dict[tuple[Sought, float], bool] = {}

    async def has(self, value: Sought, tolerance: float = 0.0) -> bool:
        key = (value, tolerance)
        if key not in self._found:
            self._found[key] = await self._results.has_value(value, tolerance=tolerance) is not None
        return self._found[key]


class _Known:
    """What is known without asking the results."""

    def __init__(
        self, question: Question, schema: GraphSchema, catalog: SemanticCatalog, records: Sequence[StepRecord]
    ) -> None:
        texts = [question.text, *(asked for asked, _ in question.earlier)]
        numbers = [each.number for text in texts for each in claims_of(text) if each.number is not None]
        for invocation, outcome in (pair for record in records for pair in record.pairs):
            if isinstance(outcome, Result):
                numbers.append(float(outcome.size))
                texts += [outcome.summary, *outcome.notes]
                if outcome.size:
                    texts += [str(each) for each in invocation.scalars()]
        self.text = _folded("\n".join(texts))
        self.numbers = [*numbers, *(float(each.replace(",", "")) for each in _NUMBER.findall(self.text))]
        self.vocabulary = frozenset(_vocabulary(schema, catalog))

    def has_number(self, value: float, tolerance: float) -> bool:
        return any(abs(each - value) <= tolerance + _EXACT * max(1.0, abs(value)) for each in self.numbers)

    def has(self, name: str) -> bool:
        """Whether a name is vocabulary, or stands in a text."""
        return self.is_vocabulary(name) or self.has_name(name)

    def has_name(self, name: str) -> bool:
        """Whether a name stands in a text as whole words."""
        wanted = _folded(name)
        return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", self.text) is not None

    def is_vocabulary(self, name: str) -> bool:
        said = words(name)
        return bool(said) and all(_stem(each) in self.vocabulary for each in said)


async def _number_stands(claim: Claim, answer: str, known: _Known, values: _LookedUp) -> bool:
    number = claim.number or 0.0
    if not claim.text[:1].isdigit() and known.has_name(claim.text):
        return True
    readings = [(number, claim.tolerance)]
    if claim.text.endswith("%"):
        readings.append((number / 100, claim.tolerance / 100))
    for value, tolerance in readings:
        if known.has_number(value, tolerance):
            return True
        if await values.has(value, tolerance + _EXACT * max(1.0, abs(value))):
            return True
    return await _is_part_of_name(claim, answer, values)


async def _missing_names(claim: Claim, answer: str, known: _Known, values: _LookedUp) -> list[str]:
    """Return the parts of a name, or of several in a row, that stand nowhere: the longest that do are taken out first."""
    if await _name_stands(claim.text, known, values):
        return []
    parts = claim.parts or ((claim.start, claim.end),)
    missing: list[str] = []
    at = 0
    while at < len(parts):
        texts = [answer[parts[at][0] : end] for _, end in parts[at:]]
        told = max((nth for nth, text in enumerate(texts, 1) if known.has(_bare(text))), default=0)
        if count := max(told, await _longest(texts, values)):
            at += count
            continue
        start, end = parts[at]
        alone = Claim(text=texts[0], start=start, end=end)
        if not await _is_part_of_name(alone, answer, values):
            missing.append(alone.text)
        at += 1
    return [claim.text] if len(missing) == len(parts) else missing


async def _name_stands(name: str, known: _Known, values: _LookedUp) -> bool:
    bare = _bare(name)
    return known.has(bare) or await _in_results(bare, values)


async def _in_results(bare: str, values: _LookedUp) -> bool:
    return await values.has(bare) or (len(bare) >= _LEAST_PREFIX and await values.has(bare + _CUT))


async def _longest(texts: Sequence[str], values: _LookedUp) -> int:
    """Return how many words the longest of some names has that stands in a result; each has one word more than the one before it, so
    none stands behind one that begins no value."""
    longest = 0
    for nth, text in enumerate(map(_bare, texts), 1):
        if await _in_results(text, values):
            longest = nth
        elif not await values.has(text + _CUT):
            break
    return longest


def _bare(name: str) -> str:
    return name.removesuffix("'s").removesuffix("’s")


async def _is_part_of_name(claim: Claim, answer: str, values: _LookedUp) -> bool:
    """Whether a claim with words before or behind it is the whole of a value."""
    before = [each.start() for each in _WORD.finditer(answer, max(0, claim.start - 120), claim.start)][-_BEFORE:]
    behind = [each.end() for each in _WORD.finditer(answer, claim.end, claim.end + 80)][:_BEHIND]
    texts = [answer[start:end] for start in (claim.start, *reversed(before)) for end in (claim.end, *behind)]
    return await values.has(tuple(text for text in texts if text != claim.text and "\n" not in text))


def _vocabulary(schema: GraphSchema, catalog: SemanticCatalog) -> Iterable[str]:
    names = [*(each.name for each in schema.nodes), *(each.name for each in schema.relationships)]
    for keys in (*(each.properties for each in schema.nodes), *(each.properties for each in schema.relationships)):
        names += [key.name for key in keys]
    for node in catalog.nodes.values():
        names += node.words
    described = [each.properties for each in catalog.nodes.values()]
    described += [each.properties for each in catalog.relationships.values()]
    for properties in described:
        for key in properties.values():
            names += [*key.words, *key.values, *key.groups, key.unit]
    for name in (*names, *catalog.about.split()):
        yield from map(_stem, words(name))


def _stem(word: str) -> str:
    """Return a word without case and plural."""
    lower = word.casefold()
    return lower[:-3] + "y" if lower.endswith("ies") else lower.removesuffix("s")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
