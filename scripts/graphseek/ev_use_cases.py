"""The five use cases of section 5.3 of the paper, and a question for each failure of section 6.4, on the EV graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from scripts.graphseek.ev_frames import EvFrames
from scripts.graphseek.question import Question, Truth

__all__ = ["ev_use_cases"]

_MODEL = "EV-X7"
_PREFIX = "B"
_BLUEPRINT_HOPS = 3


def ev_use_cases(frames: EvFrames, asked: Sequence[Question]) -> list[Question]:
    """Return the questions.

    :param asked: the 15 questions; one of them lends its module.
    """
    return [*_use_cases(frames), *_failures(frames, asked)]


def _question(name: str, family: str, text: str, truth: Truth, follows: str = "") -> Question:
    return Question(id=name, graph="ev", family=family, text=text, truth=truth, follows=follows)


def _names(*parts: Iterable[str]) -> Truth:
    return Truth(kind="names", parts=tuple(tuple(part) for part in parts))


def _use_cases(frames: EvFrames) -> list[Question]:
    modules, family = frames.nodes["BatteryModule"], "use case"
    dearest = str(modules.nlargest(1, "marketPrice")["key"].item())
    built = frames.edges[("BUILT_AT", "BatteryModule", "FactorySite")]
    cost = float(modules["unitCost"].max())
    parts = _modules_of_model(frames, frames.key("VehicleModel", _MODEL), _BLUEPRINT_HOPS, "Plan")
    drives = frames.nodes["DriveAssembly"]
    base = drives.loc[drives["assemblyTier"] == 0].groupby("factoryCode").size().sort_index()
    return [
        _question(
            "use-01",
            family,
            "How many base-tier drive assemblies do we produce at each factory site?",
            Truth(
                kind="pairs",
                parts=(tuple(chain.from_iterable(zip(base.index.astype(str), base.tolist(), strict=True))),),
            ),
        ),
        _question(
            "use-02",
            family,
            f"Show me the unique manufacturing blueprint for vehicle model {_MODEL}.",
            _names(frames.names("BatteryModule", parts), frames.names("DriveAssembly", parts)),
        ),
        _question(
            "use-03",
            family,
            "At which factory site is the component with the highest market price manufactured?",
            _names(frames.names("FactorySite", built.loc[built["source"] == dearest, "target"])),
        ),
        _question(
            "use-04",
            family,
            f"Check unique production plans for three vehicle models whose names start with '{_PREFIX}', "
            "and tell me which one uses the largest number of modules.",
            _names([_most_modules(frames)]),
        ),
        _question("use-05", family, "What is the highest module cost?", Truth(kind="number", parts=((cost,),))),
        _question(
            "use-06",
            family,
            "Which module has this highest cost?",
            _names(frames.names("BatteryModule", modules.loc[modules["unitCost"] == cost, "key"])),
            follows="use-05",
        ),
    ]


def _modules_of_model(frames: EvFrames, model: str, hops: int, cost_class: str = "") -> set[str]:
    """Return keys of what goes into a model over so many hops, of planned or actual flows alone where a class is given."""
    found: set[str] = set()
    front = {model}
    for _ in range(hops):
        sources: set[str] = set()
        for (name, _, _), rows in frames.edges.items():
            if name == "INTEGRATED_IN":
                fits = rows["target"].isin(front)
                if cost_class:
                    fits &= rows["costClass"] == cost_class
                sources |= set(rows.loc[fits, "source"])
        front = sources - found
        found |= sources
    return found


def _most_modules(frames: EvFrames) -> str:
    models = frames.nodes["VehicleModel"]
    mine = models.loc[models["name"].str.startswith(_PREFIX), ["key", "name"]]
    counts = {
        str(name): sum(part.startswith("BMK-") for part in _modules_of_model(frames, str(key), 2, "Plan"))
        for key, name in zip(mine["key"], mine["name"], strict=True)
    }
    return max(counts, key=lambda name: counts[name])


def _failures(frames: EvFrames, asked: Sequence[Question]) -> list[Question]:
    """Wrong kind of entity, near-synonym types, swapped direction, chain cut short."""
    family = "failure"
    at_line = frames.edges[("PROCESSED_AT", "AssemblyProcess", "AssemblyLine")]
    process = str(at_line["source"].min())
    lines = at_line.loc[at_line["source"] == process, "target"]
    side = frames.nodes["AuxiliaryModule"]
    count = int(((side["category"] == "side assembly") & (side["year"] == 2023)).sum())
    into = frames.edges[("INTEGRATED_IN", "BatteryModule", "DriveAssembly")]
    passed_on = set(frames.edges[("INTEGRATED_IN", "DriveAssembly", "VehicleModel")]["source"])
    drive = str(into.loc[into["target"].isin(passed_on), "target"].min())
    (longest,) = (each for each in asked if each.id == "ev-06")
    return [
        _question(
            "failure-01",
            family,
            f"On which assembly line is the assembly process {frames.name('AssemblyProcess', process)} processed?",
            _names(frames.names("AssemblyLine", lines)),
        ),
        _question(
            "failure-02",
            family,
            "How many side assemblies were there in 2023?",
            Truth(kind="number", parts=((float(count),),)),
        ),
        _question(
            "failure-03",
            family,
            f"Which battery modules are integrated in drive assembly {drive}?",
            _names(frames.names("BatteryModule", into.loc[into["target"] == drive, "source"])),
        ),
        _question(
            "failure-04",
            family,
            f"In which regions are the vehicle models assembled that need battery module {longest.parameters['module']}?",
            _names([str(name) for name in longest.truth.parts[1]]),
        ),
    ]
