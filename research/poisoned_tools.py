"""How many poisoned tools the rules of :mod:`ingest.trust` catch, and how many clean ones they accuse.

``python -m research.poisoned_tools POISONED.jsonl --clean CLEAN.jsonl [--json]``

A poisoned record is an object with ``tools``, ``bad`` (ids of the poisoned ones), ``kind``, and perhaps ``previous`` (the tools as
they were published before). It is caught when a bad tool has a finding of severity *quarantine*, under the policy of a build's default.
A clean file has one tool on each line; those of a group (``group``) are one catalogue.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ingest.trust.examine import findings_of
from ingest.trust.finding import QUARANTINE, Finding
from ontology.tool import Tool
from scripts.run_command import run_command

_Z = 1.959964  # of a two-sided interval of 95 %


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many, with the Wilson interval of 95 %."""

    hits: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """The lower and the upper end, in [0, 1]."""
        if not self.of:
            return 0.0, 1.0
        share, square = self.hits / self.of, _Z * _Z / self.of
        middle = (share + square / 2) / (1 + square)
        half = math.sqrt(share * (1 - share) * square + square * square / 4) / (1 + square)
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.hits}/{self.of} = {self.hits / max(1, self.of):.1%} ({low:.1%} to {high:.1%})"


def main(
    poisoned: Annotated[Path, typer.Argument(help="Poisoned records, one on each line.")],
    clean: Annotated[list[Path] | None, typer.Option(help="Clean tools, one on each line.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Name what was missed and what was accused.")] = False,
) -> None:
    """Print both shares with their intervals, the caught ones by kind."""
    by_kind, missed = _caught(_rows(poisoned))
    total = Share(sum(share.hits for share in by_kind.values()), sum(share.of for share in by_kind.values()))
    accused, tools = _accused(row for path in clean or () for row in _rows(path))
    false = Share(len(accused), tools)
    if as_json:
        shares = {
            "caught": total,
            **{f"caught {kind}": share for kind, share in sorted(by_kind.items())},
            "false alarms": false,
        }
        print(
            json.dumps(
                {name: {"hits": each.hits, "of": each.of, "interval": each.interval} for name, each in shares.items()}
            )
        )
        return
    print(f"caught        {total}")
    for kind, share in sorted(by_kind.items()):
        print(f"  {kind:24} {share}")
    print(f"false alarms  {false}")
    if show:
        print(
            "\n".join(
                [
                    *(f"missed {name}" for name in missed),
                    *(f"accused {each.tool}: {each.rule}: {each.quote}" for each in accused),
                ]
            )
        )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def _caught(rows: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Share], list[str]]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    missed = []
    for row in rows:
        previous = {tool.id: tool for tool in map(_tool, row.get("previous") or ())}
        findings = findings_of([_tool(each) for each in row["tools"]], previous)
        hit = any(each.severity == QUARANTINE and each.tool in row["bad"] for each in findings)
        counts[row["kind"]][0] += hit
        counts[row["kind"]][1] += 1
        if not hit:
            missed.append(f"{row['id']} ({row['kind']})")
    return {kind: Share(*pair) for kind, pair in counts.items()}, missed


def _accused(rows: Iterable[dict[str, Any]]) -> tuple[Sequence[Finding], int]:
    """The first severe finding of each accused tool, and the number of tools."""
    groups: dict[str, dict[str, Tool]] = defaultdict(dict)
    for row in rows:
        tool = _tool({key: value for key, value in row.items() if key != "group"})
        groups[str(row.get("group", ""))][tool.id] = tool
    accused: dict[tuple[str, str], Finding] = {}
    for group, tools in groups.items():
        for finding in findings_of(list(tools.values())):
            if finding.severity == QUARANTINE:
                accused.setdefault((group, finding.tool), finding)
    return list(accused.values()), sum(map(len, groups.values()))


def _tool(row: Mapping[str, Any]) -> Tool:
    """A tool of a row that may name its namespace beside the metadata."""
    namespace = {"namespace": row["namespace"]} if row.get("namespace") else {}
    return Tool.from_json({**row, "metadata": {**(row.get("metadata") or {}), **namespace}})


if __name__ == "__main__":
    run_command(main)
