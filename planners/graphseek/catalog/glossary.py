"""Glossary files: what terms of a business mean, as YAML (``term: meaning``) or CSV (two columns)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from ingest.sources.yaml_nodes import YamlNodes, compose_file
from ontology.errors import InvalidArgumentError
from ontology.names import canonical_name
from ontology.ontology_file import Fault

__all__ = ["read_glossary"]

_MOST_BYTES = 2**20
_HEADER = ("term", "meaning")


def read_glossary(path: Path) -> Mapping[str, str]:
    """Read a glossary of at most 1 MiB: canonical name of a term → meaning.

    :raises InvalidArgumentError: when the file has faults; the problem lists each with its line.
    """
    rows, faults = _csv_rows(path) if path.suffix.lower() == ".csv" else _yaml_rows(path)
    meanings: dict[str, str] = {}
    for line, term, meaning in rows:
        name = canonical_name(term)
        if not name or not meaning.strip():
            faults.append(Fault(line, "a term or its meaning is empty"))
        elif name in meanings:
            faults.append(Fault(line, f"the term {name!r} stands twice"))
        meanings[name] = " ".join(meaning.split())
    if faults:
        listed = "; ".join(map(str, sorted(faults)))
        raise InvalidArgumentError(f"{len(faults)} fault(s): {listed}", subject=str(path), remedy="Correct these lines")
    return meanings


def _yaml_rows(path: Path) -> tuple[list[tuple[int, str, str]], list[Fault]]:
    root = compose_file(path)
    if isinstance(root, Fault):
        return [], [root]
    reader = YamlNodes()
    entries = reader.mapping(root, "the glossary")
    rows = [
        (node.start_mark.line + 1, term, reader.text(node, f"the meaning of {term!r}"))
        for term, node in entries.items()
        if isinstance(node, yaml.ScalarNode)
    ]
    for term, node in entries.items():
        if not isinstance(node, yaml.ScalarNode):
            reader.fault(node, f"the meaning of {term!r} must be a text")
    return [row for row in rows if row[2]], reader.faults


def _csv_rows(path: Path) -> tuple[list[tuple[int, str, str]], list[Fault]]:
    try:
        if not path.is_file():  # reading a pipe would wait for ever
            return [], [Fault(1, "there is no such file")]
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        return [], [Fault(1, f"the file cannot be read: {type(error).__name__}", "Save it as UTF-8")]
    if len(content) > _MOST_BYTES:
        return [], [Fault(1, f"the file is larger than {_MOST_BYTES} bytes")]
    faults: list[Fault] = []
    return list(_pairs(text, faults)), faults


def _pairs(text: str, faults: list[Fault]) -> Iterator[tuple[int, str, str]]:
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        for row in reader:
            cells = tuple(cell.strip() for cell in row)
            if len(cells) == len(_HEADER) and (reader.line_num > 1 or tuple(map(str.lower, cells)) != _HEADER):
                yield reader.line_num, cells[0], cells[1]
            elif cells and len(cells) != len(_HEADER):
                faults.append(Fault(reader.line_num, f"{len(cells)} column(s), not term and meaning"))
    except csv.Error as error:
        faults.append(Fault(reader.line_num, f"invalid CSV: {error}"))
