"""Whether the graph answers the task: several votes, of which the majority decides, or a judge (appendix B.2 and C.1 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence

from planners.journal.recorded import error_text as said
from planners.journal.step_log import emit, in_order
from planners.kgot.kgot_events import Decided, Decision
from planners.kgot.run_state import RunState
from planners.kgot.step_makers import Insert, Retrieve, Vote

__all__ = ["decide", "queries_of", "reasons_of"]


async def decide(run: RunState) -> Decided:
    """Ask for the votes at once and return the decision. Unusable votes do not count; a tie enhances."""
    view, next_step = run.view(), run.makers.next_step
    times = run.settings.num_next_steps_decision
    faults: list[Exception | None] = [None] * times

    async def vote(nth: int) -> Vote | None:
        try:
            return await next_step.vote(view, nth)
        except Exception as error:
            faults[nth] = error
            raise

    votes = await in_order([run.contained("vote", vote(nth), None) for nth in range(times)])
    run.availability.take(faults)
    run.vote_fault = next((said(each) for each in faults if each is not None), "")
    usable = [vote for vote in votes if vote is not None]
    judged = None
    if run.settings.next_step == "judge" and len(usable) > 1:
        judged = await run.contained("judge", next_step.judge(view, usable), None)
    decided = Decided(
        iteration=run.iteration,
        votes=tuple(votes),
        decision=_decision([judged] if judged is not None else usable),
        judged=judged,
    )
    emit(decided)
    return decided


def _decision(votes: Sequence[Vote]) -> Decision:
    retrieving = sum(isinstance(vote, Retrieve) for vote in votes)
    return "solve" if 2 * retrieving > len(votes) else "enhance"


def queries_of(decided: Decided) -> list[str]:
    """Return the queries of the votes, equal ones as often as they were given; where a judge chose, that of its vote."""
    votes = decided.votes if decided.judged is None else (decided.judged,)
    return [vote.query.strip() for vote in votes if isinstance(vote, Retrieve) and vote.query.strip()]


def reasons_of(decided: Decided) -> list[str]:
    """Return the reasons of the votes, each once."""
    votes = decided.votes if decided.judged is None else (decided.judged,)
    reasons = [vote.reason.strip() for vote in votes if isinstance(vote, Insert)]
    return list(dict.fromkeys(reason for reason in reasons if reason))
