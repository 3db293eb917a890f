"""A conversation on the disk: a journal and a folder of results for each of its turns.

The first turn has the file that was named (``talk.jsonl``), those after it have files in a folder beside it
(``talk.jsonl.turns/2.jsonl``), where no other conversation begins. A turn that has ended
is not written any more: what follows it, a next question, a refinement or a branch, is a turn with files of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import count, takewhile
from pathlib import Path

from ontology.errors import InvalidArgumentError
from planners.graphseek.question_run import (
    branch_question,
    invocations_upto,
    next_question,
    question_of,
    refine_question,
)
from planners.graphseek.results import ResultStore
from planners.graphseek.turn import Question
from planners.journal.run_journal import RunJournal, open_run_journal, read_run_journal

__all__ = ["ConversationTurn", "conversation_turns", "next_turn"]


class ConversationTurn:
    """The files of one turn.

    :param first: the journal of the first one.
    :param number: of the turn, from 1.
    """

    def __init__(self, first: Path, number: int) -> None:
        self.number = number
        self.journal = first if number == 1 else first.with_name(f"{first.name}.turns") / f"{number}.jsonl"

    @contextlib.contextmanager
    def results(self) -> Iterator[ResultStore]:
        """Open the results, and close them at the end."""
        store = ResultStore(self._results)
        try:
            yield store
        finally:
            store.close()

    @contextlib.contextmanager
    def opened(self) -> Iterator[tuple[RunJournal, ResultStore]]:
        """Open the journal, to append to it, and the results, and close them at the end.

        :raises StorageError: when another process has them open.
        """
        with open_run_journal(self.journal) as journal, self.results() as results:
            yield journal, results

    def read(self) -> RunJournal:
        """Return the journal, to be read.

        :raises InvalidArgumentError: when it is damaged.
        """
        return read_run_journal(self.journal)

    def take_results(self, other: ConversationTurn, *, upto: int | None = None) -> None:
        """Copy the results of another turn.

        :param upto: number of the last invocation whose results are copied; all where None.
        """
        with other.results() as store:
            store.branch(self._results, upto=upto).close()

    @property
    def _results(self) -> Path:
        return self.journal.with_name(f"{self.journal.name}.results")


def conversation_turns(first: Path) -> list[ConversationTurn]:
    """Return the turns there are, in order.

    :param first: the journal of the first one.
    """
    return list(takewhile(_is_begun, (ConversationTurn(first, number) for number in count(1))))


def next_turn(
    first: Path, text: str, *, refine: bool = False, branch: int | None = None
) -> tuple[Question, ConversationTurn]:
    """Return the question that is to be asked now, and the turn that it belongs to: that of the last turn again, which goes on or is
    told again, where the words are the same or there are none; else a new turn, which passes over turns at the end that were stopped.

    :param refine: the last turn is gone on from, its steps included, with these words.
    :param branch: the question is asked again, from after this step on.
    :raises InvalidArgumentError: when there is nothing to go on from, or a turn that is to be refined has not ended.
    :raises StorageError: when another process goes on with the last turn.
    """
    turns = conversation_turns(first)
    if not turns:
        if refine or branch is not None:
            raise InvalidArgumentError(
                "there is no run to go on from", subject=str(first), remedy="Ask a question with this journal first"
            )
        return Question(text=text), ConversationTurn(first, 1)
    new = ConversationTurn(first, len(turns) + 1)
    if branch is not None:
        turn = turns[-1]
        journal = turn.read()
        question = branch_question(journal, branch, new.journal)
        new.take_results(turn, upto=invocations_upto(journal, branch))
        return question, new
    journal = turns[-1].read()
    before = question_of(journal)
    if not refine and text in ("", before.text):
        return before, turns[-1]
    while not refine and journal.end is None:
        with open_run_journal(turns.pop().journal):
            pass  # nobody goes on with it
        if not turns:
            return Question(text=text), new
        journal = turns[-1].read()
    question = refine_question(journal, text, new.journal) if refine else next_question(journal, text)
    new.take_results(turns[-1])
    return question, new


def _is_begun(turn: ConversationTurn) -> bool:
    try:
        return turn.journal.stat().st_size > 0
    except FileNotFoundError:
        return False
