"""The tables of relationships, and all tables of the graph.

Tables between models, sites, months and processes come from assembly runs, so that they tell one story: which model was assembled, or is
scheduled, at which site in which month, and by which processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.ev_graph.ev_draws import Draws, Ints, amounts, picked, skewed, spread
from benchmarks.ev_graph.ev_nodes import (
    TIERS,
    EvSizes,
    auxiliary_category,
    ev_sizes,
    keys,
    month_columns,
    node_tables,
    tier_of_drives,
)
from benchmarks.ev_graph.graph_table import Columns, ColumnType, GraphTable

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
_CLASSES = ("Plan", "Actuals")
_FLOW: Mapping[str, ColumnType] = {
    "costClass": "string",
    "cost": "number",
    "quantity": "integer",
    "year": "integer",
    "quarter": "integer",
    "month": "integer",
}
_QUANTITY: Mapping[str, ColumnType] = {"quantity": "integer"}

_BUILT = 0.97
"""Of battery modules: the rest has no site."""
_GENERATED = 0.95
"""Of auxiliary modules: the rest is of no process."""
_SIDE_ASSEMBLY = 1
_PAIR_KINDS = (0.7, 0.1, 0.1, 0.1)
"""Shares of pairs of nodes by their two flows: a plan and an actual, one plan booked twice, two plans, two actuals."""
_USED_DRIVES = 0.45
_SHIPPED_DRIVES = 0.4
"""Of all drive assemblies those that battery modules go into, and of those of tier 0 those that go into vehicles: so few that chains from
a module over assemblies to vehicles are common."""


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


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes tables of one graph."""

    draws: Draws
    sizes: EvSizes

    def size(self, node_type: str) -> int:
        return self.sizes.nodes[node_type]

    def table(
        self,
        name: str,
        ends: tuple[str, str],
        count: int,
        pairs: Callable[[Ints], tuple[Ints, Ints]],
        columns: Mapping[str, ColumnType] | None = None,
        values: Callable[[Ints], Columns] | None = None,
    ) -> GraphTable:
        """Return a table; ``pairs`` gives the numbers of sources and targets, ``values`` the columns."""

        def make(at: Ints) -> Columns:
            source, target = pairs(at)
            ids = {"source": keys(ends[0], source, self.sizes), "target": keys(ends[1], target, self.sizes)}
            return {**ids, **(values(at) if values else {})}

        first: tuple[tuple[str, ColumnType], ...] = (("source", "string"), ("target", "string"))
        columns = columns or {}
        return GraphTable(
            kind="relationship", type=name, ends=ends, columns=(*first, *columns.items()), count=count, make=make
        )

    def drawn(self, name: str, node_type: str, power: float) -> Callable[[Ints], Ints]:
        """Return numbers of nodes for rows: the greater the power, the more rows the first nodes have."""
        return lambda at: skewed(self.draws.uniform(name, at), self.size(node_type), power)

    def amounts(self, name: str, like: Ints, same: Ints, cost_class: Ints, months: Ints) -> Columns:
        """Return the columns of flows; rows with equal numbers in ``like`` cost alike, with equal ones in ``same`` exactly the same."""
        return {
            "costClass": [_CLASSES[place] for place in cost_class.tolist()],
            "cost": np.round(
                amounts(self.draws.uniform(f"{name} cost", like), 5.0, 4000.0)
                * (0.9 + 0.2 * self.draws.uniform(f"{name} difference", same)),
                6,
            ),
            "quantity": 1 + skewed(self.draws.uniform(f"{name} quantity", same), 500, 2.5),
            **month_columns(months, self.sizes),
        }


def relationship_tables(draws: Draws, sizes: EvSizes) -> list[GraphTable]:
    """Return the tables of all relationship types; as many rows as sizes say. Battery modules in drive assemblies fill up."""
    maker = _Maker(draws, sizes)
    tables = [*_places(maker), *_processes(maker), *_batteries(maker), *_runs(maker), *_drive_flows(maker)]
    left = sizes.relationships - sum(table.count for table in tables)
    return [*tables, _into_drives(maker, left)]


def _places(maker: _Maker) -> list[GraphTable]:
    lines, sites = maker.size("AssemblyLine"), maker.size("FactorySite")
    site_of_line = maker.drawn("line site", "FactorySite", 1.6)
    return [
        maker.table(
            "LOCATED_IN", ("FactorySite", "Region"), sites, lambda at: (at, maker.draws.below("region", at, 9))
        ),
        maker.table("INSTALLED_AT", ("AssemblyLine", "FactorySite"), lines, lambda at: (at, site_of_line(at))),
        maker.table(
            "CONNECTED_TO",
            ("AssemblyLine", "AssemblyLine"),
            lines * 3 // 2,
            lambda at: (at % lines, (at % lines + 1 + maker.draws.below("next line", at, lines - 1)) % lines),
        ),
    ]


def _processes(maker: _Maker) -> list[GraphTable]:
    processes, auxiliaries = maker.size("AssemblyProcess"), maker.size("AuxiliaryModule")
    line, family = maker.drawn("line", "AssemblyLine", 1.2), maker.drawn("family", "ProcessFamily", 1.7)
    unit, by = maker.drawn("unit", "BusinessUnit", 1.4), maker.drawn("generated by", "AssemblyProcess", 1.8)
    consumer = maker.drawn("consumer", "AssemblyProcess", 1.5)
    years = maker.size("CalendarMonth") // 12
    side = np.arange(auxiliaries, dtype=np.int64)
    side = side[auxiliary_category(maker.draws, side) == _SIDE_ASSEMBLY]
    generated = int(auxiliaries * _GENERATED)
    several = processes * 6 // 5
    return [
        maker.table(
            "PROCESSED_AT", ("AssemblyProcess", "AssemblyLine"), several, lambda at: (at % processes, line(at))
        ),
        maker.table(
            "BELONGS_TO",
            ("AssemblyProcess", "ProcessFamily"),
            processes * 96 // 100,
            lambda at: (spread(at, processes), family(at)),
        ),
        maker.table(
            "ASSIGNED_TO",
            ("AssemblyProcess", "BusinessUnit"),
            processes * 8 // 5,
            lambda at: (at % processes, unit(at)),
            {"year": "integer"},
            lambda at: {"year": maker.sizes.first_year + maker.draws.below("assigned", at, years)},
        ),
        maker.table(
            "GENERATES",
            ("AssemblyProcess", "AuxiliaryModule"),
            generated,
            lambda at: (by(at), spread(at, auxiliaries)),
        ),
        maker.table(
            "CONSUMED_IN",
            ("AuxiliaryModule", "AssemblyProcess"),
            len(side) // 2,
            lambda at: (side[maker.draws.below("consumed", at, len(side))], consumer(at)),
        ),
    ]


def _batteries(maker: _Maker) -> list[GraphTable]:
    batteries, months = maker.size("BatteryModule"), maker.size("CalendarMonth")
    once = int(batteries * _BUILT)
    site, again = maker.drawn("built at", "FactorySite", 2.0), maker.drawn("built again", "BatteryModule", 1.0)
    produced = maker.drawn("produced", "BatteryModule", 1.3)
    return [
        maker.table(
            "BUILT_AT",
            ("BatteryModule", "FactorySite"),
            once + batteries // 50,
            lambda at: (np.where(at < once, spread(at, batteries), again(at)), site(at)),
        ),
        maker.table(
            "PRODUCED_IN",
            ("BatteryModule", "CalendarMonth"),
            batteries * 93 // 100,
            lambda at: (produced(at), skewed(maker.draws.uniform("produced in", at), months, 0.6)),
            _QUANTITY,
            lambda at: {"quantity": 1 + skewed(maker.draws.uniform("produced quantity", at), 5000, 3.0)},
        ),
    ]


def _runs(maker: _Maker) -> list[GraphTable]:
    runs = ev_runs(maker.draws, maker.sizes)
    by_process, process = process_runs(maker.draws, maker.sizes, runs)
    return [
        maker.table(
            "ASSEMBLED_AT",
            ("VehicleModel", "FactorySite"),
            len(runs.model),
            lambda at: (runs.model[at], runs.site[at]),
            _FLOW,
            lambda at: _run_amounts(maker, "assembled", runs, at),
        ),
        maker.table(
            "OUTPUTS",
            ("AssemblyProcess", "VehicleModel"),
            len(process),
            lambda at: (process[at], by_process.model[at]),
            _FLOW,
            lambda at: _run_amounts(maker, "output", by_process, at),
        ),
        *(_months(maker, name, *months_of(runs, place)) for name, place in (("SCHEDULED_IN", 0), ("ASSEMBLED_IN", 1))),
    ]


def _run_amounts(maker: _Maker, name: str, runs: EvRuns, at: Ints) -> Columns:
    months, cost_class = runs.month[at], runs.cost_class[at]
    like = runs.model[at] * 64 + runs.site[at]
    return maker.amounts(name, like, like * 256 + months * 2 + cost_class, cost_class, months)


def _months(maker: _Maker, name: str, model: Ints, month: Ints) -> GraphTable:
    return maker.table(
        name,
        ("VehicleModel", "CalendarMonth"),
        len(model),
        lambda at: (model[at], month[at]),
        _QUANTITY,
        lambda at: {"quantity": 1 + skewed(maker.draws.uniform(f"{name} quantity", at), 900, 2.0)},
    )


def _flows(
    maker: _Maker, ends: tuple[str, str], count: int, pairs: Callable[[Ints, str], tuple[Ints, Ints]]
) -> GraphTable:
    """Return a table of ``INTEGRATED_IN``. Each pair of nodes has two rows."""
    name = f"{ends[0]} in {ends[1]}"
    draws, months = maker.draws, maker.size("CalendarMonth")

    def values(at: Ints) -> Columns:
        pair, second = at // 2, at % 2
        kind = picked(draws.uniform(f"{name} kind", pair), _PAIR_KINDS)
        cost_class = np.where((kind == 3) | ((kind == 0) & (second == 1)), 1, PLAN)
        same = np.where(kind == 1, pair * 2, at)  # equal rows: the flow was booked twice
        return maker.amounts(name, pair, same, cost_class, draws.below(f"{name} month", same, months))

    return maker.table("INTEGRATED_IN", ends, count, lambda at: pairs(at // 2, name), _FLOW, values)


def _drive_flows(maker: _Maker) -> list[GraphTable]:
    drives, models = maker.size("DriveAssembly"), maker.size("VehicleModel")
    batteries, first_tier = maker.size("BatteryModule"), int(drives * TIERS[0])
    starts = np.concatenate([[0], np.cumsum(np.array(TIERS) * drives).astype(np.int64)])

    def into_drives(pair: Ints, name: str) -> tuple[Ints, Ints]:
        target = skewed(maker.draws.uniform(f"{name} target", pair), int(starts[4]), 1.7)
        tier = tier_of_drives(target, maker.sizes)
        low, high = starts[tier + 1], starts[tier + 2]
        return low + ((high - low) * maker.draws.uniform(f"{name} source", pair)).astype(np.int64), target

    def into_models(source: int, power: float) -> Callable[[Ints, str], tuple[Ints, Ints]]:
        return lambda pair, name: (
            skewed(maker.draws.uniform(f"{name} source", pair), source, power),
            skewed(maker.draws.uniform(f"{name} target", pair), models, 1.5),
        )

    return [
        _flows(maker, ("BatteryModule", "VehicleModel"), batteries // 4, into_models(batteries, 1.7)),
        _flows(
            maker, ("DriveAssembly", "VehicleModel"), drives // 9, into_models(int(first_tier * _SHIPPED_DRIVES), 1.5)
        ),
        _flows(maker, ("DriveAssembly", "DriveAssembly"), drives // 12, into_drives),
        maker.table(
            "OUTPUTS",
            ("AssemblyProcess", "DriveAssembly"),
            drives // 4,
            lambda at: (
                skewed(maker.draws.uniform("drive process", at), maker.size("AssemblyProcess"), 1.6),
                spread(at, drives),
            ),
            _FLOW,
            lambda at: maker.amounts(
                "drive output",
                at,
                at,
                picked(maker.draws.uniform("drive output class", at), (0.4, 0.6)),
                maker.draws.below("drive output month", at, maker.size("CalendarMonth")),
            ),
        ),
    ]


def _into_drives(maker: _Maker, count: int) -> GraphTable:
    return _flows(
        maker,
        ("BatteryModule", "DriveAssembly"),
        count,
        lambda pair, name: (
            skewed(maker.draws.uniform(f"{name} source", pair), maker.size("BatteryModule"), 1.7),
            skewed(maker.draws.uniform(f"{name} target", pair), int(maker.size("DriveAssembly") * _USED_DRIVES), 1.7),
        ),
    )


def ev_tables(scale: float = 1.0) -> tuple[GraphTable, ...]:
    """Return the tables: of nodes first, then of relationships, one for each type and pair of ends.

    :param scale: 1: 229,551 nodes, 313,635 relationships, 20 property keys.
    :raises InvalidArgumentError: when the scale is below 0.01.
    """
    draws, sizes = Draws(0), ev_sizes(scale)
    return (*node_tables(draws, sizes), *relationship_tables(draws, sizes))
