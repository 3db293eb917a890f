"""The ``rules`` parser: spaCy's parse of a request, read with the vocabulary of a domain. It knows nothing of any domain itself."""

from __future__ import annotations

import unicodedata
from datetime import date
from functools import lru_cache
from threading import Lock
from typing import Any

from ontology.errors import InvalidArgumentError, MissingExtraError
from ontology.names import SPACY_MODELS
from planners.query.dates.read_range import read_range
from planners.query.domain import Domain
from planners.query.graph_faults import graph_faults
from planners.query.parsing.domain_lexicon import Lexicon, lexicon
from planners.query.parsing.field_phrases import read_field_phrases
from planners.query.parsing.graph_writer import write_graph
from planners.query.parsing.linking import Links, refuse_many
from planners.query.parsing.mentions import find_mentions
from planners.query.parsing.orders import refuse_orders
from planners.query.parsing.request_parser import ParsedRequest
from planners.query.parsing.request_values import masked, request_values
from planners.query.parsing.statements import read_statements
from planners.query.parsing.unread_words import refuse_superlatives
from planners.query.query_graph import QueryGraph

__all__ = ["RulesParser"]

_MAX_CHARS = 1_000
_LOCK = Lock()  # spaCy's string store is shared


class RulesParser:
    """Parses requests by rules; deterministic, without a network or a key."""

    name = "rules.v1"

    def __init__(self) -> None:
        self._lexicons: dict[int, tuple[Domain, Lexicon]] = {}

    def parse(self, request: str, domain: Domain, today: date) -> ParsedRequest:
        """Return the graph of a request; see :class:`planners.query.parsing.request_parser.Parser`."""
        text = unicodedata.normalize("NFC", " ".join(request.split()))
        if not text or len(text) > _MAX_CHARS:
            raise InvalidArgumentError(
                f"a request has 1 to {_MAX_CHARS} characters", subject="request", remedy="Write one sentence"
            )
        graph, left_out, assumed = _parse(text, domain, self._lexicon(domain), today)
        faults = graph_faults(graph, domain)
        if faults:
            raise InvalidArgumentError(
                f"no graph could be made of the request: {' '.join(faults)}",
                subject="request",
                remedy="Say it in other words",
            )
        return ParsedRequest(graph, (*left_out, *assumed, *_date_notes(graph, domain, today)), tuple(left_out))

    def _lexicon(self, domain: Domain) -> Lexicon:
        known = self._lexicons.get(id(domain))
        if known is None or known[0] is not domain:
            known = self._lexicons[id(domain)] = (domain, lexicon(domain))
        return known[1]


def _parse(text: str, domain: Domain, words: Lexicon, today: date) -> tuple[QueryGraph, list[str], list[str]]:
    values = request_values(text, words, today)
    with _LOCK:
        doc = _english()(masked(text, values))
    refuse_orders(text, doc, words)
    mentions = find_mentions(doc, values, words)
    refuse_superlatives(doc, mentions)
    refuse_many(mentions)
    links = Links(domain, words, mentions)
    read_field_phrases(doc, links)
    links.read(read_statements(doc, mentions, links.given, words))
    return write_graph(text, doc, links)


def _date_notes(graph: QueryGraph, domain: Domain, today: date) -> tuple[str, ...]:
    return tuple(
        read_range(str(each.value), today, each.op).said
        for each in graph.filters
        if each.op != "contains" and domain.types[graph.vars[each.var]].fields[each.field].kind == "date"
    )


@lru_cache(maxsize=1)
def _english() -> Any:
    import spacy

    for model in SPACY_MODELS:
        if spacy.util.is_package(model):
            return spacy.load(model)
    raise MissingExtraError("the rules parser", extra="default")
