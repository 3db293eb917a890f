"""Assembly runs: which model was assembled, or is scheduled, at which site in which month, and by which processes.

Tables of relationships between models, sites, months and processes all come from these, so that they tell one story.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.ev_graph.ev_draws import Draws, Ints, picked, skewed
from benchmarks.ev_graph.ev_sizes import EvSizes

__all__ = ["PLAN", "EvRuns", "ev_runs", "months_of", "process_runs"]

PLAN = 0
"""The cost class of what is scheduled; 1 is that of what was done."""
_SITES_OF_MODEL = (0.05, 0.47, 0.26, 0.12, 0.06, 0.04)
"""Shares of models with 0, 1, 2 … sites: most have one or two, as question 8 asks for the few with three or more."""
_SCHEDULED = (0.35, 0.4, 0.15, 0.07, 0.03)
"""Shares of a model's sites by the periods in which they are scheduled."""
_MOST_DONE = 6
"""Actual runs of a model at a site; most have fewer."""
_QUARTERS_BETWEEN = 5
"""Between two scheduled periods: they then differ as months, as quarters and as years, so that "two periods" has one meaning."""
_DUPLICATES = 0.04
"""Share of runs that stand twice. The paper says that there are such flows, not how many."""
_MOST_PROCESSES = 5
"""Of a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvRuns:
    """Runs as columns; some stand twice, as flows booked twice do.

    :param cost_class: 0 planned, 1 done.
    """

    model: Ints
    site: Ints
    month: Ints
    cost_class: Ints

    def of(self, rows: Ints) -> EvRuns:
        """Return some of the runs."""
        return EvRuns(
            model=self.model[rows], site=self.site[rows], month=self.month[rows], cost_class=self.cost_class[rows]
        )


def ev_runs(draws: Draws, sizes: EvSizes) -> EvRuns:
    """Return all runs. A site that is scheduled has also built the model, so that "is built at" has one meaning."""
    model, site = _models_at_sites(draws, sizes)
    pair = np.arange(len(model), dtype=np.int64)
    months, quarters = sizes.nodes["CalendarMonth"], sizes.nodes["CalendarMonth"] // 3
    done = 1 + skewed(draws.uniform("runs done", pair), _MOST_DONE, 1.5)
    planned = picked(draws.uniform("runs planned", pair), _SCHEDULED)
    first_quarter = draws.below("first planned", model, quarters)
    in_quarter = draws.below("planned month", model, 3)
    first_done = first_quarter * 3 + in_quarter + draws.below("delay", pair, 4)
    planned_rows, planned_turn = _repeated(planned)
    done_rows, done_turn = _repeated(done)
    quarter = (first_quarter[planned_rows] + _QUARTERS_BETWEEN * planned_turn) % quarters
    step = 1 + draws.below("months between", pair, 7)
    rows = np.concatenate([planned_rows, done_rows])
    runs = EvRuns(
        model=model[rows],
        site=site[rows],
        month=np.concatenate(
            [quarter * 3 + in_quarter[planned_rows], (first_done[done_rows] + step[done_rows] * done_turn) % months]
        ),
        cost_class=np.repeat(np.array([PLAN, 1], dtype=np.int64), [len(planned_rows), len(done_rows)]),
    )
    number = np.arange(len(rows), dtype=np.int64)
    twice = number[draws.uniform("run twice", number) < _DUPLICATES]
    return runs.of(np.concatenate([number, twice]))


def _models_at_sites(draws: Draws, sizes: EvSizes) -> tuple[Ints, Ints]:
    """Return pairs of a model and a site of it; sites are skewed: the first has most."""
    models, sites = sizes.nodes["VehicleModel"], sizes.nodes["FactorySite"]
    number = np.arange(models, dtype=np.int64)
    counts = picked(draws.uniform("sites of a model", number), _SITES_OF_MODEL)
    weight = 1.0 / (np.arange(sites) + 4.0)
    uniform = draws.uniform("site of a model", np.arange(models * sites, dtype=np.int64)).reshape(models, sites)
    order = np.argsort(-np.log1p(-uniform) / weight, axis=1, kind="stable")  # a weighted sample without repetition
    model, turn = _repeated(counts)
    return model, order[model, turn].astype(np.int64)


def _repeated(counts: Ints) -> tuple[Ints, Ints]:
    """Return, for counts 2, 0, 3: rows 0 0 2 2 2, and turns 0 1 0 1 2."""
    rows = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    starts = np.cumsum(counts) - counts
    return rows, np.arange(len(rows), dtype=np.int64) - starts[rows]


def months_of(runs: EvRuns, cost_class: int) -> tuple[Ints, Ints]:
    """Return the different pairs of a model and a month in which it is scheduled, or was assembled."""
    rows = runs.cost_class == cost_class
    pairs = np.unique(np.stack([runs.model[rows], runs.month[rows]], axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


def process_runs(draws: Draws, sizes: EvSizes, runs: EvRuns) -> tuple[EvRuns, Ints]:
    """Return runs, some twice for their two processes, and the process of each.

    A model has one to five processes. A planned run has one that the model was also built with, so that "is built with" has one
    meaning.
    """
    number = np.arange(len(runs.model), dtype=np.int64)
    models = np.arange(sizes.nodes["VehicleModel"], dtype=np.int64)
    process_counts = 1 + draws.below("processes of a model", models, _MOST_PROCESSES)
    # The first actual runs of a model take its processes in turn; of so many, plans choose.
    is_done = (runs.cost_class != PLAN).astype(np.int64)
    order = np.lexsort((number, 1 - is_done, runs.model))
    turn = np.empty_like(number)
    turn[order] = np.arange(len(order)) - np.searchsorted(runs.model[order], runs.model[order])
    used = np.minimum(process_counts, np.bincount(runs.model, weights=is_done, minlength=len(models)).astype(np.int64))
    choice = np.where(is_done == 1, turn % process_counts[runs.model], turn % np.maximum(used[runs.model], 1))
    second = number[(is_done == 1) & (draws.uniform("second process", number) < 0.35)]
    rows = np.concatenate([number, second])
    choices = np.concatenate([choice, (choice[second] + 1) % process_counts[runs.model[second]]])
    slot = runs.model[rows] * _MOST_PROCESSES + choices
    process = skewed(draws.uniform("process of a model", slot), sizes.nodes["AssemblyProcess"], 1.3)
    return runs.of(rows), process
