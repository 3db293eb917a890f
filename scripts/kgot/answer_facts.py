"""Facts of what a tool answered: records of JSON, rows of tables, else the text itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from planners.stores.property_graph import Scalar
from scripts.kgot.oracle_prompt import ToolText, table_rows
from scripts.kgot.oracle_writes import Fact

__all__ = ["facts_of"]


def facts_of(answer: ToolText) -> list[Fact]:
    """Return a fact for each record; of records in records the outer ones alone."""
    name = answer.tool.rsplit("/")[-1]
    try:
        found = _of_json(name, json.loads(answer.text))
    except ValueError:
        found = _of_text(name, answer.text)
    return [fact for fact in found if fact.properties]


def _of_json(name: str, body: Any) -> Iterator[Fact]:
    if isinstance(body, str):
        yield from _inner(name, body)
    elif isinstance(body, Mapping) and set(body) == {"answer"} and name == "run_python":
        yield Fact(name, "Answer", {"value": str(body["answer"])})
    elif isinstance(body, Mapping):
        lists = {key: rows for key, rows in body.items() if _is_records(rows)}
        texts = [
            value for value in body.values() if (isinstance(value, str) and "\n" in value.strip()) or _is_json(value)
        ]
        for key, rows in lists.items():
            for place, row in enumerate(rows):
                text = row.get("text")
                if name == "extract_zip" and isinstance(text, str):
                    yield from _inner(name, text)
                facts = {**_flat(row), "read": text is not None} if name == "extract_zip" else _flat(row)
                yield Fact(name, _label(key), {**facts, **({} if _has_id(row) else {"place": place})})
        if not lists and texts:
            for text in texts:
                yield from _inner(name, text)
        elif not lists and body:
            yield Fact(name, _label(name), _flat(body))
    elif _is_records(body):
        for place, row in enumerate(body):
            yield Fact(name, "Row", {**_flat(row), "place": place})


def _inner(name: str, text: str) -> Iterator[Fact]:
    try:
        body = json.loads(text)
    except ValueError:
        yield from _of_text(name, text)
    else:
        yield from _of_json(name, body) if isinstance(body, dict | list) else _of_text(name, text)


def _of_text(name: str, text: str) -> Iterator[Fact]:
    rows = table_rows(text)
    for place, row in enumerate(rows):
        yield Fact(name, "Row", {**_flat(row), "place": place})
    if not rows and text.strip():
        yield Fact(name, "Text", {"text": text.strip()})


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _is_json(value: Any) -> bool:
    return isinstance(value, str) and value.strip().startswith(("{", "["))


def _has_id(row: Mapping[str, Any]) -> bool:
    return any(name.endswith("Id") for name in row)


def _label(key: str) -> str:
    return key[:1].upper() + key[1:]


def _flat(row: Mapping[str, Any], before: str = "") -> dict[str, Scalar]:
    flat: dict[str, Scalar] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{before}{name}_"))
        elif isinstance(value, str | int | float | bool) and value != "":
            flat[re.sub(r"\W+", "_", f"{before}{name}")] = value
    return flat
