"""Finding figures in a summary, and saying in a caption what they are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.report.document import Cell, Column
from eval.summary import Figure, Summary, SystemFacts

__all__ = ["CONFIGS", "Figures", "Group", "chosen"]

CONFIGS = "“Configurations by set”"  # the section where every config hash is found


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The requests that figures are over, as :class:`eval.summary.Figure` names them.

    :param name: what tables call it.
    :param sets: the sets that the requests are of.
    :param average: whether it sums up the groups that it stands beside.
    """

    scope: str
    group: str
    name: str
    sets: tuple[str, ...]
    average: bool = False


class Figures:
    """The figures and facts of a summary by what they are of."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self._figures = {
            (figure.scope, _set_of_class(figure), figure.group, figure.system, figure.measure): figure
            for figure in summary.figures
        }
        self._facts = {(facts.set_name, facts.system): facts for facts in summary.facts}

    def get(self, group: Group, system: str, measure: str) -> Figure | None:
        """The figure, or None where it was not measured."""
        set_name = group.sets[0] if group.scope == "class" else ""
        return self._figures.get((group.scope, set_name, group.group, system, measure))

    def facts(self, set_name: str, system: str) -> SystemFacts | None:
        """What the system cost on the set, or None where it was not run on it."""
        return self._facts.get((set_name, system))

    def group(self, set_name: str = "") -> Group:
        """All requests of a set, or of all sets, each set counting the same."""
        if set_name:
            return Group(scope="set", group=set_name, name=set_name, sets=(set_name,))
        return Group(scope="macro", group="", name="macro-average", sets=tuple(self.summary.sets), average=True)

    def classes(self, set_name: str) -> list[Group]:
        """The classes of a set; none where its requests have no class."""
        classes = self.summary.sets[set_name]["classes"]
        return [Group(scope="class", group=name, name=name, sets=(set_name,)) for name in sorted(classes) if name]

    def too_large(self, group: Group, measure: str, systems: Sequence[str]) -> float | None:
        """Share of the group's requests that no system can complete at the measure's cutoff."""
        found = (self.get(group, system, measure) for system in systems)
        return next((figure.too_large for figure in found if figure is not None), None)

    def config(self, system: str, set_name: str) -> str:
        """The system's config hash on a set; empty where it was not run on it."""
        facts = self.facts(set_name, system)
        return facts.config_hash if facts is not None else ""

    def identity(self, sets: Sequence[str], systems: Sequence[str]) -> str:
        """Snapshots, systems and config hashes, for a caption."""
        ids = {name: str(self.summary.sets[name]["snapshot_id"]) for name in sets}
        if len(ids) > 1:
            named = ", ".join(f"{name} {id_}" for name, id_ in ids.items())
            return f"Snapshots: {named}. Config hashes: see {CONFIGS}."
        hashes = ", ".join(f"{system} {self.config(system, *sets) or '–'}" for system in systems)
        return f"Snapshot {''.join(ids.values())}{f'; config hash of {hashes}' if hashes else ''}."

    def system_columns(self, sets: Sequence[str]) -> tuple[Column, ...]:
        """The first columns of a table with systems below each other: over several sets a system has several configs."""
        names = ("system", "config") if len(sets) == 1 else ("system",)
        return tuple(Column(name=name, number=False) for name in names)

    def system_cells(self, system: str, sets: Sequence[str]) -> tuple[Cell, ...]:
        """A system's cells in these columns."""
        texts = (system, self.config(system, *sets)) if len(sets) == 1 else (system,)
        return tuple(Cell(text=text) for text in texts)


def _set_of_class(figure: Figure) -> str:
    """A class is one of a set; the other groups have names of their own."""
    return figure.set_name if figure.scope == "class" else ""


def chosen(summary: Summary, systems: Sequence[str]) -> tuple[str, ...]:
    """These systems as far as the summary has them, or all of its systems."""
    return tuple(name for name in systems if name in summary.systems) if systems else summary.systems
