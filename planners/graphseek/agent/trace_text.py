"""The steps of a question so far, as a model reads them: invocations, and summaries or faults of what they gave."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from planners.graphseek.results.result import Result
from planners.graphseek.turn import Outcome, StepRecord

__all__ = ["trace_text"]

_EMPTY = "If that is not the answer, check the type (find says which type a name is of), the values, the direction and the hops"
"""The failures of section 6.4 of the paper end here: a wrong kind of entity, a swapped direction, a chain that is cut short."""


def trace_text(
    records: Sequence[StepRecord], *, fenced: Callable[[str], str], most_tokens: int, count: Callable[[str], int]
) -> str:
    """Return the steps. Where they have too many tokens, the oldest summaries are left out first, then whole steps.

    :param fenced: puts marks around data.
    :param count: tokens of a text.
    """
    if not records:
        return ""
    whole = [_step(record, fenced, is_short=False) for record in records]
    short = [_step(record, fenced, is_short=True) for record in records]
    sizes = {id(text): count(text) for text in (*whole, *short)}
    shown = list(whole)
    for at in range(len(shown)):
        if sum(sizes[id(text)] for text in shown) <= most_tokens:
            break
        shown[at] = short[at]
    first = 0
    while first < len(shown) - 1 and sum(sizes[id(text)] for text in shown[first:]) > most_tokens:
        first += 1
    left_out = [f"({first} earlier steps are left out.)"] if first else []
    return "\n".join(["Steps so far:", *left_out, *shown[first:]])


def _step(record: StepRecord, fenced: Callable[[str], str], *, is_short: bool) -> str:
    lines = [f"Step {record.number}" if record.number else "Given"]
    for invocation, outcome in record.pairs:
        arguments = json.dumps(dict(invocation.arguments), ensure_ascii=False)
        lines += [f"{invocation.operator} {arguments}", _outcome(outcome, fenced, is_short=is_short)]
    if record.rejected is not None:
        lines += [f"The answer was handed back, {record.why}. It was:", fenced(record.rejected.text)]
    elif record.why:
        lines.append(f"It could not be used: {record.why}")
    return "\n".join(lines)


def _outcome(outcome: Outcome, fenced: Callable[[str], str], *, is_short: bool) -> str:
    if not isinstance(outcome, Result):
        return f"failed ({outcome.kind}): {outcome.problem}. {outcome.hint}"
    if outcome.size == 0:
        return f"gave {outcome.handle}, which is empty. {_EMPTY}"
    if is_short:
        return f"gave {outcome.handle}: a {outcome.kind} of {outcome.size} (its summary is left out; read it again)"
    return f"gave {outcome.handle}:\n{fenced(outcome.summary)}"
