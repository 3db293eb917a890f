"""Conditions: on the state of one thing, or on whether a thing of a name is there; and what may hang on them."""

from __future__ import annotations

import re

from datagen.generation import RulesGenerator
from datagen.generation.condition_clauses import condition_clauses
from datagen.generation.condition_outputs import ConditionOutput
from datagen.interfaces import GeneratedText
from datagen.synthetic_request import RejectedRequest
from datagen.tool_path import PathEdge, ToolPath
from ontology.tool import Parameter, Tool
from tests.datagen.generation.material import catalogue_of, enterprise

_CLASS = "conditional-multi-step"


def _id(name: str) -> Parameter:
    return Parameter(name=name, type="integer", required=True, location="path")


_STATE = Parameter(name="status", type="string", enum=("active", "creating", "deleting"))
_NETWORKS = (Parameter(name="networks[].id", type="integer"), Parameter(name="networks[].name", type="string"))
_TOOLS = (
    Tool(id="getServer", name="getServer", description="Returns a server.", parameters=(_id("serverId"),),
         returns=(Parameter(name="serverId", type="integer"), _STATE)),
    Tool(id="deleteServer", name="deleteServer", description="Deletes a server.", parameters=(_id("serverId"),)),
    Tool(id="listAlarms", name="listAlarms", description="Lists the alarms of a server.", parameters=(_id("serverId"),)),
    Tool(id="listNetworks", name="listNetworks", description="Lists the networks.", returns=_NETWORKS),
    Tool(id="deleteNetwork", name="deleteNetwork", description="Deletes a network.", parameters=(_id("networkId"),)),
    Tool(id="renameNetwork", name="updateNetwork", description="Updates a network.",
         parameters=(_id("networkId"), Parameter(name="name", type="string", required=True))),
    Tool(id="findNetwork", name="deleteNetworkByName", description="Deletes a network.",
         parameters=(Parameter(name="networkId", required=True, location="path", description="The ID or the name."),)),
)  # fmt: skip


def _edge(source: str, target: str, output: str, parameter: str) -> PathEdge:
    return PathEdge(kind="R-P", source=source, target=target, output=output, parameter=parameter, confidence=1.0)


def _path(*edges: PathEdge) -> ToolPath:
    return ToolPath(tools=(edges[0].source, *(edge.target for edge in edges)), edges=edges, shape="chain")


def _made(path: ToolPath, request_class: str = _CLASS) -> list[GeneratedText | RejectedRequest]:
    generator = RulesGenerator(catalogue_of(*_TOOLS))
    return [generator.generate(path, request_class, seed=seed) for seed in range(16)]


def test_a_change_hangs_on_the_state_of_the_thing_and_says_its_number_once() -> None:
    for generated in _made(_path(_edge("getServer", "deleteServer", "serverId", "serverId"))):
        assert isinstance(generated, GeneratedText), generated
        number = next(value.value for value in generated.values if value.tool == "getServer")
        assert generated.text.count(number) == 1
        assert re.search(r"\bif (?:server \d+|it)(?: isn't active|(?: is|'s) still creating)", generated.text, re.I)
        assert "deleting" not in generated.text


def test_in_an_unknown_catalogue_no_number_and_no_day_decides() -> None:
    sampler = RulesGenerator(enterprise()).wording.sampler("x")
    for kind in ("count", "money", "date"):
        output = ConditionOutput(name="size", kind=kind, label="size")
        assert condition_clauses(output, "x", ("delete",), sampler)
        assert not condition_clauses(output, "x", ("delete",), sampler, is_general=True)
