"""The 15 questions on the EV graph (appendix C.1 of the paper), with parameters chosen from the tables, or drawn at random.

Chosen parameters are the first, in the order of keys, for which the readings that a question leaves open have one answer (whether "is built"
means plans or actuals, whether a site that makes the missing module counts as affected), while the readings that it excludes have
another one (planned against actual sites, the next assembly against the vehicle at the end of the chain). So they are kinder than those
that people ask with: the random ones are any that the graph holds, with truths by the readings of :mod:`scripts.graphseek.ev_truths`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from benchmarks.ev_graph.ev_words import MONTHS
from scripts.graphseek.ev_frames import EvFrames
from scripts.graphseek.ev_truths import (
    ASSEMBLED_AT,
    BUILT_AT,
    INTO_MODEL,
    OUTPUT_MODEL,
    Given,
    dearest_first,
    ev_truth,
    models_of,
)
from scripts.graphseek.question import Question

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ev_questions", "random_ev_questions"]

_TIME = "time and site"
_COUNTED = "neighbourhood aggregation"
_IMPACT = "dependency and impact"
_COST = "cost and organisation"
_QUARTERS = ("first", "second", "third", "fourth")
_MOST_ASKED = 12
"""Names of an answer that a question about one module or model has at most, so that it can be read."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A question before it has parameters.

    :param choose: gives the chosen ones.
    :param all: gives all that may be drawn; without it the question has none.
    """

    family: str
    text: str
    choose: Callable[[EvFrames], Given] = lambda frames: {}
    all: Callable[[EvFrames], Iterable[Given]] | None = None

    def question(self, frames: EvFrames, number: int, given: Given) -> Question:
        name = f"ev-{number:02}"
        return Question(
            id=name,
            graph="ev",
            family=self.family,
            text=self.text.format(**given),
            parameters=given,
            truth=ev_truth(frames, name, given),
        )


def ev_questions(frames: EvFrames) -> list[Question]:
    """Return the 15 questions with their truths on these tables, at any size."""
    return [form.question(frames, number, form.choose(frames)) for number, form in enumerate(_FORMS, start=1)]


def random_ev_questions(frames: EvFrames, count: int) -> list[Question]:
    """Return each question that has parameters as often, with parameters drawn at random: different ones, all where there are fewer."""
    questions = []
    for number, form in enumerate(_FORMS, start=1):
        if form.all:
            found = list(form.all(frames))
            drawn = random.Random(number).sample(found, min(count, len(found)))
            questions += [form.question(frames, number, given) for given in drawn]
    return questions


def _two(group: Any) -> tuple[Any, Any]:
    """Return the two values by which rows were grouped; the stubs of pandas know only that they can be hashed."""
    first, second = group
    return first, second


def _whole(group: Any) -> int:
    """Return the number by which rows were grouped."""
    return int(group)


def _quarter(year: object, quarter: object) -> dict[str, str | int]:
    return {"year": _whole(year), "quarter": _whole(quarter), "quarter_word": _QUARTERS[_whole(quarter) - 1]}


def _different(frame: pd.DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    rows = frame.dropna(subset=list(columns))  # some nodes have no year
    yield from sorted(set(zip(*(rows[column] for column in columns), strict=True)))


def _names_of(frames: EvFrames, node_type: str) -> dict[str, str]:
    """Return the names by key that no other node of the type has, in the order of keys."""
    frame = frames.nodes[node_type]
    own = frame.loc[~frame["name"].duplicated(keep=False)]
    return dict(zip(own["key"].astype(str), own["name"].astype(str), strict=True))


def _each(parameter: str, node_type: str) -> Callable[[EvFrames], Iterable[Given]]:
    """Return what gives the name of each node of a type as a parameter."""
    return lambda frames: [{parameter: name} for name in _names_of(frames, node_type).values()]


def _years(frames: EvFrames) -> Iterator[Given]:
    return ({"year": int(year)} for (year,) in _different(frames.nodes["CalendarMonth"], "year"))


def _least_produced_year(frames: EvFrames) -> Given:
    made = frames.edges[("PRODUCED_IN", "BatteryModule", "CalendarMonth")]
    by_year = made.merge(frames.nodes["CalendarMonth"], left_on="target", right_on="key").groupby("year")
    return {"year": _whole(by_year.size().idxmin())}


def _quarters(frames: EvFrames) -> Iterator[Given]:
    return (_quarter(*each) for each in _different(frames.nodes["CalendarMonth"], "year", "quarter"))


def _least_assembled_quarter(frames: EvFrames) -> Given:
    made = frames.edges[("ASSEMBLED_IN", "VehicleModel", "CalendarMonth")]
    months = made.merge(frames.nodes["CalendarMonth"], left_on="target", right_on="key")
    return _quarter(*_two(months.groupby(["year", "quarter"])["source"].nunique().idxmin()))


def _families(frames: EvFrames) -> Iterator[Given]:
    return ({"family": label} for (label,) in _different(frames.nodes["ProcessFamily"], "label"))


def _rarest_family(frames: EvFrames) -> Given:
    of = frames.edges[("BELONGS_TO", "AssemblyProcess", "ProcessFamily")].rename(columns={"source": "process"})
    outputs = frames.edges[OUTPUT_MODEL].rename(columns={"source": "process", "target": "model"})
    family = str(of.merge(outputs, on="process").groupby("target")["model"].nunique().idxmin())
    return {"family": frames.names("ProcessFamily", [family], "label")[0]}


def _tiers(frames: EvFrames) -> Iterator[Given]:
    modules = frames.nodes["AuxiliaryModule"]
    return ({"tier": int(tier), "year": int(year)} for tier, year in _different(modules, "assemblyTier", "year"))


def _first(found: Iterator[Given], question: str) -> Given:
    given = next(found, None)
    if given is None:
        raise LookupError(f"no parameters fit {question}; is the graph smaller than a hundredth?")
    return given


def _needed_over_chains(frames: EvFrames) -> Given:
    """Some models hold the module itself, others assemblies of assemblies of it."""

    def found() -> Iterator[Given]:
        for key, name in _names_of(frames, "BatteryModule").items():
            hops = {target: hop for target, hop in frames.reached(key).items() if target.startswith("VM-")}
            if 3 <= len(hops) <= _MOST_ASKED and {1, 3} <= set(hops.values()) <= {1, 2, 3, 4}:
                yield {"module": name}

    return _first(found(), "question 5")


def _made_where_it_is_used(frames: EvFrames) -> Given:
    """The sites that make the module are among those that assemble its models; plans and actuals name the same sites."""
    assembled, built = frames.edges[ASSEMBLED_AT], frames.edges[BUILT_AT]

    def found() -> Iterator[Given]:
        for key, name in _names_of(frames, "BatteryModule").items():
            models = models_of(frames, key)
            if not 2 <= len(models) <= _MOST_ASKED:
                continue
            rows = assembled.loc[assembled["source"].isin(models)]
            sites = set(rows["target"])
            makers = set(built.loc[built["source"] == key, "target"])
            planned = set(rows.loc[rows["costClass"] == "Plan", "target"])
            if makers and makers < sites == planned and len(sites) <= _MOST_ASKED:
                yield {"module": name}

    return _first(found(), "question 6")


def _least_making_site(frames: EvFrames) -> Given:
    site = str(frames.edges[BUILT_AT].groupby("target").size().idxmin())
    return {"site": frames.name("FactorySite", site)}


def _models_in_months(frames: EvFrames) -> Iterator[Given]:
    names = _names_of(frames, "VehicleModel")
    for model, year, month in _different(frames.edges[ASSEMBLED_AT], "source", "year", "month"):
        yield {"model": names[model], "month": MONTHS[int(month) - 1], "year": int(year)}


def _planned_elsewhere(frames: EvFrames) -> Given:
    """In that month the model is planned at two sites or more, and was assembled at others."""

    def found() -> Iterator[Given]:
        for (model, year, month), group in frames.edges[ASSEMBLED_AT].groupby(["source", "year", "month"]):
            planned = set(group.loc[group["costClass"] == "Plan", "target"])
            done = set(group.loc[group["costClass"] == "Actuals", "target"])
            if len(planned) >= 2 and done and done != planned:
                name = frames.name("VehicleModel", str(model))
                yield {"model": name, "month": MONTHS[_whole(month) - 1], "year": _whole(year)}

    return _first(found(), "question 10")


def _same_dearest(frames: EvFrames) -> Given:
    """The three dearest modules are the same by plans, by actuals and by both, with equal flows counted once or twice."""

    def found() -> Iterator[Given]:
        for model, rows in frames.edges[INTO_MODEL].groupby("target"):
            by_class = [rows.loc[rows["costClass"] == each] for each in ("Plan", "Actuals")]
            first = {tuple(dearest_first(each)[:3]) for each in (rows, rows.drop_duplicates(), *by_class)}
            if rows["source"].nunique() >= 6 and len(first) == 1:
                yield {"model": frames.name("VehicleModel", str(model))}

    return _first(found(), "question 11")


def _only_directly_used(frames: EvFrames) -> Given:
    """The module goes into vehicles only directly; some of them have actual flows of it alone, where the graph is large enough."""
    rows = frames.edges[INTO_MODEL]
    planned = rows.loc[rows["costClass"] == "Plan"].groupby("source")["target"].agg(frozenset)

    def found(least_done: int) -> Iterator[Given]:
        for key, name in _names_of(frames, "BatteryModule").items():
            models = planned.get(key, frozenset())
            whole = models_of(frames, key)
            if 2 <= len(models) <= _MOST_ASKED and whole == set(frames.into[key]) and len(whole - models) >= least_done:
                yield {"module": name}

    return _first(chain(found(1), found(0)), "question 12")


def _units(frames: EvFrames) -> Iterator[Given]:
    names = _names_of(frames, "BusinessUnit")
    assigned = frames.edges[("ASSIGNED_TO", "AssemblyProcess", "BusinessUnit")]
    return ({"unit": names[unit], "year": int(year)} for unit, year in _different(assigned, "target", "year"))


def _least_unit(frames: EvFrames) -> Given:
    assigned = frames.edges[("ASSIGNED_TO", "AssemblyProcess", "BusinessUnit")]
    unit, year = _two(assigned.groupby(["target", "year"])["source"].nunique().idxmin())
    return {"unit": frames.name("BusinessUnit", unit), "year": _whole(year)}


def _least_processing_site(frames: EvFrames) -> Given:
    lines = frames.edges[("INSTALLED_AT", "AssemblyLine", "FactorySite")].rename(columns={"source": "line"})
    at_line = frames.edges[("PROCESSED_AT", "AssemblyProcess", "AssemblyLine")].rename(columns={"target": "line"})
    site = str(at_line.merge(lines, on="line").groupby("target")["source"].nunique().idxmin())
    return {"site": frames.name("FactorySite", site)}


def _models_in_quarters(frames: EvFrames) -> Iterator[Given]:
    names = _names_of(frames, "VehicleModel")
    for model, year, quarter in _different(frames.edges[OUTPUT_MODEL], "target", "year", "quarter"):
        yield {"model": names[model], **_quarter(year, quarter)}


def _same_processes(frames: EvFrames) -> Given:
    """In that quarter plans and actuals name the same processes; other quarters of the model have others."""
    outputs = frames.edges[OUTPUT_MODEL]

    def found() -> Iterator[Given]:
        for (model, year, quarter), group in outputs.groupby(["target", "year", "quarter"]):
            by_class = group.groupby("costClass")["source"].agg(frozenset)
            processes = by_class.get("Actuals", frozenset())
            others = set(outputs.loc[outputs["target"] == model, "source"])
            if len(processes) >= 2 and set(by_class) == {processes} and len(by_class) == 2 and processes < others:
                yield {"model": frames.name("VehicleModel", str(model)), **_quarter(year, quarter)}

    return _first(found(), "question 15")


_MODULES = _each("module", "BatteryModule")
_SITES = _each("site", "FactorySite")
_FORMS: Sequence[_Form] = (
    _Form(_TIME, "List all battery modules produced in {year}.", _least_produced_year, _years),
    _Form(
        _TIME,
        "List all vehicle models assembled in the {quarter_word} quarter of {year}.",
        _least_assembled_quarter,
        _quarters,
    ),
    _Form(
        _COST,
        "Which vehicle models are built with an assembly process of the family '{family}'?",
        _rarest_family,
        _families,
    ),
    _Form(
        _COST,
        "What is the total cost of auxiliary modules at assembly tier {tier} in {year}?",
        lambda frames: {"tier": 3, "year": 2022},
        _tiers,
    ),
    _Form(
        _IMPACT,
        "If battery module {module} runs short, which vehicle models are affected?",
        _needed_over_chains,
        _MODULES,
    ),
    _Form(
        _IMPACT,
        "If battery module {module} becomes unavailable, which factory sites and regions are affected?",
        _made_where_it_is_used,
        _MODULES,
    ),
    _Form(_TIME, "Which battery modules are produced at {site}?", _least_making_site, _SITES),
    _Form(_COUNTED, "Which vehicle models are currently manufactured at three or more factory sites?"),
    _Form(_COUNTED, "Which vehicle models are scheduled for production in two or more different months?"),
    _Form(
        _TIME,
        "At which factory sites is vehicle model {model} scheduled to be assembled in {month} {year}?",
        _planned_elsewhere,
        _models_in_months,
    ),
    _Form(
        _COST,
        "Which three component modules contribute most to the total cost of vehicle model {model}?",
        _same_dearest,
        _each("model", "VehicleModel"),
    ),
    _Form(
        _IMPACT,
        "Which vehicle models are planned to include battery module {module}?",
        _only_directly_used,
        _MODULES,
    ),
    _Form(
        _COST,
        "Which assembly processes were associated with the business unit {unit} in {year}?",
        _least_unit,
        _units,
    ),
    _Form(_TIME, "List all assembly processes executed at {site}.", _least_processing_site, _SITES),
    _Form(
        _TIME,
        "List the assembly processes used to manufacture vehicle model {model} "
        "in the {quarter_word} quarter of {year}.",
        _same_processes,
        _models_in_quarters,
    ),
)
