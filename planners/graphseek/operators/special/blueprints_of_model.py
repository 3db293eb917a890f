"""``blueprints_of_model``: the unique blueprint of a vehicle model of the EV graph (listing 3 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.graphseek.operators import blueprints
from planners.graphseek.operators.operator import Operator, OperatorContext
from planners.graphseek.operators.typed_operator import TypedOperator
from planners.graphseek.results.result import Result

__all__ = ["OPERATOR"]


async def _run(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    name = {"key": "name", "operator": "=", "value": arguments["model_name"]}
    plan = {"plan_or_actual": arguments["plan_or_actual"]} if "plan_or_actual" in arguments else {}
    start = {"type": "VehicleModel", "filters": [name]}
    known = {each.name for each in context.schema.relationships}
    flows = [each for each in ("INTEGRATED_IN", "OUTPUTS") if each in known]
    return await blueprints.OPERATOR.run({"start": start, "relationship_types": flows, **plan}, context)


OPERATOR: Operator = TypedOperator(
    name="blueprints_of_model",
    description="The unique blueprint (production plan) of a vehicle model: its modules, assemblies and processes, equal flows merged.",
    forms=lambda forms: {
        "model_name": {"type": "string"},
        "plan_or_actual": {"type": "string", "enum": ["plan", "actual"]},
    },
    required=("model_name",),
    runs=_run,
)
