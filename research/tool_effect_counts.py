"""What :mod:`ontology.tool_effects` makes of real documents, of a public market's titles, of AWS, and of names it was not made with.

``python -m research.tool_effect_counts [--show] [--draw]``

Google's discovery documents and AWS's models are those of the installed packages (extras ``google`` and ``aws``); Kubernetes, TMDB, Spotify and
the market are files of the open sets. ``--show`` names each GET that counts as a change, ``--draw`` 200 operations of AWS that read.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from egotools.call import Call
from ingest.sources import read_catalog
from ontology.tool import Tool
from ontology.tool_effects import effect_of
from ontology.yaml_data import read_yaml
from scripts.run_command import run_command

NAMED_GETS = Path(__file__).with_name("tool_effects") / "named_gets.yaml"
_COMPANY = Path(__file__).parents[1] / "examples" / "enterprise" / "catalog"
_SPECS = ("k8s_core_v1", "tmdb", "spotify")
_SEED = 27
_DRAWN = 200


def main(
    shared: Annotated[Path, typer.Option(help="Folder of the open sets, with bench and specs.")] = Path("../shared"),
    show: Annotated[bool, typer.Option("--show", help="Name the GETs that count as a change.")] = False,
    draw: Annotated[bool, typer.Option("--draw", help="Draw operations of AWS that read.")] = False,
) -> None:
    """Print how many GETs count as a change, and how many operations of AWS read."""
    for half in ("change", "read"):
        _print(f"named {half}, wrong", wrong_names(half), len(names(half)), show)
    documents = {"company": _COMPANY} | {name: shared / "specs" / f"{name}.openapi.json" for name in _SPECS}
    sources = {"google": "google-discovery:*"} | {name: str(path) for name, path in documents.items()}
    for name, source in sources.items():
        _print_changes(name, gets(read_catalog([source]).tools), show)
    _print_changes("market", list(market_gets(shared / "bench" / "scale_44k" / "tools.jsonl")), show)
    operations = read_catalog(["aws:*"]).tools
    reading = sorted(tool.name for tool in operations if effect_of(tool) == "read")
    print(f"aws: {len(reading):,} of {len(operations):,} operations read")
    if draw:
        print("\n".join(random.Random(_SEED).sample(reading, _DRAWN)))


def names(half: str) -> list[str]:
    """Return the names of GETs that ``change`` or ``read``."""
    return [name for group in read_yaml(NAMED_GETS)[half].values() for name in group.split()]


def wrong_names(half: str) -> list[str]:
    """Return those of these names that the rule takes for the other thing."""
    return [name for name in names(half) if (effect_of(named_get(name)) == "read") is (half == "change")]


def named_get(name: str) -> Tool:
    """Return a tool that is called by GET, of which nothing but its name is known."""
    return Tool(id=name, name=name, call=Call(protocol="http", method="GET", path="/"))


def gets(tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools that are called by GET."""
    return [tool for tool in tools if tool.call is not None and tool.call.method == "GET"]


def market_gets(path: Path) -> Iterator[Tool]:
    """Yield the GETs of a public market of APIs, by the titles that people gave them."""
    for line in path.read_text(encoding="utf-8").splitlines():
        metadata: dict[str, Any] = json.loads(line)["metadata"]
        if metadata.get("method") == "GET":
            yield named_get(metadata["api"])


def _print_changes(name: str, found: Sequence[Tool], show: bool) -> None:
    _print(f"{name}: GETs as a change", [tool.name for tool in found if effect_of(tool) != "read"], len(found), show)


def _print(what: str, found: Sequence[str], total: int, show: bool) -> None:
    print(f"{what}: {len(found):,} of {total:,} ({100 * len(found) / max(total, 1):.2f} %)")
    if show:
        print(*(f"  {name}" for name in found), sep="\n")


if __name__ == "__main__":
    run_command(main)
