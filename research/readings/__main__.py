"""Score the published readings and put the tables into ``docs/datagen.md``: ``python -m research.readings``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from datagen.requests import CLASSES
from research.reader_answers import Answer, Gold, judged, numbered_rows, read_answers, read_gold
from research.reading_scores import kappa
from research.readings.servable import read_servable, servable_table
from scripts.bench_sets import ROOT
from scripts.document_blocks import replace_block
from scripts.run_command import run_command

__all__ = [
    "ROUNDS",
    "Reading",
    "by_catalogue",
    "long_readings",
    "read_reading",
    "read_rounds",
    "tables",
    "unanswerable_table",
]

FOLDER = Path(__file__).resolve().parent
PAGE = ROOT / "docs" / "datagen.md"
READERS = ("reader1", "reader2")
ROUNDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
"""The rounds, oldest first: after each, the rules were changed with what its readers had noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The answers of two readers to the requests of one catalogue.

    :param gold: the gold set of each row.
    :param answers: of each reader, by row.
    """

    catalogue: str
    gold: Mapping[str, Gold]
    answers: tuple[Mapping[str, Answer], Mapping[str, Answer]]

    def wrong(self, reader: int) -> list[bool]:
        """Of each row, whether a reader finds its label wrong."""
        return [judged(gold, self.answers[reader][row]).wrong for row, gold in self.gold.items()]

    def typeable(self, reader: int) -> list[bool]:
        """Of each row, whether a reader finds that a colleague could have typed it."""
        return [self.answers[reader][row].typeable for row in self.gold]

    @property
    def accepted(self) -> frozenset[str]:
        """The ids of the requests whose label no reader finds wrong, and that a colleague could have typed by both."""
        wrong, typed = ([*zip(judge(0), judge(1), strict=True)] for judge in (self.wrong, self.typeable))
        rows = zip(self.gold.values(), wrong, typed, strict=True)
        return frozenset(gold.request for gold, faults, natural in rows if not any(faults) and all(natural))


def main() -> None:
    """Renew the tables."""
    replace_block(PAGE, "readings", "\n".join(tables(read_rounds())))
    replace_block(PAGE, "readings-unanswerable", "\n".join(unanswerable_table()))
    replace_block(PAGE, "readings-long", "\n".join(by_catalogue({"long": long_readings()})))


def unanswerable_table() -> Iterator[str]:
    """Yield the lines of the table of unanswerable requests, which were read among answerable ones."""
    folders = sorted((FOLDER / "unanswerable").iterdir())
    yield from servable_table({folder.name: read_servable(folder, READERS) for folder in folders})


def long_readings() -> list[Reading]:
    """The readings of long tasks."""
    return [read_reading(folder) for folder in sorted((FOLDER / "long").iterdir())]


def read_rounds(folder: Path = FOLDER) -> dict[str, list[Reading]]:
    """The readings of each round.

    :raises DocumentError: for a file that is no sheet, key or answer.
    :raises InvalidArgumentError: when files of a reading do not belong together.
    """
    return {
        name: [read_reading(path) for path in sorted((folder / name).iterdir())]
        for name in ROUNDS
        if (folder / name).is_dir()
    }


def read_reading(folder: Path) -> Reading:
    """The reading in a folder.

    :raises DocumentError: for a file that is no sheet, key or answer.
    :raises InvalidArgumentError: when its files do not belong together.
    """
    ids = [row["id"] for _, row in numbered_rows(folder / "sheet.jsonl")]
    first, second = (read_answers(folder / f"{reader}.jsonl", ids) for reader in READERS)
    return Reading(catalogue=folder.name, gold=read_gold(folder / "key.jsonl", ids), answers=(first, second))


def tables(rounds: Mapping[str, list[Reading]]) -> Iterator[str]:
    """Yield the lines of the tables: by catalogue and by class, in Markdown."""
    yield from by_catalogue(rounds)
    yield ""
    yield from _by_class(rounds)


def by_catalogue(rounds: Mapping[str, list[Reading]]) -> Iterator[str]:
    """Yield the lines of the table with a row a reading."""
    yield "| round | catalogue | requests | label errors, reader 1 / 2 | could have been typed, reader 1 / 2 | agreement (κ): label, typed |"
    yield "|---|---|---:|---:|---:|---:|"
    for name, readings in rounds.items():
        for one in readings:
            wrong, typed = ([judge(reader) for reader in (0, 1)] for judge in (one.wrong, one.typeable))
            agreed = ", ".join(_kappa(first, second) for first, second in (wrong, typed))
            shares = [
                " / ".join(f"{100 * sum(rows) / len(rows):.0f} %" for rows in judgement) for judgement in (wrong, typed)
            ]
            yield f"| {name} | {one.catalogue} | {len(one.gold)} | {shares[0]} | {shares[1]} | {agreed} |"


def _by_class(rounds: Mapping[str, list[Reading]]) -> Iterator[str]:
    columns = [(name, kind, of) for name, readings in rounds.items() for kind, of in _grouped(readings)]
    yield (
        "| class: typed; label errors, of the judgements of both readers | "
        + " | ".join(f"{name}, {kind}" for name, kind, _ in columns)
        + " |"
    )
    yield "|---|" + "---:|" * len(columns)
    for class_name in CLASSES:
        cells = " | ".join(_cell(of, class_name) for _, _, of in columns)
        yield f"| {class_name} | {cells} |"


def _grouped(readings: list[Reading]) -> Iterator[tuple[str, list[Reading]]]:
    """The shipped company, and the real catalogues together."""
    for kind, company in (("company", True), ("real", False)):
        of = [one for one in readings if (one.catalogue == "company") == company]
        if of:
            yield kind, of


def _cell(readings: list[Reading], class_name: str) -> str:
    judgements = [
        (typed, wrong)
        for one in readings
        for reader in (0, 1)
        for gold, typed, wrong in zip(one.gold.values(), one.typeable(reader), one.wrong(reader), strict=True)
        if gold.request_class == class_name
    ]
    typed, wrong = (sum(column) for column in zip(*judgements, strict=True)) if judgements else (0, 0)
    return f"{typed} of {len(judgements)}; {wrong}" if judgements else "–"


def _kappa(one: list[bool], other: list[bool]) -> str:
    value = kappa(one, other)
    return "–" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    run_command(main)
