"""Worked examples for the prompt of the ``llm`` parser: the requests of a shipped domain that are worded most like the one in question."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from planners.query.domain import Domain
from planners.query.graph_faults import graph_faults
from planners.query.request_set import GoldRequest, request_set

__all__ = ["worked_examples"]

_MOST = 4
_NAME = re.compile(r"(?<!^)\b[A-Z]\w+|\"[^\"]*\"|'[^']*'")


def worked_examples(request: str, domain: Domain) -> tuple[GoldRequest, ...]:
    """Return the requests of the half ``dev`` that share the rarest words and pairs of words with a request, the most similar one last.

    The paper's requests are never among them, nor the request itself, so that what is measured was not shown; the half ``test`` is
    not looked at. A domain that is not shipped has none.
    """
    usable = [
        each
        for each in request_set(domain.name)
        if each.split == "dev" and not each.paper and each.request != request and not graph_faults(each.graph, domain)
    ]
    terms = {each.id: _terms(each.request) for each in usable}
    frequency = Counter(term for found in terms.values() for term in found)
    weight = {term: math.log((1 + len(usable)) / count) ** 2 for term, count in frequency.items()}
    asked = _terms(request)

    def similarity(each: GoldRequest) -> float:
        shown = terms[each.id]
        length = math.sqrt(sum(weight[term] for term in shown)) or 1.0
        return sum(weight[term] for term in shown & asked) / length

    return tuple(sorted(usable, key=lambda each: (similarity(each), each.id))[-_MOST:])


def _terms(request: str) -> set[object]:
    """The words and pairs of words of a request, names and quoted text left out."""
    words = re.findall(r"[^\W\d_]+", _NAME.sub(" ", request).casefold())
    return {*words, *pairwise(words)}
