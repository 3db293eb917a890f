"""How many of the identifiers that requests name have a shape that the documents show, with and without examples.

    python -m research.identifier_shapes

An identifier of a request is a value with a digit that the labels give to an input, where the input identifies an entity or the value
has letters or separators. It is *known* when the index of value shapes matches it with that input, or with an input or output
of that input's entity. The examples of the shipped catalogue were written before this was measured, without the requests.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ingest.linking.identifiers import IdentifierReader
from ingest.linking.shape_uses import shape_uses
from ingest.sources import read_catalog
from ontology.ontology_file import load_ontology
from ontology.tool import Tool
from ontology.value_shape import kind_of_value
from retrieval.index.value_shapes import ShapeMatch, ValueShapes, write_value_shapes
from scripts.bench_sets import SHIPPED, WITHOUT_EXAMPLES, bench_sets, catalog_address
from scripts.run_command import run_command

__all__ = ["NamedIdentifier", "known_share"]

_NOT_IDENTIFIERS = frozenset(("date", "date-time", "number", "currency", "slug"))


class NamedIdentifier(NamedTuple):
    """A value that a request gives to an input that identifies ``entity``."""

    request: str
    query: str
    tool: str
    parameter: str
    value: str
    entity: str


def main() -> None:
    """Print the shares."""
    for bench_set in bench_sets([SHIPPED, SHIPPED + WITHOUT_EXAMPLES]):
        with tempfile.TemporaryDirectory() as folder:
            tools = read_catalog([str(catalog_address(bench_set, Path(folder)))]).tools
            rows = [json.loads(line) for line in bench_set.queries.read_text(encoding="utf-8").splitlines()]
            print(f"{bench_set.name}: {known_share(tools, rows, Path(folder))}")


def known_share(tools: tuple[Tool, ...] | list[Tool], rows: list[dict[str, Any]], folder: Path) -> str:
    """Return the shares in words.

    :param rows: labelled requests with ``query`` and ``values``.
    :param folder: the index is written there.
    """
    ontology = load_ontology()
    write_value_shapes(folder, shape_uses(tools, ontology), {tool.id: n for n, tool in enumerate(tools)})
    index = ValueShapes(folder, len(tools))
    named = list(_identifiers({tool.id: tool for tool in tools}, rows))
    matched = [[match for match in index.match(one.query) if match.text == one.value] for one in named]
    exact = {one for one, matches in zip(named, matched, strict=True) if _has_input(one, matches, tools)}
    known = exact | {
        one
        for one, matches in zip(named, matched, strict=True)
        if any(one.entity in match.entities for match in matches)
    }
    requests = {one.request for one in named}
    return (
        f"{len(requests)} of {len(rows)} requests name {len(named)} identifiers; of the requests "
        f"{_share(len({one.request for one in exact}), len(requests))} name one with a shape of its input, "
        f"{_share(len({one.request for one in known}), len(requests))} one with a shape of its entity; of the identifiers "
        f"{_share(len(exact), len(named))} and {_share(len(known), len(named))}"
    )


def _identifiers(tools: dict[str, Tool], rows: list[dict[str, Any]]) -> Iterator[NamedIdentifier]:
    ontology = load_ontology()
    for row in rows:
        for given in row["values"]:
            tool, value = tools.get(given["tool"]), str(given["value"])
            parameter = next((one for one in tool.parameters if one.name == given["parameter"]), None) if tool else None
            if tool is None or parameter is None or " " in value or not any(map(str.isdigit, value)):
                continue
            found = IdentifierReader(tool, ontology).identifier(parameter)
            is_code = not value.isdigit() and kind_of_value(value) not in _NOT_IDENTIFIERS
            if found or is_code:
                entity = found.entity if found else parameter.name
                yield NamedIdentifier(row["id"], row["query"], tool.id, parameter.name, value, entity)


def _has_input(one: NamedIdentifier, matches: list[ShapeMatch], tools: tuple[Tool, ...] | list[Tool]) -> bool:
    return any(
        (tools[use.tool].id, use.parameter, use.output) == (one.tool, one.parameter, False)
        for match in matches
        for use in match.uses
    )


def _share(part: int, whole: int) -> str:
    return f"{part / max(whole, 1):.0%}"


if __name__ == "__main__":
    run_command(main)
