"""The analysed request: its typed values, vector, weighted terms and n-grams, computed once; and the same of its clauses."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

from inference.encoder import Encoder, Floats1d
from inference.minilm import encode_clauses
from ontology.files import read_yaml
from ontology.names import is_verb, verb_lemma, words
from retrieval.index.bm25 import STOP_WORDS, ngrams, terms
from retrieval.query.typed_values import LEAST_SPECIFIC, VALUE_WORDS, TypedValue, kind_of_token

Spans: TypeAlias = tuple[tuple[int, int], ...]  # places in a request, each its start and its end

MAX_CLAUSES = 8  # the rest of a longer request stays in the last clause
_MIN_TERMS = 3
# The look-behinds make a run of separators match from its start only: without them a long run takes quadratic time.
_SEPARATOR = re.compile(
    r"(?<![.;?!:])[.;?!\n:]+\s+|[;\n]|,\s+"
    r"|(?<!\s)\s+(?:and then|then|(?P<joint>and|or)|but|if|after|before|also|so that|when|once|using|based on)\s+",
    re.IGNORECASE,
)
_NEXT_WORDS = re.compile(r"([^\W\d_]{1,40}(?:['’][^\W\d_]{1,3})?)(?:\s+([^\W_]{1,40}))?")
# "cash flow and profit and loss": no imperative. Chosen, not tuned.
_NOT_AFTER_VERB = frozenset("and or of is are was were".split())


def clause_spans(text: str, values: Sequence[TypedValue] = ()) -> list[Spans]:
    """The places of the clauses of a request: the parts that each is joined of; all of the text where it has only one. A part with
    fewer than three index terms is joined to the part before it, the first one to the next.
    ``values``: the typed values of the request in order; inside them it is not split."""
    found: list[Spans] = []
    counts: list[int] = []
    for start, end in _parts(text, values):
        count = len(terms(text[start:end]))
        if found and (count < _MIN_TERMS or len(found) == MAX_CLAUSES):
            found[-1] = (*found[-1], (start, end))
            counts[-1] += count
        else:
            found.append(((start, end),))
            counts.append(count)
    if len(found) > 1 and counts[0] < _MIN_TERMS:
        found[:2] = [(*found[0], *found[1])]
    return found if len(found) > 1 else [((0, len(text)),)]


def _parts(text: str, values: Sequence[TypedValue]) -> Iterator[tuple[int, int]]:
    """Yield the parts between separators, without white space around them; none is empty."""
    others, at = iter(values), 0
    value = next(others, None)
    for cut in (*_SEPARATOR.finditer(text), None):
        start, end = cut.span() if cut else (len(text), len(text))
        while value is not None and value.end <= start:
            value = next(others, None)
        if cut and ((value is not None and value.start < end) or (cut["joint"] and not _starts_clause(text, end))):
            continue
        part = text[at:start]
        if part.strip():
            left = at + len(part) - len(part.lstrip())
            yield left, left + len(part.strip())
        at = end


def _starts_clause(text: str, at: int) -> bool:
    """Whether what follows *and* or *or* is a clause, and not the second half of a noun phrase: "profit and loss". A
    clause starts with an imperative or a gerund, or with a word without a meaning of its own ("the", "my", "what")."""
    match = _NEXT_WORDS.match(text, at)
    if match is None:
        return True
    word, after = match[1].lower(), (match[2] or "").lower()
    if word in STOP_WORDS or "'" in word or "’" in word:
        return True
    return is_verb(verb_lemma(word)) if word.endswith("ing") else is_verb(word) and after not in _NOT_AFTER_VERB


_FILE = Path(__file__).with_name("everyday_verbs.yaml")
_GAP = 3  # words that may stand between the words of a phrase: "tick the first two off"


def formal_terms(text: str) -> list[str]:
    """The index terms that the everyday phrases of a text stand for, distinct, in the order of the phrases."""
    said = [verb_lemma(word) for word in words(text)]
    found: dict[str, None] = {}
    for at, word in enumerate(said):
        for rest, meaning in _phrases().get(word, ()):
            place = at + 1
            for other in rest:
                window = said[place : place + _GAP + 1]
                if other not in window:
                    break
                place += window.index(other) + 1
            else:
                found.update(dict.fromkeys(meaning))
    return list(found)


@cache
def _phrases() -> Mapping[str, Sequence[tuple[Sequence[str], Sequence[str]]]]:
    """The phrases by their first word: the other words, and the terms that they stand for."""
    found: defaultdict[str, list[tuple[Sequence[str], Sequence[str]]]] = defaultdict(list)
    for phrase, meaning in read_yaml(_FILE).items():
        first, *rest = (verb_lemma(word) for word in words(phrase))
        found[first].append((rest, terms(meaning)))
    return found


# The kinds that are replaced, a path segment by segment. Others are words too: a quoted text is often the name of what is wanted.
_REPLACED = frozenset(
    "url domain email arn ip iban phone uuid identifier code channel handle file path repository branch variable".split()
) | {"hex digest"}
_MOST_ENTITIES = 2  # a shape of more kinds of things says none of them
_MAX_ADDRESS_WORDS = 4
_SCHEME = re.compile(r"\A[a-z0-9]{1,10}://")
_WORD = re.compile(r"[^\W\d_]{3,40}")
_SEGMENT = re.compile(r"[^/\\{}]+")


def split_at_values(text: str, values: Sequence[TypedValue], spans: Spans) -> Iterator[tuple[str, TypedValue | None]]:
    """Yield the pieces of parts of a text in order: words with None, and each value that stands for other words.
    Between two parts comes a space. It takes time linear in their number and in that of the values."""
    replaced = (value for value in values if value.kind in _REPLACED)
    value = next(replaced, None)
    for number, (start, end) in enumerate(spans):
        if number:
            yield " ", None
        at = start
        while value is not None and value.start < end:
            if at <= value.start:
                yield text[at : value.start].replace("`", ""), None
                yield from _path_pieces(value) if value.kind == "path" else ((value.text, value),)
                at = value.end
            value = next(replaced, None)
        yield text[at:end].replace("`", ""), None


def _path_pieces(path: TypedValue) -> Iterator[tuple[str, TypedValue | None]]:
    """The segments of a path: words, and the values among them: ``/orders/{orderId}/items/PO-4711``."""
    for number, match in enumerate(_SEGMENT.finditer(path.text)):
        segment, start = match[0], path.start + match.start()
        if number:
            yield " ", None
        if kind := kind_of_token(segment):
            yield segment, TypedValue(kind=kind, text=segment, start=start, end=start + len(segment))
        else:
            yield " ".join(words(segment)), None


def typed_text(text: str, values: Sequence[TypedValue], spans: Spans) -> str:
    """The text for the encoder of parts of a request, joined by spaces: each value is replaced by its noun."""
    return "".join(piece if value is None else noun_of(value) for piece, value in split_at_values(text, values, spans))


def noun_of(value: TypedValue) -> str:
    """The words that a value stands for, 1 or more; of an address also what says which service it is (``github``)."""
    data = read_yaml(VALUE_WORDS)
    noun = str(data["nouns"].get(value.kind, value.kind))
    if value.kind == "file":
        return str(data["extensions"].get(value.text.rpartition(".")[2].lower(), noun))
    if value.kind in ("url", "domain"):
        host = _SCHEME.sub("", value.text.lower()).partition("/")[0].partition("?")[0]
        no_service = data["address_words"].split()
        return " ".join((*[word for word in _WORD.findall(host) if word not in no_service][:_MAX_ADDRESS_WORDS], noun))
    return _entity(value) or noun


def _entity(value: TypedValue) -> str:
    """What the snapshot knows a value to identify; empty where that is unknown or ambiguous. The entities "employee"
    and "owner employee" are one, the shorter."""
    for match in value.matches:
        if match.specificity < LEAST_SPECIFIC:
            break
        if all(use.is_widened for use in match.uses):
            continue
        heads: dict[str, str] = {}
        for entity in match.entities:
            head = entity.rpartition(" ")[2]
            heads[head] = min(heads.get(head, entity), entity, key=lambda name: (len(name), name))
        if heads and len(heads) <= _MOST_ENTITIES:
            return " ".join(heads.values())
    return ""


# Chosen, not tuned: a word inside a value may name a thing, but was not said to.
_OWN_WEIGHT = 0.5
_NOUN_WEIGHT = 1.0
_EVERYDAY_WEIGHT = 0.3


def term_weights(text: str, values: Sequence[TypedValue], spans: Spans) -> Mapping[str, float]:
    """Term → how much it counts, > 0, in parts of a request: how often they have it, half where a value has it. A value
    adds the terms of its noun; of its own terms those with a digit do not count. Everyday phrases add the terms that
    they stand for. Abbreviations are not expanded."""
    weights: defaultdict[str, float] = defaultdict(float)
    for piece, value in split_at_values(text, values, spans):
        for term in terms(piece):
            if value is None or not any(map(str.isdigit, term)):
                weights[term] += 1.0 if value is None else _OWN_WEIGHT
        for term in terms(noun_of(value)) if value is not None else ():
            weights[term] += _NOUN_WEIGHT
    for start, end in spans:
        for term in formal_terms(text[start:end]):
            weights.setdefault(term, _EVERYDAY_WEIGHT)
    return dict(weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a request, or all of it."""

    text: str  # as the user wrote it
    vector_D: Floats1d | None  # L2-normalised, float32 [D], or None where there is no encoder
    terms: tuple[str, ...]  # index terms in order, with repeats, those of values included
    # term → how much it counts in lexical matching, > 0: how often the text has it, less where a value has it
    weights: Mapping[str, float] = field(hash=False)
    values: tuple[TypedValue, ...] = ()  # its typed values in order; their places are those in the whole request


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Clause):
    """A whole request."""

    ngrams: tuple[str, ...]  # distinct canonical n-grams, longest first; none has a word of a value
    clauses: tuple[Clause, ...] = ()  # its clauses in order, where it has several and was decomposed
    # of a request over needs, which is its clauses: its query, where it has one, and each distinct need
    parts: tuple[Query, ...] = ()


def analyse(
    text: str,
    encoder: Encoder | None,
    abbreviations: Mapping[str, str],
    *,
    values: Sequence[TypedValue] | None = None,
    decomposed: bool = False,
) -> Query:
    """Analyse a request. The request and its clauses are encoded in one call, in one pass where the encoder can.

    :param values: its typed values in order; None matches the request as it is, all of it words, for baselines.
    :raises ModelError: when the encoder is down.
    """
    everything: Spans = ((0, len(text)),)
    clauses = clause_spans(text, values or ()) if decomposed else []
    parts = [everything, *clauses] if len(clauses) > 1 else [everything]
    vectors: Sequence[Floats1d | None] = [None] * len(parts)
    if encoder is not None:
        request, *rest_texts = (typed_text(text, values or (), spans) for spans in parts)
        vectors = list(encode_clauses(encoder, request, rest_texts))
    whole, *rest = (_clause(text, values, spans, vector_D) for spans, vector_D in zip(parts, vectors, strict=True))
    return _query(whole, text, values or (), abbreviations, everything, tuple(rest))


def analyse_needs(
    parts: Sequence[str],
    encoder: Encoder | None,
    abbreviations: Mapping[str, str],
    *,
    values: Sequence[Sequence[TypedValue] | None],
    needs: int,
    decomposed: bool = False,
) -> Query:
    """Analyse a request over needs: each part by itself, a need as one clause, for it is one capability; and all of
    them as one text. ``parts``: as in :attr:`retrieval.query.request.Request.parts`; the last ``needs`` of them are
    needs. ``encoder``: None for no vectors. ``values``: the typed values of each part, in order; None matches it as it
    is, as in :func:`analyse`. ``decomposed``: whether the clauses of the query are analysed too."""
    queries = [
        analyse(part, encoder, abbreviations, values=of_part, decomposed=decomposed)
        for part, of_part in zip(parts[:-needs], values, strict=False)
    ]
    text = ". ".join(parts) + "."
    starts = [0, *accumulate(len(part) + len(". ") for part in parts)]
    spans: list[Spans] = [((at, at + len(part)),) for at, part in zip(starts, parts, strict=False)]
    placed = [
        replace(value, start=start + value.start, end=start + value.end)
        for start, of_part in zip(starts, values, strict=False)
        for value in of_part or ()
    ]
    analysed = [*spans[-needs:], ((0, len(text)),)] if len(parts) > 1 else spans
    vectors: Sequence[Floats1d | None] = [None] * len(analysed)
    if encoder is not None:
        vectors = list(encoder.encode([typed_text(text, placed, span) for span in analysed]))
    found = []
    for span, vector_D in zip(analysed, vectors, strict=True):
        clause = _clause(text, None if None in values else placed, span, vector_D)
        found.append(_query(clause, text, placed, abbreviations, span))
    every = (*queries, *found[:needs])
    clauses = tuple(clause for part in every for clause in part.clauses or (part,)) if len(every) > 1 else ()
    return replace(found[-1], clauses=clauses, parts=every)


def _query(
    whole: Clause,
    text: str,
    values: Sequence[TypedValue],
    abbreviations: Mapping[str, str],
    spans: Spans,
    clauses: tuple[Clause, ...] = (),
) -> Query:
    said = [piece for piece, value in split_at_values(text, values, spans) if value is None]
    return Query(
        text=whole.text,
        vector_D=whole.vector_D,
        terms=whole.terms,
        weights=whole.weights,
        values=whole.values,
        ngrams=tuple(ngrams(said, abbreviations)),
        clauses=clauses,
    )


def _clause(text: str, values: Sequence[TypedValue] | None, spans: Spans, vector_D: Floats1d | None) -> Clause:
    said = " ".join(text[start:end] for start, end in spans)
    plain = tuple(terms(said))
    starts = [start for start, _ in spans]
    return Clause(
        text=said,
        vector_D=vector_D,
        terms=plain,
        weights=Counter(plain) if values is None else term_weights(text, values, spans),
        values=tuple(
            value
            for value in values or ()
            if (part := bisect_right(starts, value.start)) and value.start < spans[part - 1][1]
        ),
    )
