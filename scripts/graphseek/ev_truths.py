"""The truths of the 15 questions on the EV graph, for any parameters, computed from data frames; each question has one reading, said here.

What "is built", "is used" or "costs" has plans and actual flows; what is "planned" or "scheduled" has plans alone. A missing module
affects what it goes into over any chain of assemblies, and, where sites are asked for, those that make it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.ev_graph.ev_words import MONTHS
from scripts.graphseek.ev_frames import EvFrames
from scripts.graphseek.question import Truth

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ASSEMBLED_AT", "BUILT_AT", "INTO_MODEL", "OUTPUT_MODEL", "Given", "dearest_first", "ev_truth", "models_of"]

Given: TypeAlias = Mapping[str, str | int]
"""The parameters of a question."""
_Edge: TypeAlias = tuple[str, str, str]

ASSEMBLED_AT: _Edge = ("ASSEMBLED_AT", "VehicleModel", "FactorySite")
INTO_MODEL: _Edge = ("INTEGRATED_IN", "BatteryModule", "VehicleModel")
OUTPUT_MODEL: _Edge = ("OUTPUTS", "AssemblyProcess", "VehicleModel")
BUILT_AT: _Edge = ("BUILT_AT", "BatteryModule", "FactorySite")


def ev_truth(frames: EvFrames, question: str, given: Given) -> Truth:
    """Return the truth of a question.

    :param question: its id.
    :raises KeyError: for another question.
    """
    return _TRUTHS[question](frames, given)


def models_of(frames: EvFrames, module: str) -> set[str]:
    """Return the keys of the vehicle models that a module goes into, over any chain of assemblies."""
    return {key for key in frames.reached(module) if key.startswith("VM-")}


def dearest_first(rows: pd.DataFrame) -> list[str]:
    """Return the sources of flows by their total cost."""
    return list(rows.groupby("source")["cost"].sum().sort_values(ascending=False).index.astype(str))


def _names(frames: EvFrames, node_type: str, keys: Iterable[object], *more: tuple[str, ...]) -> Truth:
    return Truth(kind="names", parts=(frames.names(node_type, keys), *more))


def _where(frame: pd.DataFrame, **values: str | int) -> pd.DataFrame:
    for column, value in values.items():
        frame = frame.loc[frame[column] == value]
    return frame


def _sources(frames: EvFrames, edge: _Edge, targets: Iterable[object]) -> set[str]:
    rows = frames.edges[edge]
    return set(rows.loc[rows["target"].isin(list(targets)), "source"])


def _targets(frames: EvFrames, edge: _Edge, sources: Iterable[object]) -> set[str]:
    rows = frames.edges[edge]
    return set(rows.loc[rows["source"].isin(list(sources)), "target"])


def _produced_in_year(frames: EvFrames, given: Given) -> Truth:
    months = _where(frames.nodes["CalendarMonth"], year=given["year"])["key"]
    return _names(frames, "BatteryModule", _sources(frames, ("PRODUCED_IN", "BatteryModule", "CalendarMonth"), months))


def _assembled_in_quarter(frames: EvFrames, given: Given) -> Truth:
    months = _where(frames.nodes["CalendarMonth"], year=given["year"], quarter=given["quarter"])["key"]
    return _names(frames, "VehicleModel", _sources(frames, ("ASSEMBLED_IN", "VehicleModel", "CalendarMonth"), months))


def _of_family(frames: EvFrames, given: Given) -> Truth:
    family = _where(frames.nodes["ProcessFamily"], label=given["family"])["key"]
    processes = _sources(frames, ("BELONGS_TO", "AssemblyProcess", "ProcessFamily"), family)
    return _names(frames, "VehicleModel", _targets(frames, OUTPUT_MODEL, processes))


def _auxiliary_cost(frames: EvFrames, given: Given) -> Truth:
    modules = _where(frames.nodes["AuxiliaryModule"], assemblyTier=given["tier"], year=given["year"])
    return Truth(kind="number", parts=((math.fsum(modules["cost"]),),))


def _module(frames: EvFrames, given: Given) -> str:
    return frames.key("BatteryModule", str(given["module"]))


def _model(frames: EvFrames, given: Given) -> str:
    return frames.key("VehicleModel", str(given["model"]))


def _site(frames: EvFrames, given: Given) -> str:
    return frames.key("FactorySite", str(given["site"]))


def _shortage(frames: EvFrames, given: Given) -> Truth:
    return _names(frames, "VehicleModel", models_of(frames, _module(frames, given)))


def _unavailable(frames: EvFrames, given: Given) -> Truth:
    module = _module(frames, given)
    assembling = _targets(frames, ASSEMBLED_AT, models_of(frames, module))
    sites = assembling | _targets(frames, BUILT_AT, [module])
    regions = _targets(frames, ("LOCATED_IN", "FactorySite", "Region"), sites)
    return _names(frames, "FactorySite", sites, frames.names("Region", regions))


def _made_at_site(frames: EvFrames, given: Given) -> Truth:
    return _names(frames, "BatteryModule", _sources(frames, BUILT_AT, [_site(frames, given)]))


def _three_sites(frames: EvFrames, given: Given) -> Truth:
    sites = frames.edges[ASSEMBLED_AT].groupby("source")["target"].nunique()
    return _names(frames, "VehicleModel", sites.index[sites >= 3])


def _two_periods(frames: EvFrames, given: Given) -> Truth:
    months = frames.edges[("SCHEDULED_IN", "VehicleModel", "CalendarMonth")].groupby("source")["target"].nunique()
    return _names(frames, "VehicleModel", months.index[months >= 2])


def _scheduled_sites(frames: EvFrames, given: Given) -> Truth:
    rows = _where(frames.edges[ASSEMBLED_AT], source=_model(frames, given), costClass="Plan", year=given["year"])
    return _names(frames, "FactorySite", _where(rows, month=MONTHS.index(str(given["month"])) + 1)["target"])


def _dearest(frames: EvFrames, given: Given) -> Truth:
    keys = dearest_first(_where(frames.edges[INTO_MODEL], target=_model(frames, given)))[:3]
    return Truth(kind="ranking", parts=(tuple(frames.name("BatteryModule", key) for key in keys),))


def _planned_with(frames: EvFrames, given: Given) -> Truth:
    rows = _where(frames.edges[INTO_MODEL], source=_module(frames, given), costClass="Plan")
    return _names(frames, "VehicleModel", rows["target"])


def _of_unit(frames: EvFrames, given: Given) -> Truth:
    unit = frames.key("BusinessUnit", str(given["unit"]))
    rows = _where(frames.edges[("ASSIGNED_TO", "AssemblyProcess", "BusinessUnit")], target=unit, year=given["year"])
    return _names(frames, "AssemblyProcess", rows["source"])


def _processes_at_site(frames: EvFrames, given: Given) -> Truth:
    lines = _sources(frames, ("INSTALLED_AT", "AssemblyLine", "FactorySite"), [_site(frames, given)])
    return _names(
        frames, "AssemblyProcess", _sources(frames, ("PROCESSED_AT", "AssemblyProcess", "AssemblyLine"), lines)
    )


def _processes_of_model(frames: EvFrames, given: Given) -> Truth:
    rows = _where(frames.edges[OUTPUT_MODEL], target=_model(frames, given), year=given["year"])
    return _names(frames, "AssemblyProcess", _where(rows, quarter=given["quarter"])["source"])


_MAKERS: Sequence[Callable[[EvFrames, Given], Truth]] = (
    _produced_in_year,
    _assembled_in_quarter,
    _of_family,
    _auxiliary_cost,
    _shortage,
    _unavailable,
    _made_at_site,
    _three_sites,
    _two_periods,
    _scheduled_sites,
    _dearest,
    _planned_with,
    _of_unit,
    _processes_at_site,
    _processes_of_model,
)
_TRUTHS = {f"ev-{number:02}": make for number, make in enumerate(_MAKERS, start=1)}
