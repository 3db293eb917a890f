"""One request, read by the DFS planner's parser; words that it leaves out are named, so that nothing is answered without them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from ontology.errors import InvalidArgumentError
from planners.dfs.domain import Domain
from planners.dfs.parsing.rules_parser import RulesParser
from planners.kgot.asked import Asked, Unreadable
from services.task_reading.asked_of_graph import asked_of_graph

__all__ = ["RequestReader"]

_LOST = re.compile(r'^"(?P<words>.+?)" is (?:not understood and )?(?:left out|read as if)\b')


class RequestReader:
    """Reads requests in the words of a domain.

    :param today: the day against which dates are read.
    """

    def __init__(self, today: date) -> None:
        self._today = today
        self._parser = RulesParser()

    def read(self, request: str, domain: Domain, light: Iterable[str]) -> Asked | Unreadable:
        """Return what a request asks, or the words that are not understood.

        :param light: words that may be left out.
        """
        try:
            parsed = self._parser.parse(request, domain, self._today)
        except InvalidArgumentError as error:
            return Unreadable(reason=error.problem)
        lost = [found["words"] for note in parsed.notes if (found := _LOST.match(note))]
        lost = [each for each in lost if not set(each.casefold().split()) <= set(light)]
        if lost:
            return Unreadable(reason=f"these words are not understood: {', '.join(lost)}")
        return asked_of_graph(parsed.graph, domain, self._today)
