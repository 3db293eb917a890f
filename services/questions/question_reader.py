"""Reads questions for the rule-based steps of the graph planner, by the DFS planner's parser: about the company, about tables of files, or plain sums."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import PurePath

from ontology.errors import InvalidArgumentError
from ontology.names import noun_lemma, words
from planners.dfs.domain import Domain, read_domain
from planners.dfs.parsing.rules_parser import RulesParser
from planners.kgot.asked import Asked, AskedFilter, AskedOrder, AskedVariable, Comparison, TableShape, Unreadable
from services.questions.asked_of_graph import asked_of_graph
from services.questions.question_head import QuestionHead, read_head
from services.questions.spoken_sums import spoken_sum
from services.questions.table_domain import key_columns, table_domain

__all__ = ["DfsQuestionReader"]

_LOST = re.compile(r'^"(?P<words>.+?)" is (?:not understood and )?(?:left out|read as if)\b')
_LIGHT = frozenset(
    "be have come make made stand contain still sell sold take taken belong hold held cost costs sit lie stored registered counted offered".split()
)
"""Verbs and adverbs between a row and its values that a table has no edge for; they say no more than "with" does."""
_MORE = r"more than|over|above|greater than|higher than|longer than|at least|less than|fewer than|under|below|lower than|shorter than|at most|exactly"
_OPERATORS: dict[str, Comparison] = {"at least": ">=", "at most": "<=", "exactly": "="}
_LESS = ("less than", "fewer than", "under", "below", "lower than", "shorter than")
_NUMBER = r"(-?\d[\d,]*(?:\.\d+)?)"


class DfsQuestionReader:
    """Implements :class:`planners.kgot.asked.QuestionReader`.

    :param domain: of questions without files.
    :param today: the day against which dates are read.
    """

    def __init__(self, domain: Domain | None = None, *, today: date) -> None:
        self._domain = read_domain("enterprise") if domain is None else domain
        self._today = today
        self._parser = RulesParser()

    def read(self, question: str, tables: Sequence[TableShape], files: Sequence[str]) -> Asked | Unreadable:
        """See :class:`planners.kgot.asked.QuestionReader`."""
        expression = spoken_sum(question)
        if expression is not None and not files:
            return Asked(expression=expression)
        head = read_head(question)
        if isinstance(head, Unreadable):
            return head
        if not files:
            return self._of_domain(head)
        if not tables:
            return Unreadable(reason="the files hold no table, and the rules read no prose")
        found = [self._of_table(head, table, files) for table in tables]
        return next((each for each in found if isinstance(each, Asked)), found[0])

    def _of_domain(self, head: QuestionHead) -> Asked | Unreadable:
        asked = self._parsed(head.rest, self._domain, ())
        if isinstance(asked, Unreadable):
            return asked
        if head.other or head.most is not None:
            return Unreadable(reason="shares, differences and superlatives are read of tables only")
        measured = head.measure if head.field else asked.measure
        fields = (head.field,) if head.field else asked.fields
        named = (asked.of(asked.variable).identifier,) if _is_number_asked(head.named) else fields
        return replace(asked, measure=measured, fields=named, decimals=head.decimals, in_order=head.in_order)

    def _of_table(self, head: QuestionHead, table: TableShape, files: Sequence[str]) -> Asked | Unreadable:
        domain = table_domain(table)
        first = self._rows(head.rest, table, domain, files)
        if isinstance(first, Unreadable):
            return first
        asked = replace(first, decimals=head.decimals, in_order=head.in_order)
        if head.field:
            asked = replace(asked, fields=(head.field,))
        if head.most is not None:
            noun = _said_column(head.rest, table)
            order = AskedOrder(variable=asked.variable, field=head.field, descending=head.most)
            return replace(asked, order=order, fields=(noun,) if noun else ())
        if head.combination:
            second = self._rows(head.other, table, domain, files)
            if isinstance(second, Unreadable):
                return second
            groups = (first.filters, second.filters)
            return replace(asked, filters=(), groups=groups, measure=head.measure, combination=head.combination)
        if head.measure != "find":
            return replace(asked, measure=head.measure)
        return replace(asked, fields=_given(head, table) if asked.measure == "find" else ())

    def _rows(self, request: str, table: TableShape, domain: Domain, files: Sequence[str]) -> Asked | Unreadable:
        """Read a request for rows: comparisons with numbers and values of several words are read here, the rest by the parser."""
        text, filters = _without_files(request, files), list[AskedFilter]()
        for name, values in table.columns.items():
            said = " ".join(words(name))
            if all(isinstance(each, str) for each in values):
                text = _with_phrases(text, said, (str(each) for each in values), filters)
            else:
                text = _with_numbers(text, said, filters)
        asked = self._parsed(text, domain, _LIGHT)
        if isinstance(asked, Unreadable):
            return asked
        row = AskedVariable(name=asked.variable, label=table.label, nouns=(table.label,))
        own = tuple(replace(each, variable=asked.variable) for each in filters)
        return replace(asked, variables=(row,), filters=(*asked.filters, *own))

    def _parsed(self, request: str, domain: Domain, light: Iterable[str]) -> Asked | Unreadable:
        try:
            parsed = self._parser.parse(request, domain, self._today)
        except InvalidArgumentError as error:
            return Unreadable(reason=error.problem)
        lost = [found["words"] for note in parsed.notes if (found := _LOST.match(note))]
        lost = [each for each in lost if not set(each.casefold().split()) <= set(light)]
        if lost:
            return Unreadable(reason=f"these words are not understood: {', '.join(lost)}")
        return asked_of_graph(parsed.graph, domain, self._today)


def _is_number_asked(named: str) -> bool:
    return bool(re.search(r"\b(?:numbers?|ids?|identifiers?)$", named, re.I))


def _given(head: QuestionHead, table: TableShape) -> tuple[str, ...]:
    """Return the column that answers: the one that the question names, else the one that tells rows apart."""
    for text in (head.named, head.rest):
        if (said := _said_column(text, table)) and text:
            return (said,)
    return key_columns(table)[:1]


def _said_column(text: str, table: TableShape) -> str:
    """Return the first column of words whose name stands in a text in one form or another, or empty."""
    said = {noun_lemma(each) for each in re.findall(r"[a-z]+", text.casefold())}
    keys = key_columns(table)
    return next((name for name in keys if said >= {noun_lemma(each) for each in words(name)}), "")


def _without_files(text: str, files: Sequence[str]) -> str:
    """Return a text without what names a file: the question is about these anyway."""
    names = {
        word for file in files for word in [*words(PurePath(file).stem), PurePath(file).name] if not word.isdigit()
    }
    named = "|".join(
        map(re.escape, [*sorted(names, key=len, reverse=True), "file", "table", "list", "sheet", "document"])
    )
    return re.sub(
        rf",? (?:in|of|on|from|according to) the (?:attached )?(?:{named})(?=[ ,.?]|$)(?! (?:of|from|in|with)\b)",
        "",
        text,
    )


def _with_phrases(text: str, said: str, values: Iterable[str], filters: list[AskedFilter]) -> str:
    """Take a value of several words out of a text, with the words that lead to it, and add its condition."""
    for value in sorted({each for each in values if re.search(r"\W", each)}, key=len, reverse=True):
        lead = rf"(?:,? (?:with|of|for|from|in|to|on))?(?: the)?(?: {re.escape(said)})?(?: of)?"
        found = re.search(rf"{lead} [\"“']?{re.escape(value)}s?[\"”']?(?=[ ,.?]|$)", text, re.I)
        if found:
            filters.append(AskedFilter(variable="", field=said, operator="=", value=value))
            return text[: found.start()] + text[found.end() :]
    return text


def _with_numbers(text: str, said: str, filters: list[AskedFilter]) -> str:
    """Take a comparison of a field with a number out of a text, and add its condition."""
    lead = r"(?:,? (?:that |which )?(?:with|of|has|have|having|had))?(?: an?| the)?"
    field = rf"{re.escape(said)}s?"
    before = rf"{lead} ({_MORE}) {_NUMBER} {field}(?=[ ,.?]|$)"
    after = rf"{lead} {field}(?: of| is| was)? ({_MORE}) {_NUMBER}(?=[ ,.?]|$)"
    equal = rf"(?:,? (?:on|in|with|of))?(?: the)? {field} ()(\d+(?:\.\d+)?)(?=[ ,.?]|$)"
    for pattern in (before, after, equal):
        found = re.search(pattern, text, re.I)
        if found:
            word = found[1].casefold()
            operator: Comparison = "=" if not word else _OPERATORS.get(word, "<" if word in _LESS else ">")
            number = float(found[2].replace(",", ""))
            value = int(number) if number.is_integer() else number
            filters.append(AskedFilter(variable="", field=said, operator=operator, value=value))
            return text[: found.start()] + text[found.end() :]
    return text
