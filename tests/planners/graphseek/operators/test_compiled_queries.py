"""The text of each operator's query in both dialects, in a file that a person can read.

``python -m tests.planners.graphseek.operators.test_compiled_queries`` writes the file anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ontology.errors import InvalidArgumentError
from planners.graphseek.catalog.semantic_catalog import (
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
)
from planners.graphseek.dialects.cypher_text import CypherText
from planners.graphseek.dialects.known_dialects import DIALECTS
from planners.graphseek.operators import (
    aggregate_neighbours,
    compare_numbers,
    degree,
    find,
    get_nodes,
    impact,
    paths,
    subgraph,
    time_slice,
    traverse,
)
from tests.planners.graphseek.operators.small_schema import SCHEMA

_FILE = Path(__file__).with_name("compiled_queries.txt")
_CATALOG = SemanticCatalog(
    relationships={"INTEGRATED_IN": RelationshipDescriptor(properties={"year": PropertyDescriptor(role="year")})}
)
_TIER = {"key": "tier", "operator": "=", "value": 0, "value_type": "number"}
_MODEL = {"type": "VehicleModel", "filters": [{"key": "name", "operator": "=", "value": "EV-X7"}]}
_SITE = {"type": "FactorySite", "filters": [{"key": "name", "operator": "contains", "value": "'; DETACH DELETE"}]}
_IDS = {"ids": ["BatteryModule:BMK-1", "BatteryModule:BMK-2"], "type": "BatteryModule", "shown": "t1"}
_CASES: list[tuple[ModuleType, dict[str, Any]]] = [
    (
        get_nodes,
        {"node_type": "BatteryModule", "filters": [_TIER], "order_by": "unitCost", "descending": True, "limit": 1},
    ),
    (
        get_nodes,
        {
            "node_type": "BatteryModule",
            "filters": [
                {"key": "since", "operator": ">=", "value": "2023-01-01"},
                {"key": "tags", "operator": "contains", "value": "new"},
                {"key": "spare", "operator": "is_null"},
                {"key": "unitCost", "operator": "in", "value": [1, 2.5]},
            ],
            "group_by": ["tier"],
            "aggregations": [{"grouping_type": "COUNT"}, {"grouping_type": "SUM", "property": "unitCost"}],
            "order_by": "count",
        },
    ),
    (find, {"text": "Northern Europe", "match": "exact", "node_type": "Region"}),
    (find, {"text": "EV-X7", "match": "fuzzy", "node_type": "VehicleModel"}),
    (traverse, {"start": _SITE, "direction": "in", "relationship_types": ["BUILT_AT"], "node_type": "BatteryModule"}),
    (
        traverse,
        {"start": _IDS, "max_hops": 3, "relationship_filters": [{"key": "year", "operator": "=", "value": 2023}]},
    ),
    (paths, {"start": _MODEL, "end": {"type": "Region"}, "direction": "both"}),
    (paths, {"start": _IDS, "end": {"type": "VehicleModel"}, "shortest": False}),
    (
        aggregate_neighbours,
        {
            "start": _MODEL,
            "direction": "in",
            "relationship_types": ["INTEGRATED_IN"],
            "group_by": "neighbour",
            "aggregations": [{"grouping_type": "SUM"}],
            "relationship_property": "cost",
            "order_by": "sum_cost",
            "descending": True,
        },
    ),
    (degree, {"start": {"type": "BatteryModule"}, "relationship_types": ["BUILT_AT"], "at_least": 3}),
    (degree, {"start": {"type": "FactorySite"}, "relationship_types": ["LOCATED_IN"], "at_most": 0}),
    (time_slice, {"node_type": "BatteryModule", "year": 2023}),
    (impact, {"start": _IDS, "node_types": ["FactorySite", "Region"]}),
    (subgraph, {"start": _MODEL, "max_hops": 2}),
    (
        compare_numbers,
        {
            "start": _MODEL,
            "measure": {"kind": "count", "node_type": "BatteryModule"},
            "relationship_types": ["INTEGRATED_IN"],
            "direction": "in",
            "max_hops": 2,
        },
    ),
]


def _compiled() -> Iterator[str]:
    for module, arguments in _CASES:
        name = module.__name__.rpartition(".")[2]
        yield f"# {name} {json.dumps(arguments, ensure_ascii=False)}"
        for dialect in DIALECTS.values():
            compiled = module.compile_query(arguments, SCHEMA, _CATALOG, dialect).compiled
            parameters = json.dumps(dict(compiled.parameters), ensure_ascii=False)
            yield f"-- {dialect.name} {parameters}\n{compiled.text}"
        yield ""


def test_the_texts_are_those_of_the_file() -> None:
    assert "\n".join(_compiled()) == _FILE.read_text(encoding="utf-8")


def test_values_are_parameters_and_names_are_of_the_schema() -> None:
    texts = "\n".join(line for line in _FILE.read_text(encoding="utf-8").splitlines() if line[:2] not in ("# ", "--"))
    assert "DETACH" not in texts
    assert "EV-X7" not in texts
    text = CypherText(SCHEMA, DIALECTS["ladybug"])
    with pytest.raises(InvalidArgumentError, match="no such name"):
        text.name("name`) DETACH DELETE (n")


if __name__ == "__main__":
    _FILE.write_text("\n".join(_compiled()), encoding="utf-8")
