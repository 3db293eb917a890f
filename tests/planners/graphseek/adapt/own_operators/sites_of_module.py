"""``sites_of_module``: the factory sites at which a battery module of the EV graph is built (listing 4 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.graphseek.operators.operator import Operator, OperatorContext, TypedOperator
from planners.graphseek.operators.slice import traverse as TRAVERSE
from planners.graphseek.results import Result, ResultColumn

__all__ = ["OPERATOR"]


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    name = {"key": "name", "operator": "=", "value": arguments["module_name"]}
    start = {"type": "BatteryModule", "filters": [name]}
    asked = {"start": start, "relationship_types": ["BUILT_AT"], "node_type": "FactorySite"}
    return await TRAVERSE.run(asked, context)


OPERATOR: Operator = TypedOperator(
    name="sites_of_module",
    description="The factory sites at which a battery module is built.",
    forms=lambda forms: {"module_name": {"type": "string"}},
    required=("module_name",),
    runs=_run,
    returns=(ResultColumn(name="factory_site", type="node", node_type="FactorySite"),),
)
