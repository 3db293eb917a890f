"""Reads questions for the rule-based steps of the graph planner, by the DFS planner's parser: about the company, about tables of files, or plain sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from ontology.names import noun_lemma, words
from planners.dfs.domain import Domain, read_domain
from planners.kgot.asked import Asked, TableShape, Unreadable
from services.task_reading.either_or import either_or, leading_aside
from services.task_reading.question_head import QuestionHead, read_head
from services.task_reading.request_reader import RequestReader
from services.task_reading.spoken_sums import seems_a_sum, spoken_sum
from services.task_reading.table_questions import TableQuestions

__all__ = ["DfsQuestionReader"]

_NO_SUM = "its arithmetic is not a form that is read whole: a sum with signs, “N % of M”, “what percentage of M is N”, or a price after a change"
_IDENTIFIERS = frozenset({"number", "id", "identifier"})


class DfsQuestionReader:
    """Implements :class:`planners.kgot.asked.QuestionReader`.

    :param domain: of questions without files.
    :param today: the day against which dates are read.
    """

    def __init__(self, domain: Domain | None = None, *, today: date) -> None:
        self._domain = read_domain("enterprise") if domain is None else domain
        self._requests = RequestReader(today)
        self._tables = TableQuestions(self._requests)

    def read(self, question: str, tables: Sequence[TableShape], files: Sequence[str]) -> Asked | Unreadable:
        """See :class:`planners.kgot.asked.QuestionReader`."""
        expression = spoken_sum(question)
        if expression is not None and not files:
            return Asked(expression=expression)
        head = read_head(question)
        if isinstance(head, Unreadable):
            return Unreadable(reason=_NO_SUM) if not files and seems_a_sum(question) else head
        if not files:
            asked = self._of_domain(head)
            return Unreadable(reason=_NO_SUM) if isinstance(asked, Unreadable) and seems_a_sum(question) else asked
        if not tables:
            return Unreadable(reason="the files hold no table, and the rules read no prose")
        found = [self._tables.read(head, table, files) for table in tables]
        return next((each for each in found if isinstance(each, Asked)), found[0])

    def _of_domain(self, head: QuestionHead) -> Asked | Unreadable:
        asked = self._requests.read(head.rest, self._domain, ())
        if isinstance(asked, Unreadable):
            return asked
        if head.other or head.most is not None:
            return Unreadable(reason="shares, differences and superlatives are read of tables only")
        measured = head.measure if head.field else asked.measure
        if word := leading_aside(head.rest, measured=measured != "find"):
            return Unreadable(reason=f"these words are not understood: {word}")
        if why := either_or(asked):
            return Unreadable(reason=why)
        fields = (head.field,) if head.field else asked.fields
        if head.named:
            fields = _named(head.named, asked)
            if fields == (head.named,) and self._is_thing(head.named):
                return Unreadable(reason=f"it is not read which field of each is meant by “{head.named}”")
        elif head.property and not fields and self._is_field(head.property):
            fields = (head.property,)
        return replace(
            asked,
            measure=measured,
            fields=fields,
            decimals=head.decimals,
            in_order=head.in_order,
            descending=head.descending,
        )

    def _is_field(self, said: str) -> bool:
        """Whether words are the name of a field, and of nothing else."""
        fields = [[name, *field.words] for each in self._domain.types.values() for name, field in each.fields.items()]
        return _has(said, [word for each in fields for word in each]) and not self._is_thing(said)

    def _is_thing(self, said: str) -> bool:
        return _has(said, [word for each in self._domain.types.values() for word in each.words])


def _has(said: str, named: Sequence[str]) -> bool:
    wanted = [noun_lemma(each) for each in words(said.casefold())]
    return any([noun_lemma(part.casefold()) for part in words(each)] == wanted for each in named)


def _named(said: str, asked: Asked) -> tuple[str, ...]:
    """Return the field that "give their …" means: what things are called, their identifier, or a field of that name."""
    thing = asked.of(asked.variable)
    nouns = [[noun_lemma(part.casefold()) for part in words(noun)] for noun in thing.nouns]
    wanted = [noun_lemma(each.casefold()) for each in words(said)]
    last = wanted[-1] if wanted and wanted[-1] in _IDENTIFIERS | {"name"} else ""
    thing_said = wanted[:-1] if last else wanted
    if thing_said and not any(thing_said in (noun, noun[-1:]) for noun in nouns):
        return (said,)
    return (thing.identifier,) if last in _IDENTIFIERS else ()
