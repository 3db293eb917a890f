"""The labelled requests and the true dependencies of the real catalogue, and how their halves are decided."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ontology.errors import DocumentError

_FOLDER = Path(__file__).parent
REQUESTS = _FOLDER / "requests.jsonl"
UNANSWERABLE = _FOLDER / "unanswerable.jsonl"
"""The requests that no tool of the catalogue serves."""
DEPENDENCIES = _FOLDER / "true_dependencies.jsonl"
LATER_DEPENDENCIES = _FOLDER / "later_dependencies.jsonl"
"""Of documents that were not in use before; the document decides the half."""

Half = Literal["dev", "test"]
ToolId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*/\S.*$")]
_SALT = "real-324:"
"""Chosen among a few hundred for halves that are alike in classes and formats, before anything was measured."""

_Row = TypeVar("_Row", bound=BaseModel)


class RealRequest(BaseModel):
    """A request with its gold set.

    :param tools: one slot for each needed tool; a slot lists the tools that would do equally.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    id: Annotated[str, Field(pattern=r"^real-[a-z]\d\d$")]
    query: Annotated[str, Field(min_length=15)]
    request_class: Annotated[Literal["single", "implicit", "multi", "none"], Field(alias="class")]
    tools: tuple[Annotated[tuple[ToolId, ...], Field(min_length=1)], ...]
    split: Half
    note: str


class TrueDependency(BaseModel):
    """An output of one tool that fills an input of another in normal use.

    :param document: the document of both tools.
    :param input: path of the consumer's input, as egotools names it.
    :param output: path of the producer's output, as egotools names it; empty where the document declares no outputs.
    :param why: what the value is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^dep-\d{3}$")]
    document: str
    consumer: ToolId
    input: Annotated[str, Field(min_length=1)]
    producer: ToolId
    output: str
    why: Annotated[str, Field(min_length=10)]
    split: Half


def half_of(id_: str) -> Half:
    """The half of a row, decided by a hash of its id."""
    return "test" if hashlib.sha256(f"{_SALT}{id_}".encode()).digest()[0] % 2 else "dev"


def read_labelled(path: Path, row: type[_Row]) -> tuple[_Row, ...]:
    """Read the rows of a JSON Lines file.

    :raises DocumentError: for a line that is no such row, with its number.
    """
    rows: list[_Row] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            data: Any = json.loads(line)
            rows.append(row.model_validate(data))
        except (json.JSONDecodeError, ValidationError) as error:
            raise DocumentError(f"no such row ({error})", subject=f"{path}:{number}", remedy="Correct it") from error
    return tuple(rows)
