"""Long tasks: the gold is that of the parts in their order, and the parts speak of the same things where types agree."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from datagen.long_tasks import LONG_TASK, make_long_tasks
from datagen.synthetic_request import SampleValue, SyntheticRequest, Verdict
from datagen.tool_path import ToolPath
from ontology import Parameter, Tool
from tests.datagen.llm.shop import catalogue

SYSTEMS = ("hr", "shop", "plant")


def tool(system: str, number: int) -> Tool:
    name = f"find_thing_{number}"
    inputs = (Parameter(name="employee_id"), Parameter(name="day"))
    return Tool(
        id=f"{system}/{name}", name=name, description="Finds.", parameters=inputs, metadata={"namespace": system}
    )


TOOLS = tuple(tool(system, number) for system in SYSTEMS for number in range(12))
BY_SYSTEM = {system: [one.id for one in TOOLS if one.id.startswith(system)] for system in SYSTEMS}


def part(
    tools: Sequence[str], text: str, *values: tuple[str, str], label: str = "implicit-multi-step"
) -> SyntheticRequest:
    stated = tuple(SampleValue(tool=tools[0], parameter=name, value=value) for name, value in values)
    path = ToolPath(tools=tuple(tools), shape="chain" if len(tools) > 1 else "single")
    return SyntheticRequest(id=text, text=text, request_class=label, path=path, values=stated, generator="rules.v1")


def numbered(system: str, first: int, count: int) -> SyntheticRequest:
    employee = f"E{100 * (1 + SYSTEMS.index(system)) + first}"
    text = f"Show me the shifts of {employee} on 3 May."
    return part(BY_SYSTEM[system][first : first + count], text, ("employee_id", employee), ("day", "3 May"))


class Agreeing:
    """Passes every request, but those with a text that it rejects."""

    name, check = "rules.v9", "error"

    def __init__(self, rejected: str = "never said") -> None:
        self._rejected = rejected

    def validate(self, request: SyntheticRequest) -> Verdict:
        passed = self._rejected not in request.text
        return Verdict(check=self.check, passed=passed, reason="so it is", by=self.name)


PARTS = [numbered(system, first, 3) for system in SYSTEMS for first in (0, 3, 6, 9)]


def test_tasks_have_five_to_twelve_tools_of_several_systems_and_the_gold_of_their_parts() -> None:
    made = make_long_tasks(catalogue(*TOOLS), PARTS, [Agreeing()], 8, seed=0)
    assert len(made.tasks) == 8 and made.shortage == ""
    assert make_long_tasks(catalogue(*TOOLS), PARTS, [Agreeing()], 8, seed=0) == made
    for task in made.tasks:
        tools = task.path.tools
        assert task.request_class == LONG_TASK and task.path.shape == "long"
        assert 5 <= len(tools) == len(set(tools)) <= 12
        assert len({one.partition("/")[0] for one in tools}) > 1
        assert 2 <= task.text.count(".") <= 5
        assert all(value.value in task.text for value in task.values)
        starts = [next(one for one in PARTS if one.path.tools[0] == first) for first in tools[::3]]
        assert [one for part in starts for one in part.path.tools] == list(tools)


def test_parts_speak_of_the_same_person_where_the_types_agree() -> None:
    task = make_long_tasks(catalogue(*TOOLS), PARTS, [Agreeing()], 1, seed=0).tasks[0]
    said = {value.value for value in task.values if value.parameter == "employee_id"}
    assert len(said) == 1
    assert task.text.count(said.pop()) == len(task.path.tools) / 3


def test_a_part_that_would_fail_with_the_shared_value_keeps_its_own() -> None:
    first, second = numbered("hr", 0, 3), numbered("shop", 0, 3)
    for rejected, count in (("E100", 2), ("E200", 2), ("never said", 1)):
        validators = [Agreeing(rejected)]
        tasks = make_long_tasks(catalogue(*TOOLS), [first, second], validators, 1, seed=0).tasks
        said = {value.value for value in tasks[0].values if value.parameter == "employee_id"}
        if rejected == "never said":
            assert len(said) == count
        else:
            assert len(said) <= count
    both = make_long_tasks(catalogue(*TOOLS), [first, second], [Agreeing("Show")], 1, seed=0).tasks[0]
    assert {value.value for value in both.values if value.parameter == "employee_id"} == {"E100", "E200"}


@pytest.mark.parametrize(
    "text",
    [
        "Hello, show me the shifts of E7.",
        "Show me the shifts of E7. Carla is waiting.",
        "Show me the shifts of E7. No rush.",
    ],
)
def test_small_talk_is_no_part_of_a_task(text: str) -> None:
    talk = part(BY_SYSTEM["hr"][:3], text, ("employee_id", "E7"))
    made = make_long_tasks(catalogue(*TOOLS), [talk, numbered("shop", 0, 3)], [Agreeing()], 1, seed=0)
    assert not made.tasks and made.shortage.startswith("1 of the generated requests")


def test_too_few_parts_end_in_fewer_tasks_with_the_reason() -> None:
    one_system = [numbered("hr", first, 3) for first in (0, 3)]
    for parts in ([], PARTS[:1], one_system, [numbered("hr", 0, 1), numbered("shop", 0, 1)]):
        made = make_long_tasks(catalogue(*TOOLS), parts, [Agreeing()], 3, seed=0)
        assert not made.tasks and made.shortage and not made.shortage.endswith(".")
    alone = [one for one in TOOLS if one.id.startswith("hr")]
    assert make_long_tasks(catalogue(*alone), one_system, [Agreeing()], 1, seed=0).tasks, "it has no other system"
