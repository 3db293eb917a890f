"""A version of an operator: data, not code of this program. It does for one schema what the operator does, by a Cypher template."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pydantic import ConfigDict, TypeAdapter

from ontology.json_object import canonical_text
from planners.graphseek.results.result import ResultColumn
from planners.stores.graph_schema import CypherDialect

__all__ = ["VERSION", "OperatorVersion", "VersionStatus", "version_lines"]

VersionStatus: TypeAlias = Literal["unverified", "approved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorVersion:
    """One version.

    :param operator: name of the operator whose place it takes.
    :param number: from 1, of each operator; 0: it is not stored yet.
    :param dialect: of the template.
    :param schema: fingerprint of the schema that it was made for; it serves no other.
    :param template: a query with named parameters, which are the arguments of the operator.
    :param parameters: JSON schema of the arguments.
    :param columns: of its table, as the dry run gave them.
    :param process: Python that defines ``process(rows, arguments)``; empty where the rows are the result.
    :param example: arguments of the dry run, those of a call that had failed.
    :param status: an ``unverified`` one serves the task that made it alone.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    operator: str
    number: int = 0
    dialect: CypherDialect
    schema: str
    template: str
    parameters: Mapping[str, Any]
    columns: tuple[ResultColumn, ...] = ()
    process: str = ""
    example: Mapping[str, Any] = field(default_factory=dict)
    status: VersionStatus = "unverified"

    @property
    def name(self) -> str:
        """``OPERATOR.NUMBER``."""
        return f"{self.operator}.{self.number}"

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of everything but the status."""
        content = VERSION.dump_python(self, mode="json", exclude={"status"})
        return hashlib.sha256(canonical_text(content).encode("utf-8", "surrogatepass")).hexdigest()

    def is_for(self, dialect: CypherDialect, schema: str) -> bool:
        """Whether it may run on graphs of this schema.

        :param schema: fingerprint.
        """
        return (self.dialect, self.schema) == (dialect, schema)


VERSION: TypeAdapter[OperatorVersion] = TypeAdapter(OperatorVersion)


def version_lines(version: OperatorVersion) -> Iterator[str]:
    """Yield the lines that a person reads before approving it, and that two versions are compared by."""
    yield f"operator: {version.operator}"
    yield f"dialect: {version.dialect}"
    yield f"schema: {version.schema}"
    yield "template:"
    yield from (f"  {line}" for line in version.template.splitlines())
    yield "parameters:"
    yield from (f"  {line}" for line in json.dumps(version.parameters, indent=1, sort_keys=True).splitlines())
    yield f"columns: {', '.join(f'{each.name} ({each.node_type or each.type})' for each in version.columns)}"
    yield "process:" if version.process else "process: none"
    yield from (f"  {line}" for line in version.process.splitlines())
    yield f"tried with: {json.dumps(version.example, sort_keys=True, ensure_ascii=False)}"
