from __future__ import annotations

from pathlib import Path

import pytest

from datagen.interfaces import OutputFinder
from datagen.llm import LlmOutputs
from datagen.llm.output_candidates import Candidates
from datagen.paths.rules_outputs import RulesOutputs
from inference.result_cache import ResultCache
from inference.scripted import ScriptedChat
from ontology import ModelError, Parameter, Tool
from tests.datagen.llm.shop import FIND, PING, SHIP, TRACK, Named, bodies, catalogue, chat, outputs
from tests.harness.chat import Reply, chat_server


def silent(number: int) -> Tool:
    return Tool(id=f"s/t{number:02}", name=f"t{number:02}", parameters=(Parameter(name=f"thing_{number}_id"),))


def test_documented_outputs_are_the_rules_and_others_are_asked_for() -> None:
    with chat_server(lambda *_: Reply(text=outputs(("shipment_id", 0.95)))) as server:
        finder: OutputFinder = LlmOutputs(catalogue(), chat(server))
        found = finder.find()
    assert finder.name == "llm.v1"
    by_rules = RulesOutputs(catalogue()).find().by_tool
    assert list(found.by_tool) == [FIND.id, PING.id, SHIP.id, TRACK.id]
    assert all(found.by_tool[tool] == by_rules[tool] for tool in (FIND.id, PING.id, TRACK.id))
    (output,) = found.by_tool[SHIP.id]
    assert (output.name, output.confidence, output.reason, output.documented) == (
        "shipment_id",
        0.95,
        "It gives it",
        False,
    )
    assert server.hits == 1
    (said,) = bodies(server.requests)
    assert "Sends an order out on a day." in said
    row = server.requests[0]["response_format"]["json_schema"]["schema"]["properties"]["outputs"]["items"]
    listed = row["properties"]["name"]["enum"]
    assert listed == ["customer_name", "shipment_id"]
    assert all(name in said for name in listed)


def test_what_is_outside_the_list_unsure_twice_or_too_much_is_rejected_by_name() -> None:
    answer = outputs(
        ("tracking_code", 0.99),
        ("shipment_id", 1.0),
        ("shipment_id", 0.8),
        ("order_id", 0.75),  # its own input
        ("thing_1_id", 0.7),
        ("thing_2_id", 0.6),
        ("thing_3_id", 0.55),
        ("customer_name", 0.3),
    )
    others = [silent(number) for number in (1, 2, 3)]
    model = ScriptedChat(lambda messages: answer if "ship order" in messages[1].content else outputs())
    found = LlmOutputs(catalogue(FIND, PING, SHIP, TRACK, *others), model).find()
    assert [(one.name, one.confidence) for one in found.by_tool[SHIP.id]] == [
        ("shipment_id", 0.99),
        ("thing_1_id", 0.7),
        ("thing_2_id", 0.6),
    ]
    rejected = {rejection.reason: rejection for rejection in found.rejected if rejection.subject == (SHIP.id,)}
    assert all(rejection.stage == "outputs" for rejection in rejected.values())
    for part in (
        "'tracking_code', which is not on",
        "'order_id', which is not on",
        "'shipment_id' twice",
        "more than 3",
        "0.30, below 0.5",
    ):
        assert sum(part in reason for reason in rejected) == 1, part


@pytest.mark.parametrize(
    "answer",
    [
        "The output is shipment_id.",
        outputs(("shipment_id", 0.9))[:-5],
        '{"outputs": [{"name": "shipment_id"}]}',
        "[]",
        outputs(("shipment_id", float("nan"))),
        outputs(("shipment_id", 90)),
    ],
    ids=["prose", "half", "missing-field", "list", "nan", "per-cent"],
)
def test_an_unusable_answer_leaves_the_tool_without_outputs_and_a_reason(answer: str) -> None:
    found = LlmOutputs(catalogue(), ScriptedChat([answer, answer])).find()
    assert found.by_tool[SHIP.id] == ()
    (rejection,) = (one for one in found.rejected if one.subject == (SHIP.id,))
    assert "rejected twice" in rejection.reason
    assert rejection.text == answer


def test_a_catalogue_without_inputs_asks_nothing_and_says_why() -> None:
    model = ScriptedChat([])
    found = LlmOutputs(catalogue(Tool(id="a/now", name="now", description="The time.")), model).find()
    assert found.by_tool == {"a/now": ()}
    assert "no tool of the catalogue has an input" in found.rejected[0].reason
    assert LlmOutputs(catalogue(PING), model).find().by_tool[PING.id] is not None
    assert not model.calls


def test_a_model_that_dies_is_an_error_and_the_next_run_asks_only_the_rest(tmp_path: Path) -> None:
    tools = [silent(number) for number in range(12)]
    with ResultCache(tmp_path / "cache.sqlite") as cache:
        with chat_server(lambda _, number: Reply(text=outputs()) if number <= 5 else Reply(status=400)) as server:
            model = chat(server)
            with pytest.raises(ModelError, match="400"):
                LlmOutputs(catalogue(*tools), model, cache, concurrency=1).find()
        assert server.hits < 12
        with chat_server(lambda *_: Reply(text=outputs())) as second:
            found = LlmOutputs(catalogue(*tools), Named(chat(second), model.name), cache).find()
    assert second.hits == 7
    assert len(found.by_tool) == 12


def test_of_a_large_catalogue_the_nearest_names_are_shown() -> None:
    many = [Tool(id=f"x/t{n}", name=f"t{n}", parameters=(Parameter(name=f"filler_{n}_id"),)) for n in range(200)]
    candidates = Candidates(catalogue(FIND, PING, SHIP, TRACK, *many))
    near = candidates.nearest(FIND, 20)
    assert len(near) == len(set(near)) == 20
    assert near[0] == "order_id"
    assert len(set(candidates.nearest(FIND, 1_000))) == 204
