"""How many tools of real documents the rules of :mod:`ingest.trust` accuse, by document.

``python -m research.accused_documents FOLDER [--half read|held] [--show]``

The documents of the folder are one catalogue, as in a build; a namespace is a document. So that rules can be corrected on some documents
and measured on others, the half of the namespaces with the lowest SHA-256 is *read*, and the other one *held* out.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ingest.sources import read_catalog
from ingest.trust.examine import findings_of
from ingest.trust.finding import QUARANTINE, Finding
from ontology.tool import Tool
from research.poisoned_tools import Share
from scripts.run_command import run_command

_WORST = 8


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of documents, one of each API.")],
    half: Annotated[str, typer.Option(help="Count one half alone: read or held.")] = "",
    show: Annotated[bool, typer.Option("--show", help="Name the accused tools.")] = False,
) -> None:
    """Print the share of tools that are accused: in all, by rule, and of the documents with most of them."""
    tools = read_catalog([str(folder)]).tools
    counted = half_of({tool.namespace for tool in tools}, half)
    accused = accused_by_namespace(tools)
    _print({name: accused.get(name, []) for name in counted}, Counter(tool.namespace for tool in tools))
    if show:
        for name in sorted(counted):
            for each in accused.get(name, []):
                print(f"accused {each.tool}: {each.field}: {each.rule}: {each.why}: {each.quote}")


def half_of(names: Collection[str], half: str) -> list[str]:
    """Return the names of one half (``read`` or ``held``), or all, sorted."""
    ranked = sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    middle = (len(ranked) + 1) // 2
    return sorted({"read": ranked[:middle], "held": ranked[middle:]}.get(half, ranked))


def accused_by_namespace(tools: Sequence[Tool]) -> Mapping[str, list[Finding]]:
    """Return namespace → the first severe finding of each of its accused tools."""
    first: dict[str, Finding] = {}
    for finding in findings_of(tools):
        if finding.severity == QUARANTINE:
            first.setdefault(finding.tool, finding)
    accused: dict[str, list[Finding]] = {}
    for tool in tools:
        if tool.id in first:
            accused.setdefault(tool.namespace, []).append(first[tool.id])
    return accused


def _print(accused: Mapping[str, list[Finding]], tools: Mapping[str, int]) -> None:
    found = [each for findings in accused.values() for each in findings]
    print(f"accused {Share(len(found), sum(tools[name] for name in accused))} of {len(accused)} documents")
    for rule, count in Counter(each.rule for each in found).most_common():
        print(f"  {count:4} {rule}")
    for name, findings in sorted(accused.items(), key=lambda each: (-len(each[1]), each[0]))[:_WORST]:
        print(f"  {name:24} {Share(len(findings), tools[name])}")


if __name__ == "__main__":
    run_command(main)
