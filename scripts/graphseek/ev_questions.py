"""The 15 questions on the EV graph (appendix C.1 of the paper), with parameters chosen from the tables and truths computed from them.

Parameters are the first, in the order of keys, for which the readings that a question leaves open have one answer (whether "is built"
means plans or actuals, whether a site that makes the missing module counts as affected), while the readings that it excludes have
another one (planned against actual sites, the next assembly against the vehicle at the end of the chain).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from datagen.ev_graph.ev_words import MONTHS
from scripts.graphseek.ev_frames import EvFrames
from scripts.graphseek.question import Question, Truth

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ev_questions"]

_Made: TypeAlias = tuple[str, dict[str, str | int], Truth]

_TIME = "time and site"
_COUNTED = "neighbourhood aggregation"
_IMPACT = "dependency and impact"
_COST = "cost and organisation"
_QUARTERS = ("first", "second", "third", "fourth")
_ASSEMBLED_AT = ("ASSEMBLED_AT", "VehicleModel", "FactorySite")
_INTO_MODEL = ("INTEGRATED_IN", "BatteryModule", "VehicleModel")
_OUTPUT_MODEL = ("OUTPUTS", "AssemblyProcess", "VehicleModel")
_BUILT_AT = ("BUILT_AT", "BatteryModule", "FactorySite")
_MOST_ASKED = 12
"""Names of an answer that a question about one module or model has at most, so that it can be read."""


def ev_questions(frames: EvFrames) -> list[Question]:
    """Return the 15 questions with their truths on these tables, at any size."""
    makers = (
        (_produced_in_year, _TIME),
        (_assembled_in_quarter, _TIME),
        (_of_family, _COST),
        (_auxiliary_cost, _COST),
        (_shortage, _IMPACT),
        (_unavailable, _IMPACT),
        (_made_at_site, _TIME),
        (_three_sites, _COUNTED),
        (_two_periods, _COUNTED),
        (_scheduled_sites, _TIME),
        (_dearest, _COST),
        (_planned_with, _IMPACT),
        (_of_unit, _COST),
        (_processes_at_site, _TIME),
        (_processes_of_model, _TIME),
    )
    questions = []
    for number, (make, family) in enumerate(makers, start=1):
        text, parameters, truth = make(frames)
        question = Question(
            id=f"ev-{number:02}",
            graph="ev",
            family=family,
            text=text.format(**parameters),
            parameters=parameters,
            truth=truth,
        )
        questions.append(question)
    return questions


def _two(group: Any) -> tuple[Any, Any]:
    """Return the two values by which rows were grouped; the stubs of pandas know only that they can be hashed."""
    first, second = group
    return first, second


def _whole(group: Any) -> int:
    """Return the number by which rows were grouped."""
    return int(group)


def _names(values: tuple[str, ...], *more: tuple[str, ...]) -> Truth:
    return Truth(kind="names", parts=(values, *more))


def _produced_in_year(frames: EvFrames) -> _Made:
    made = frames.edges[("PRODUCED_IN", "BatteryModule", "CalendarMonth")]
    months = frames.nodes["CalendarMonth"]
    by_year = made.merge(months, left_on="target", right_on="key").groupby("year")["source"]
    year = _whole(by_year.size().idxmin())
    names = frames.names("BatteryModule", by_year.get_group(year))
    return "List all battery modules produced in {year}.", {"year": year}, _names(names)


def _assembled_in_quarter(frames: EvFrames) -> _Made:
    made = frames.edges[("ASSEMBLED_IN", "VehicleModel", "CalendarMonth")]
    by_quarter = made.merge(frames.nodes["CalendarMonth"], left_on="target", right_on="key").groupby(
        ["year", "quarter"]
    )
    year, quarter = _two(by_quarter["source"].nunique().idxmin())
    names = frames.names("VehicleModel", by_quarter["source"].get_group((year, quarter)))
    text = "List all vehicle models assembled in the {quarter_word} quarter of {year}."
    return text, {"year": _whole(year), **_quarter(_whole(quarter))}, _names(names)


def _quarter(quarter: int) -> dict[str, str | int]:
    return {"quarter": quarter, "quarter_word": _QUARTERS[quarter - 1]}


def _of_family(frames: EvFrames) -> _Made:
    of = frames.edges[("BELONGS_TO", "AssemblyProcess", "ProcessFamily")].rename(columns={"source": "process"})
    outputs = frames.edges[_OUTPUT_MODEL].rename(columns={"source": "process", "target": "model"})
    models = of.merge(outputs, on="process").groupby("target")["model"]
    family = str(models.nunique().idxmin())
    label = frames.names("ProcessFamily", [family], "label")[0]
    names = frames.names("VehicleModel", models.get_group(family))
    text = "Which vehicle models are built with an assembly process of the family '{family}'?"
    return text, {"family": label}, _names(names)


def _auxiliary_cost(frames: EvFrames) -> _Made:
    tier, year = 3, 2022
    modules = frames.nodes["AuxiliaryModule"]
    cost = modules.loc[(modules["assemblyTier"] == tier) & (modules["year"] == year), "cost"]
    text = "What is the total cost of auxiliary modules at assembly tier {tier} in {year}?"
    return text, {"tier": tier, "year": year}, Truth(kind="number", parts=((math.fsum(cost),),))


def _modules(frames: EvFrames) -> Iterator[tuple[str, str]]:
    """Yield key and name of battery modules whose name no other has, in the order of keys."""
    modules = frames.nodes["BatteryModule"]
    unique = modules.loc[~modules["name"].duplicated(keep=False)]
    yield from zip(unique["key"].astype(str), unique["name"].astype(str), strict=True)


def _models_of(frames: EvFrames, module: str) -> set[str]:
    return {key for key in frames.reached(module) if key.startswith("VM-")}


def _first(found: Iterator[_Made], question: str) -> _Made:
    made = next(found, None)
    if made is None:
        raise LookupError(f"no parameters fit {question}; is the graph smaller than a hundredth?")
    return made


def _shortage(frames: EvFrames) -> _Made:
    """Some models hold the module itself, others assemblies of assemblies of it."""

    def found() -> Iterator[_Made]:
        for key, name in _modules(frames):
            hops = {target: hop for target, hop in frames.reached(key).items() if target.startswith("VM-")}
            if 3 <= len(hops) <= _MOST_ASKED and {1, 3} <= set(hops.values()) <= {1, 2, 3, 4}:
                text = "If battery module {module} runs short, which vehicle models are affected?"
                yield text, {"module": name}, _names(frames.names("VehicleModel", hops))

    return _first(found(), "question 5")


def _unavailable(frames: EvFrames) -> _Made:
    """Affected are the sites that assemble a model with the module and those that make the module itself: rules and the plan by hand
    read it so, for all modules. For the one asked about, the makers are among the others; plans and actuals name the same sites.
    """
    assembled, built = frames.edges[_ASSEMBLED_AT], frames.edges[_BUILT_AT]
    located = frames.edges[("LOCATED_IN", "FactorySite", "Region")]

    def found() -> Iterator[_Made]:
        for key, name in _modules(frames):
            models = _models_of(frames, key)
            if not 2 <= len(models) <= _MOST_ASKED:
                continue
            rows = assembled.loc[assembled["source"].isin(models)]
            sites = set(rows["target"])
            makers = set(built.loc[built["source"] == key, "target"])
            planned = set(rows.loc[rows["costClass"] == "Plan", "target"])
            if makers and makers < sites == planned and len(sites) <= _MOST_ASKED:
                affected = sites | makers
                regions = located.loc[located["source"].isin(affected), "target"]
                text = "If battery module {module} becomes unavailable, which factory sites and regions are affected?"
                truth = _names(frames.names("FactorySite", affected), frames.names("Region", regions))
                yield text, {"module": name}, truth

    return _first(found(), "question 6")


def _made_at_site(frames: EvFrames) -> _Made:
    modules = frames.edges[_BUILT_AT].groupby("target")["source"]
    site = str(modules.size().idxmin())
    names = frames.names("BatteryModule", modules.get_group(site))
    text = "Which battery modules are produced at {site}?"
    return text, {"site": frames.name("FactorySite", site)}, _names(names)


def _three_sites(frames: EvFrames) -> _Made:
    sites = frames.edges[_ASSEMBLED_AT].groupby("source")["target"].nunique()
    names = frames.names("VehicleModel", sites.index[sites >= 3])
    return "Which vehicle models are currently manufactured at three or more factory sites?", {}, _names(names)


def _two_periods(frames: EvFrames) -> _Made:
    months = frames.edges[("SCHEDULED_IN", "VehicleModel", "CalendarMonth")].groupby("source")["target"].nunique()
    names = frames.names("VehicleModel", months.index[months >= 2])
    return "Which vehicle models are scheduled for production in two or more different months?", {}, _names(names)


def _scheduled_sites(frames: EvFrames) -> _Made:
    """In that month the model is planned at two sites or more, and was assembled at others."""
    rows = frames.edges[_ASSEMBLED_AT]

    def found() -> Iterator[_Made]:
        for (model, year, month), group in rows.groupby(["source", "year", "month"]):
            planned = set(group.loc[group["costClass"] == "Plan", "target"])
            done = set(group.loc[group["costClass"] == "Actuals", "target"])
            if len(planned) >= 2 and done and done != planned:
                name = frames.name("VehicleModel", str(model))
                parameters: dict[str, str | int] = {
                    "model": name,
                    "month": MONTHS[_whole(month) - 1],
                    "year": _whole(year),
                }
                text = "At which factory sites is vehicle model {model} scheduled to be assembled in {month} {year}?"
                yield text, parameters, _names(frames.names("FactorySite", planned))

    return _first(found(), "question 10")


def _ranked(rows: pd.DataFrame) -> list[str]:
    return list(rows.groupby("source")["cost"].sum().sort_values(ascending=False).index.astype(str))


def _dearest(frames: EvFrames) -> _Made:
    """The three dearest modules are the same by plans, by actuals and by both, with equal flows counted once or twice."""

    def found() -> Iterator[_Made]:
        for model, rows in frames.edges[_INTO_MODEL].groupby("target"):
            by_class: list[Callable[[pd.DataFrame], list[str]]] = [
                _ranked,
                lambda each: _ranked(each.drop_duplicates()),
                lambda each: _ranked(each.loc[each["costClass"] == "Plan"]),
                lambda each: _ranked(each.loc[each["costClass"] == "Actuals"]),
            ]
            first = [tuple(ranked(rows)[:3]) for ranked in by_class]
            if rows["source"].nunique() >= 6 and len(set(first)) == 1:
                names = tuple(frames.name("BatteryModule", key) for key in first[0])
                text = "Which three component modules contribute most to the total cost of vehicle model {model}?"
                truth = Truth(kind="ranking", parts=(names,))
                yield text, {"model": frames.name("VehicleModel", str(model))}, truth

    return _first(found(), "question 11")


def _planned_with(frames: EvFrames) -> _Made:
    """The module goes into vehicles only directly; some of them have actual flows of it alone, where the graph is large enough."""
    rows = frames.edges[_INTO_MODEL]
    planned = rows.loc[rows["costClass"] == "Plan"].groupby("source")["target"].agg(frozenset)

    def found(least_done: int) -> Iterator[_Made]:
        for key, name in _modules(frames):
            models = planned.get(key, frozenset())
            whole = _models_of(frames, key)
            if 2 <= len(models) <= _MOST_ASKED and whole == set(frames.into[key]) and len(whole - models) >= least_done:
                text = "Which vehicle models are planned to include battery module {module}?"
                yield text, {"module": name}, _names(frames.names("VehicleModel", models))

    return _first(chain(found(1), found(0)), "question 12")


def _of_unit(frames: EvFrames) -> _Made:
    processes = frames.edges[("ASSIGNED_TO", "AssemblyProcess", "BusinessUnit")].groupby(["target", "year"])["source"]
    unit, year = _two(processes.nunique().idxmin())
    names = frames.names("AssemblyProcess", processes.get_group((unit, year)))
    text = "Which assembly processes were associated with the business unit {unit} in {year}?"
    return text, {"unit": frames.name("BusinessUnit", unit), "year": _whole(year)}, _names(names)


def _processes_at_site(frames: EvFrames) -> _Made:
    lines = frames.edges[("INSTALLED_AT", "AssemblyLine", "FactorySite")].rename(columns={"source": "line"})
    at_line = frames.edges[("PROCESSED_AT", "AssemblyProcess", "AssemblyLine")].rename(columns={"target": "line"})
    processes = at_line.merge(lines, on="line").groupby("target")["source"]
    site = str(processes.nunique().idxmin())
    names = frames.names("AssemblyProcess", processes.get_group(site))
    text = "List all assembly processes executed at {site}."
    return text, {"site": frames.name("FactorySite", site)}, _names(names)


def _processes_of_model(frames: EvFrames) -> _Made:
    """In that quarter plans and actuals name the same processes; other quarters of the model have others."""
    outputs = frames.edges[_OUTPUT_MODEL]

    def found() -> Iterator[_Made]:
        for (model, year, quarter), group in outputs.groupby(["target", "year", "quarter"]):
            by_class = group.groupby("costClass")["source"].agg(frozenset)
            processes = by_class.get("Actuals", frozenset())
            others = set(outputs.loc[outputs["target"] == model, "source"])
            if len(processes) >= 2 and set(by_class) == {processes} and len(by_class) == 2 and processes < others:
                name = frames.name("VehicleModel", str(model))
                parameters = {"model": name, "year": _whole(year), **_quarter(_whole(quarter))}
                text = (
                    "List the assembly processes used to manufacture vehicle model {model} "
                    "in the {quarter_word} quarter of {year}."
                )
                yield text, parameters, _names(frames.names("AssemblyProcess", processes))

    return _first(found(), "question 15")
