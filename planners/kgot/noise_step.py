"""Removing noise from the graph of a run after writes (appendix B.6 of the paper), told so that it can be taken back."""

from __future__ import annotations

from ontology.names import noun_lemma, words
from planners.journal.step_log import emit
from planners.kgot.kgot_events import NoiseRemoved
from planners.kgot.run_state import RunState
from planners.stores.graph_noise import NoiseRemoval, merge_duplicates, remove_irrelevant

__all__ = ["asked_terms", "remove_noise"]

_LEAST_CHARS = 4
"""Of a word of the task that a node may hold: shorter ones (who, and, the) name nothing. More words keep more nodes."""


async def remove_noise(run: RunState) -> None:
    """Remove near-duplicates, and by setting what joins to nothing that is asked; tell what, and the graph that is left."""
    await _remove(run, merge_duplicates(run.state))
    if run.settings.noise == "all":
        await _remove(run, remove_irrelevant(run.state, asked_terms(run.task.question)))


async def _remove(run: RunState, removal: NoiseRemoval) -> None:
    if not removal.removed:
        return
    applied = await run.contained("noise", _apply(run, removal), False)
    if applied:
        emit(NoiseRemoved(iteration=run.iteration, removed=removal.removed, merged=removal.merged))
        await run.read_graph()


async def _apply(run: RunState, removal: NoiseRemoval) -> bool:
    await run.graph.apply(removal.operations)
    return True


def asked_terms(question: str) -> list[str]:
    """Return the words of a task that a node may hold: numbers, and words with four letters or more, also in the singular."""
    found = [word for word in words(question) if word.isdigit() or len(word) >= _LEAST_CHARS]
    return list(dict.fromkeys(term for word in found for term in (word, noun_lemma(word))))
