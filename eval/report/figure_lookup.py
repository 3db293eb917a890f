"""Find figures in a summary, and describe their snapshots and systems in a caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.report.blocks import Column, text_columns
from eval.summary import Figure, Summary, SystemFacts

__all__ = ["CONFIGS", "Figures", "Scope", "chosen"]

CONFIGS = "“Configurations by set”"  # the section with every config hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A group of requests in a table.

    :param scope: as in :class:`eval.summary.Figure`; likewise ``group``.
    :param name: its name in tables.
    :param sets: the sets of its requests.
    :param average: whether it is the average of the other scopes in the table.
    """

    scope: str
    group: str
    name: str
    sets: tuple[str, ...]
    average: bool = False


class Figures:
    """The figures and facts of a summary by scope, system and measure."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self._figures = {
            (one.scope, one.set_name if one.scope == "class" else "", one.group, one.system, one.measure): one
            for one in summary.figures
        }
        self._facts = {(facts.set_name, facts.system): facts for facts in summary.facts}

    def get(self, scope: Scope, system: str, measure: str) -> Figure | None:
        """The figure, or None where it was not measured."""
        set_name = scope.sets[0] if scope.scope == "class" else ""
        return self._figures.get((scope.scope, set_name, scope.group, system, measure))

    def facts(self, set_name: str, system: str) -> SystemFacts | None:
        """The facts of a system on a set, or None where it was not run on it."""
        return self._facts.get((set_name, system))

    def requests(self, set_name: str = "") -> Scope:
        """All requests of a set; or of all sets, each set counting the same."""
        if set_name:
            return Scope(scope="set", group=set_name, name=set_name, sets=(set_name,))
        return Scope(scope="macro", group="", name="macro-average", sets=tuple(self.summary.sets), average=True)

    def strict(self, set_name: str) -> Scope:
        """All requests of a set with alternatives, where only the first tool of a slot fills it."""
        return Scope(scope="strict", group=set_name, name=f"{set_name}, strict", sets=(set_name,))

    def classes(self, set_name: str) -> list[Scope]:
        """The classes of a set; empty where its requests have no class."""
        classes = self.summary.sets[set_name].classes
        return [Scope(scope="class", group=name, name=name, sets=(set_name,)) for name in sorted(classes) if name]

    def too_large(self, scope: Scope, measure: str, systems: Sequence[str]) -> float | None:
        """Share of the requests that no system can complete at the measure's cutoff."""
        found = (self.get(scope, system, measure) for system in systems)
        return next((figure.too_large for figure in found if figure is not None), None)

    def config(self, system: str, set_name: str) -> str:
        """The config hash of a system on a set; empty where it was not run on it."""
        facts = self.facts(set_name, system)
        return facts.config_hash if facts is not None else ""

    def identity(self, sets: Sequence[str], systems: Sequence[str]) -> str:
        """Snapshots, systems and config hashes, for a caption."""
        ids = {name: self.summary.sets[name].snapshot_id for name in sets}
        if len(ids) > 1:
            named = ", ".join(f"{name} {id_}" for name, id_ in ids.items())
            return f"Snapshots: {named}. Config hashes: see {CONFIGS}."
        hashes = ", ".join(f"{system} {self.config(system, *sets) or '–'}" for system in systems)
        return f"Snapshot {''.join(ids.values())}{f'; config hash of {hashes}' if hashes else ''}."

    def system_columns(self, sets: Sequence[str]) -> tuple[Column, ...]:
        """The first columns of a table with one row a system; over several sets a system has several configs."""
        return text_columns("system", "config") if len(sets) == 1 else text_columns("system")

    def system_cells(self, system: str, sets: Sequence[str]) -> tuple[str, ...]:
        """The texts of a system in these columns."""
        return (system, self.config(system, *sets)) if len(sets) == 1 else (system,)


def chosen(summary: Summary, systems: Sequence[str]) -> tuple[str, ...]:
    """Those of these systems that the summary has; all of its systems where none is given."""
    return tuple(name for name in systems if name in summary.systems) if systems else summary.systems
