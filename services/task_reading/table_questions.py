"""Questions about the rows of one table. A word that changes what is meant and is not read makes the question unreadable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planners.dfs.domain import Domain
from planners.kgot.asked import Asked, AskedFilter, AskedOrder, AskedVariable, TableShape, Unreadable
from services.task_reading.question_head import QuestionHead
from services.task_reading.request_reader import RequestReader
from services.task_reading.row_conditions import conditions_of, without_files
from services.task_reading.table_columns import column_of, is_numeric, said_key, shape_said
from services.task_reading.table_domain import key_columns, shown_columns, table_domain
from services.task_reading.word_account import names_rows, two_of_one_column, unaccounted

__all__ = ["TableQuestions"]

_LIGHT = frozenset(
    "be have come make made stand contain still sell sold take taken belong hold held cost costs sit lie stored registered counted offered".split()
)
"""Verbs and adverbs between a row and its values that a table has no edge for; they say no more than "with" does."""
_NOTHING = "the request names nothing of the domain table"  # the parser's words, of a domain that only the reader knows
_NOTHING_LEFT = re.compile(r"find(?: the)?[ .?]*", re.I)
_OF_WHICH = re.compile(
    r"(?:(?:in|on|of|from|at|to|for) )?(?:which|what) ([\w ]+?) (?:does|do|did|is|are|was|were) (.+?)"
    r"(?: (?:have|stand|lie|belong to|belong|come from|made|sold|in|from))?[?.]?",
    re.I,
)
"""A question for the column of a thing: "In which hall does Heron stand?"."""


class TableQuestions:
    """Reads questions about tables.

    :param requests: reads the requests for rows.
    """

    def __init__(self, requests: RequestReader) -> None:
        self._requests = requests

    def read(self, head: QuestionHead, table: TableShape, files: Sequence[str]) -> Asked | Unreadable:
        """Return what a question asks of a table, or why it cannot be read.

        :param files: names of the task's files, which a question may name.
        """
        found = _Question(self._requests, head, table, table_domain(table), files).read()
        if isinstance(found, Asked):
            said = {"decimals": head.decimals, "in_order": head.in_order, "descending": head.descending}
            return replace(found, **said)  # type: ignore[arg-type]  # each by its name
        why = found.reason.replace(_NOTHING, "no rows of the table are recognised in the question")
        return Unreadable(reason=f"{why}; {shape_said(table, files)}")


@dataclass(frozen=True, slots=True)
class _Question:
    requests: RequestReader
    head: QuestionHead
    table: TableShape
    domain: Domain
    files: Sequence[str]

    def read(self) -> Asked | Unreadable:
        head = self.head
        if head.combination:
            return self._combined()
        if head.most is not None:
            return self._foremost()
        if head.measure != "find":
            return self._measured()
        owner, column = self._property()
        if column:
            return self._of_property(owner, column)
        return self._rows_or_number()

    def _rows_or_number(self) -> Asked | Unreadable:
        asked = self._rows(self.head.rest)
        if isinstance(asked, Unreadable):
            return asked
        if not names_rows(self.head.rest, self.table):
            return Unreadable(reason="it is not said whether rows are meant or what stands in them")
        if asked.measure != "find":
            return Unreadable(reason="a number has no columns") if self.head.named else replace(asked, fields=())
        if self.head.named:
            given = column_of(self.head.named, self.table)
            return given if isinstance(given, Unreadable) else replace(asked, fields=(given,))
        key = said_key(self.head.rest, self.table)
        return replace(asked, fields=(key,) if key else key_columns(self.table)[:1])

    def _property(self) -> tuple[str, str]:
        """Return a request for the rows of which a column is asked for, and that column; or nothing."""
        head = self.head
        found = _OF_WHICH.fullmatch(head.rest)
        for said, owner in ((head.property, head.owner), (found[1], f"Find {found[2]}") if found else ("", "")):
            column = column_of(said, self.table) if said else ""
            if isinstance(column, str) and column and not (found and names_rows(said, self.table)):
                return owner, column
        return "", ""

    def _of_property(self, owner: str, column: str) -> Asked | Unreadable:
        asked = self._rows(owner)
        if isinstance(asked, Unreadable):
            return asked
        keys = key_columns(self.table)
        single = any(each.field in keys and each.operator == "=" for each in asked.filters)
        if not single and is_numeric(self.table, column):
            return Unreadable(reason=f"it is not said whether each {column} is meant or what they make together")
        if self.head.named or not (single or names_rows(owner, self.table)):
            return Unreadable(reason=f"it is not said of which rows the column {column} is meant")
        return replace(asked, measure="find", fields=(column,))

    def _foremost(self) -> Asked | Unreadable:
        head, asked = self.head, self._rows(self.head.rest)
        column = column_of(head.field, self.table, numeric=True)
        if isinstance(asked, Unreadable) or isinstance(column, Unreadable):
            return asked if isinstance(asked, Unreadable) else column  # type: ignore[return-value]  # one of both is
        if not names_rows(head.rest, self.table):
            return Unreadable(reason="it is not said which rows are meant")
        given = column_of(head.named, self.table) if head.named else said_key(head.rest, self.table)
        if isinstance(given, Unreadable):
            return given
        order = AskedOrder(variable=asked.variable, field=column, descending=bool(head.most))
        return replace(asked, order=order, fields=(given,) if given else key_columns(self.table)[:1])

    def _measured(self) -> Asked | Unreadable:
        asked = self._rows(self.head.rest)
        column = column_of(self.head.field, self.table, numeric=True)
        if isinstance(asked, Unreadable):
            return asked
        if isinstance(column, Unreadable):
            return column
        return replace(asked, measure=self.head.measure, fields=(column,))

    def _combined(self) -> Asked | Unreadable:
        head = self.head
        first, second = self._rows(head.rest), self._rows(head.other)
        column = column_of(head.field, self.table, numeric=True) if head.field else ""
        for each in (first, second, column):
            if isinstance(each, Unreadable):
                return each
        if isinstance(first, Unreadable) or isinstance(second, Unreadable):
            raise TypeError("both groups were read")
        others = second.filters
        if head.combination == "difference":
            carried = _carried(first.filters, second.filters)
            if isinstance(carried, Unreadable):
                return carried
            others = carried
        own = tuple(replace(each, variable=first.variable) for each in others)
        fields = (str(column),) if column else ()
        groups = (first.filters, own)
        return replace(
            first, filters=(), groups=groups, measure=head.measure, combination=head.combination, fields=fields
        )

    def _rows(self, request: str) -> Asked | Unreadable:
        """Read a request for rows: comparisons with numbers and values of several words are read here, the rest by the parser."""
        text, own = conditions_of(without_files(request, self.files), self.table)
        if own and _NOTHING_LEFT.fullmatch(text):  # the conditions say all of it: "the sale S-012"
            text = "Find the rows"
        asked = self.requests.read(text, self.domain, _LIGHT)
        if isinstance(asked, Unreadable):
            return asked
        if lost := unaccounted(text, self.table, asked.filters, count=asked.measure == "count"):
            return Unreadable(reason=f"these words are not understood: {', '.join(lost)}")
        columns = {" ".join(each.casefold().split("_")): each for each in shown_columns(self.table)}
        filters = tuple(
            replace(each, variable=asked.variable, field=columns.get(each.field.casefold(), each.field))
            for each in (*asked.filters, *own)
        )
        if why := two_of_one_column(filters):
            return Unreadable(reason=why)
        row = AskedVariable(name=asked.variable, label=self.table.label, nouns=(self.table.label,))
        return replace(asked, variables=(row,), filters=filters)


def _carried(first: tuple[AskedFilter, ...], second: tuple[AskedFilter, ...]) -> tuple[AskedFilter, ...] | Unreadable:
    """Return the conditions of "that in …": its own, and those of the first group on other columns.

    Where it has a condition on a column that the first group has none on, it is not clear which of the others it keeps.
    """
    own = {each.field for each in second}
    if not own or not own <= {each.field for each in first}:
        return Unreadable(reason="it is not clear what the second of the two groups has in common with the first")
    return (*second, *(each for each in first if each.field not in own))
