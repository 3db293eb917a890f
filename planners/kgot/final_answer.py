"""The final answer of what a query gave: what is left to compute is computed, and the most frequent of several forms wins (C.3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from planners.calls.clean_values import cleaned
from planners.journal.step_log import emit, in_order
from planners.kgot.kgot_events import Computed, Parsed
from planners.kgot.run_state import RunState

__all__ = ["COMPUTED", "Partial", "final_answer"]

COMPUTED = "Computed: "
"""Stands in a partial answer before what Python made of it, on a line of its own."""
_FAULT_CHARS = 2_000  # the end of a traceback says what went wrong
_OUTPUT_CHARS = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """What one query gave, or the answer that was read off the graph.

    :param text: rows as a JSON list of objects by column; or the answer in words.
    :param weight: how many votes gave it.
    """

    text: str
    weight: int = 1


async def final_answer(run: RunState, partials: Sequence[Partial]) -> str:
    """Return the most frequent final answer, of equally frequent ones the first; empty where none is usable."""
    together: Counter[str] = Counter()
    for partial in partials:
        together[partial.text] += partial.weight
    if not together:
        return ""
    computed = await in_order([run.contained("maths", _computed(run, text), text) for text in together])
    times = run.settings.max_final_solution_parsing
    view = run.view()
    answers = await in_order(
        [
            run.contained("final answer", run.makers.answerer.final(view, text, nth), None)
            for text in computed
            for nth in range(times)
        ]
    )
    weights = [weight for weight in together.values() for _ in range(times)]
    counts: Counter[str] = Counter()
    forms: dict[str, str] = {}
    for answer, weight in zip(answers, weights, strict=True):
        if answer and (text := answer.strip()):
            counts[_form(text)] += weight
            forms.setdefault(_form(text), text)
    chosen = forms[counts.most_common(1)[0][0]] if counts else ""
    emit(Parsed(answers=tuple((answer or "").strip() for answer in answers), chosen=chosen))
    return chosen


def _form(answer: str) -> str:
    """Return an answer as it is counted: case and spacing aside."""
    return " ".join(answer.split()).casefold()


async def _computed(run: RunState, partial: str) -> str:
    """Return a partial answer with what Python computes of it, where something is left to compute."""
    answerer = run.makers.answerer
    code = await run.contained("maths", answerer.maths(run.view(), partial), None)
    tried: list[str] = []
    while code and code not in tried and len(tried) <= run.settings.max_cypher_fixing_retry:
        tried.append(code)
        output, fault = await _run_code(run, code)
        emit(Computed(iteration=run.iteration, code=code, output=output, fault=fault))
        if not fault:
            return f"{partial}\n{COMPUTED}{output}"
        code = await run.contained("fix code", answerer.fix(code, fault), None)
    if tried:
        run.drop("maths", "no code for what is left to compute has run")
    return partial


async def _run_code(run: RunState, code: str) -> tuple[str, str]:
    """Return what code prints, and its fault or empty."""
    result = cleaned(await run.sandbox.run(code))
    output = result.stdout.strip()[:_OUTPUT_CHARS]
    if result.ended != "ok":
        said = result.stderr.strip()[-_FAULT_CHARS:]
        return output, f"{result.ended}: {said}" if said else result.ended
    return output, "" if output else "the code printed nothing"
