"""The worked example of docs/how-it-works.md and the README, made by the code: triples, picture, retrieval.

``python -m scripts.worked_example`` rewrites the marked blocks of the pages and the picture; with ``--check`` it changes
nothing, and the exit code is 1 when they are not what the code gives. A test runs the check.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections import Counter
from html import escape
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import ROOT, run_command
from egotools.values import EgoGraph
from inference import load_encoder
from ontology.names import words
from retrieval.engine import Engine, open_engine
from retrieval.query.request import Request
from services.cli.search import format_reasons
from services.jobs.build import build_snapshot

CATALOG = ROOT / "examples" / "enterprise" / "catalog"
PAGES = (ROOT / "docs" / "how-it-works.md", ROOT / "README.md")
PICTURE = ROOT / "docs" / "ego-graph.svg"
TOOL = "projects/send_task_deadline_reminder"
QUERY = "Show me the details of all purchase order items with 'pending' status"
_BLOCK = re.compile(r"(<!-- example:(\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_COLOURS = {
    "tool": "#1f6feb",
    "parameter": "#8250df",
    "business_object": "#1a7f37",
    "capability": "#bc4c00",
    "value": "#6e7781",
}
_OTHER = "#9a6700"
_OF_A_PREDICATE = 1
_WIDTH, _HEIGHT = 1120, 820


def main(
    check: Annotated[bool, typer.Option("--check", help="change nothing; exit 1 when a page is stale")] = False,
) -> None:
    """Write the example, or check it."""
    with tempfile.TemporaryDirectory() as folder:
        encoder = load_encoder("egotools-minilm-int8.v1", workers=2)
        build_snapshot([str(CATALOG)], Path(folder), encoder=encoder, workers=2)
        engine = open_engine(Path(folder), encoder=encoder)
        blocks = {make.__name__: make(engine) for make in (document, triples, entries, ranking, answer)}
        made = {page: _filled(page, blocks) for page in PAGES}
        made[PICTURE] = draw(engine.neighbors(TOOL, limit=60))
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if check and stale:
        print(f"stale: {', '.join(path.name for path in stale)}; run python -m scripts.worked_example")
        raise typer.Exit(1)
    for path in stale:
        path.write_text(made[path], encoding="utf-8")


def _filled(page: Path, blocks: dict[str, str]) -> str:
    text = page.read_text(encoding="utf-8")
    return _BLOCK.sub(lambda found: f"{found[1]}{blocks[found[2]]}\n{found[3]}", text)


def document(engine: Engine) -> str:
    """The tool's document as a table."""
    tool = engine.tool(TOOL)
    rows = [f"| title | {tool.title} |", f"| description | {tool.description} |"]
    for parameter in tool.parameters:
        kind = f"enum [{', '.join(parameter.enum)}]" if parameter.enum else parameter.type
        rows.append(f"| input `{parameter.name}` | {kind}: {parameter.description} |")
    rows += [f"| output `{output.name}` | {output.type} |" for output in tool.returns]
    rows += [
        f"| {key} | {value} |"
        for key, value in sorted(tool.metadata.items())
        if key in ("line_of_business", "department", "user_role")
    ]
    return "\n".join(("| field | what it says |", "|---|---|", *rows))


def triples(engine: Engine) -> str:
    """Canonical triples read from the tool's document, of each predicate a few: of the tool, and between what it names."""
    own = engine.neighbors(TOOL, limit=1_000).edges
    named = sorted({edge.tail for edge in own})
    rest = [
        edge
        for node in named
        for edge in engine.neighbors(node, limit=1_000).edges
        if edge.head == node and any(read.tool_id == TOOL for read in edge.provenance)
    ]
    lines = ["| head | predicate | tail | confidence | read in |", "|---|---|---|---:|---|"]
    shown: Counter[str] = Counter()
    for edge in sorted(
        {*own, *rest}, key=lambda edge: (edge.head != f"tool:{TOOL}", edge.head, edge.predicate, edge.tail)
    ):
        shown[edge.predicate] += 1
        if shown[edge.predicate] > _OF_A_PREDICATE:
            continue
        fields = sorted({read.field for read in edge.provenance if read.tool_id == TOOL})
        lines.append(
            f"| {_named(edge.head)} | {edge.predicate} | {_named(edge.tail)} | {edge.confidence:.2f} | {', '.join(fields) or 'derived'} |"
        )
    return "\n".join(lines)


def _named(key: str) -> str:
    kind, _, name = key.partition(":")
    return "*the tool*" if name == TOOL else f"{name} ({kind.replace('_', ' ')})"


def entries(engine: Engine) -> str:
    """The entry nodes of the example request."""
    response = engine.retriever("paper").retrieve(Request(query=QUERY, k=10))
    found = {(match.kind, match.node): match.text for tool in response.tools for match in tool.reasons.entries}
    lines = ["| found by | node | |", "|---|---|---|"]
    for (kind, node), text in sorted(found.items()):
        by, words_matched = ("n-gram", f"“{text}”") if kind == "ngram" else ("meaning", "")
        lines.append(f"| {by} | {node} | {words_matched} |")
    return "\n".join(lines)


def ranking(engine: Engine) -> str:
    """The answer to the example request by the preset ``paper``."""
    response = engine.retriever("paper").retrieve(Request(query=QUERY, k=4))
    rows = [(tool.rank, tool.id, format_reasons(tool.id, tool.reasons)) for tool in response.tools]
    return "\n".join(("| # | tool | why |", "|---:|---|---|", *(f"| {' | '.join(map(str, row))} |" for row in rows)))


def answer(engine: Engine) -> str:
    """The first tools of the answer by the preset ``default``, as plain text."""
    response = engine.retriever().retrieve(Request(query=QUERY, k=3, explain=False, explanation=True))
    lines = [f"{tool.rank}  {tool.id:<36} {tool.explanation}" for tool in response.tools]
    return "\n".join(("```text", f'"{QUERY}"', "", *lines, "```"))


def draw(ego: EgoGraph) -> str:
    """The ego graph as a picture: the node in the middle, its neighbours around it by type, edges by predicate."""
    middle_x, middle_y = _WIDTH / 2, _HEIGHT / 2
    around = sorted(ego.nodes, key=lambda node: (node.type, node.key))
    predicates = {edge.tail if edge.head == ego.center.key else edge.head: edge.predicate for edge in ego.edges}
    lines, labels = [], []
    for place, node in enumerate(around):
        angle = 2 * math.pi * place / max(len(around), 1) - math.pi / 2
        x, y = middle_x + 430 * math.cos(angle), middle_y + 340 * math.sin(angle)
        colour = _COLOURS.get(node.type, _OTHER)
        ends = f'x1="{middle_x:.0f}" y1="{middle_y:.0f}" x2="{x:.0f}" y2="{y:.0f}"'
        lines.append(f'<line {ends} stroke="{colour}" stroke-opacity=".45"/>')
        at_x, at_y = middle_x + 0.6 * (x - middle_x), middle_y + 0.6 * (y - middle_y)
        labels.append(_label(at_x, at_y, predicates.get(node.key, ""), 10, "#57606a"))
        labels.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6" fill="{colour}"/>')
        labels.append(_label(x, y + (20 if y > middle_y else -12), _short(node.name), 12, colour))
    labels.append(f'<circle cx="{middle_x:.0f}" cy="{middle_y:.0f}" r="12" fill="{_COLOURS["tool"]}"/>')
    labels.append(_label(middle_x, middle_y + 32, ego.center.name, 15, "#24292f", bold=True))
    for place, kind in enumerate(sorted({node.type for node in around})):
        legend = f"● {kind.replace('_', ' ')}"
        labels.append(_label(14, 22 + 18 * place, legend, 12, _COLOURS.get(kind, _OTHER), anchor="start"))
    body = "\n".join((*lines, *labels))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">\n'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>\n{body}\n</svg>\n'
    )


def _label(x: float, y: float, text: str, size: int, colour: str, *, anchor: str = "middle", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    halo = 'paint-order="stroke" stroke="white" stroke-width="4"'
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" {halo}{weight}>'
        f"{escape(text)}</text>"
    )


def _short(name: str) -> str:
    return name if len(name) <= 34 else " ".join(words(name)[:4]) + " …"


if __name__ == "__main__":
    run_command(main)
