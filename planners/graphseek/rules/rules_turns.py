"""Turns by rules: a question read by the catalog's vocabulary, without a model."""

from __future__ import annotations

import logging
import unicodedata

from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.results.result import EvictedError, Result
from planners.graphseek.rules.name_finding import NotFoundByNameError
from planners.graphseek.rules.phrase_lexicon import Lexicon
from planners.graphseek.rules.plan_account import LeftOutError
from planners.graphseek.rules.question_planner import plan_question
from planners.graphseek.rules.refusal_hint import refusal_hint
from planners.graphseek.rules.relation_choice import TwoReadingsError, UnconnectedError
from planners.graphseek.rules.replayed_calls import FailedError, NeededError, ReplayedCalls
from planners.graphseek.rules.rule_answers import answer_of
from planners.graphseek.rules.rules_reader import read_question
from planners.graphseek.rules.said_question import SaidQuestion, UnreadableError
from planners.graphseek.rules.unused_words import UnusedWordError, refuse_not_understood, refuse_unused
from planners.graphseek.turn import Answer, StepView, Turn

__all__ = ["RulesTurns"]

_log = logging.getLogger(__name__)
_MOST_CHARS = 1_000
"""Of a question: ten times the longest one of the paper's."""


class RulesTurns:
    """Plans turns without a model, a network or a key; the same view gives the same turn.

    It invokes operators beyond the core, so that all of them have to be offered: a run of it has no finder.
    """

    def __init__(self) -> None:
        self._known: tuple[str, SemanticCatalog, Lexicon] | None = None

    async def turn(self, view: StepView) -> Turn:
        """Return invocations, or an answer."""
        question = unicodedata.normalize("NFC", " ".join(view.question.text.split()))
        if len(question) > _MOST_CHARS:
            return _unreadable(f"it is longer than {_MOST_CHARS:,} characters")
        lexicon = self._lexicon(view)
        calls = ReplayedCalls(view.records)
        said = SaidQuestion(question, lexicon)
        try:
            reading = read_question(said)
            refuse_not_understood(said, reading)
            try:
                planned = await plan_question(reading, lexicon, calls, view.schema, view.results, _earlier(view))
            except LeftOutError:
                refuse_unused(said, reading)  # which says how to ask
                raise
            refuse_unused(said, reading)
            notes = [*calls.notes, *(f"“{each}” was not read" for each in reading.unread)]
            return await answer_of(planned, lexicon, view.results, notes)
        except NeededError as needed:
            return needed.invocations
        except TwoReadingsError as error:
            return Answer(text=str(error), kind="question")
        except UnusedWordError as error:
            return _unreadable(str(error))
        except (UnreadableError, UnconnectedError) as error:
            return _unreadable(str(error), refusal_hint(said, view.schema))
        except (NotFoundByNameError, FailedError) as error:
            return _unreadable(str(error))
        except EvictedError as error:
            return _unreadable(f"{error.handle} does not fit the disk beside the other results")
        except Exception as error:  # a question nobody foresaw: it is not read, and the run goes on
            _log.exception("rules failed on a question")
            return _unreadable(f"the rules failed on it with {type(error).__name__}; other words may help")

    def _lexicon(self, view: StepView) -> Lexicon:
        fingerprint = view.schema.fingerprint
        if self._known is None or self._known[0] != fingerprint or self._known[1] is not view.catalog:
            self._known = (fingerprint, view.catalog, Lexicon(view.schema, view.catalog))
        return self._known[2]


def _earlier(view: StepView) -> Result | None:
    """The newest table of nodes of the turns before this run."""
    made = {each.handle for record in view.records for each in record.outcomes if isinstance(each, Result)}
    for handle in reversed(view.results.handles):
        result = view.results.result(handle)
        if handle not in made and result.size and any(each.node_type for each in result.columns):
            return result
    return None


def _unreadable(why: str, hint: str = "") -> Answer:
    return Answer(text=f"This could not be answered without a model: {why}. {hint}".rstrip(), kind="unreadable")
