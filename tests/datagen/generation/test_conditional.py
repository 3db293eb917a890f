"""Conditions: on the state of one thing, or on whether a thing of a name is there; and what may hang on them."""

from __future__ import annotations

import re

import pytest

from datagen.generation import RulesGenerator
from datagen.generation.condition_clauses import condition_clauses
from datagen.generation.condition_outputs import ConditionOutput, condition_outputs
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


_NAMED = _path(_edge("listNetworks", "deleteNetwork", "networks[].id", "networkId"))


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


def test_conditions_stand_first_and_last() -> None:
    texts = [one.text for one in _made(_NAMED) if isinstance(one, GeneratedText)]
    first = [text for text in texts if re.search(r"\bif (?:there|we)\b", text, re.I)]
    last = [text for text in texts if re.search(r"\bif (?:there is one|it|we still have it)", text)]
    assert len(texts) == 16
    assert first
    assert last


def test_what_is_only_read_does_not_hang_on_a_state() -> None:
    for generated in _made(_path(_edge("getServer", "listAlarms", "serverId", "serverId"))):
        assert isinstance(generated, RejectedRequest)
        assert "look at something" in generated.reason


def test_a_name_that_a_list_gives_stands_for_the_identifier() -> None:
    for generated in _made(_NAMED, "implicit-multi-step"):
        assert isinstance(generated, GeneratedText), generated
        assert re.search(r"\bnetwork [a-z]+-[a-z0-9]+", generated.text), generated.text
        assert not generated.values


def test_a_name_that_the_input_takes_itself_needs_no_list() -> None:
    path = _path(_edge("listNetworks", "findNetwork", "networks[].id", "networkId"))
    assert all(isinstance(one, RejectedRequest) for one in _made(path, "implicit-multi-step"))


def test_what_is_renamed_is_not_asked_for_where_it_still_is() -> None:
    path = _path(_edge("listNetworks", "renameNetwork", "networks[].id", "networkId"))
    texts = [one.text for one in _made(path) if isinstance(one, GeneratedText)]
    assert texts
    assert not any(re.search(r"\bif (?:it|we still)", text) for text in texts), texts


@pytest.mark.parametrize(
    ("choices", "verbs", "expected"),
    [
        (("active",), ("delete",), {"x isn't active"}),
        (("failed",), ("delete",), {"x has failed"}),
        (("stopped",), ("stop",), {"x hasn't stopped yet"}),
        (("disabled",), ("pause",), set()),
        (("enabled",), ("pause",), {"x is enabled"}),
        (("enabled",), ("resume",), {"x isn't enabled"}),
        (("draft",), ("publish",), {"x is still draft"}),
        (("paid",), ("cancel",), {"x is paid", "x isn't paid yet"}),
        (("deleted", "DELETING", "create failed", "v2"), ("update",), set()),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_states_are_tested_as_people_say_them(
    choices: tuple[str, ...], verbs: tuple[str, ...], expected: set[str]
) -> None:
    sampler = RulesGenerator(enterprise()).wording.sampler("x")
    output = ConditionOutput(name="status", kind="state", label="status", choices=choices)
    assert set(condition_clauses(output, "x", verbs, sampler)) == expected


def test_in_an_unknown_catalogue_no_number_and_no_day_decides() -> None:
    sampler = RulesGenerator(enterprise()).wording.sampler("x")
    for kind in ("count", "money", "date"):
        output = ConditionOutput(name="size", kind=kind, label="size")
        assert condition_clauses(output, "x", ("delete",), sampler)
        assert not condition_clauses(output, "x", ("delete",), sampler, is_general=True)


@pytest.mark.parametrize(
    ("thing", "is_asked"), [("private article", False), ("public article", False), ("article", True)]
)
def test_nobody_asks_whether_a_thing_is_what_its_name_says_or_rules_out(thing: str, is_asked: bool) -> None:
    flag = ConditionOutput(name="isPublic", kind="flag", label="public")
    sampler = RulesGenerator(catalogue_of(*_TOOLS)).wording.sampler("a")
    assert bool(condition_clauses(flag, "it", ["delete"], sampler, is_general=True, thing=thing.split())) is is_asked


@pytest.mark.parametrize(("name", "is_made"), [("until", False), ("since", True)])
def test_until_when_a_list_looks_is_not_said_beside_a_change(name: str, is_made: bool) -> None:
    tools = (
        Tool(id="listTransfers", name="listTransfers", description="Lists transfers.",
             parameters=(Parameter(name=name, format="date", type="string"),)),
        Tool(id="cancelTransfer", name="cancelTransfer", description="Cancels a transfer.",
             parameters=(_id("transferId"),)),
    )  # fmt: skip
    path = _path(_edge("listTransfers", "cancelTransfer", "transfers[].transferId", "transferId"))
    generator = RulesGenerator(catalogue_of(*tools))
    made = [generator.generate(path, "implicit-multi-step", seed=seed) for seed in range(8)]
    assert any(isinstance(one, GeneratedText) for one in made) is is_made


def test_an_allowed_value_without_a_letter_is_no_state() -> None:
    state = Parameter(name="status", type="string", enum=("OPEN", "", "  ", "--", "CLOSED"))
    (output,) = condition_outputs(
        Tool(id="get_order", name="get_order", description="Gets an order.", returns=(state,))
    )
    assert output.choices == ("OPEN", "closed")
    sampler = RulesGenerator(enterprise()).wording.sampler("x")
    for clause in range(5):
        assert condition_clauses(output, f"order {clause}", ["cancel"], sampler)
