"""Filters: four ways to write a value, and errors that list what is known; against the plain reading of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.errors import InvalidArgumentError
from ontology.tool import Tool
from retrieval.index.filters import FilterIndex, write_filters

TOOLS = [
    Tool(id="pay/run", name="run", metadata={"department": "finance", "tags": ["payroll", "payment"]}),
    Tool(id="pay/stop", name="stop", metadata={"department": "finance", "deprecated": True}),
    Tool(id="hr/get", name="get", metadata={"department": "hr", "tags": ["person", "!odd", "star*"]}),
    Tool(id="bare", name="bare"),
    *(Tool(id=f"many/{n:02}", name=f"{n}", metadata={"code": f"c{n:02}"}) for n in range(30)),
]
TOOLS.sort(key=lambda tool: tool.id)  # as in every snapshot
IDS = [tool.id for tool in TOOLS]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FilterIndex:
    folder = tmp_path_factory.mktemp("filters")
    write_filters(folder, TOOLS)
    return FilterIndex(folder, len(TOOLS), IDS.__getitem__, {id_: n for n, id_ in enumerate(IDS)}.get)


def passing(index: FilterIndex, **filters: tuple[str, ...]) -> set[str]:
    return {id_ for id_, passes in zip(IDS, index.passing(filters), strict=True) if passes and "many" not in id_}


MEANT: list[tuple[str, tuple[str, ...], set[str]]] = [
    ("department", ("finance",), {"pay/run", "pay/stop"}),
    ("department", ("finance", "hr"), {"pay/run", "pay/stop", "hr/get"}),
    ("department", ("!finance",), {"hr/get", "bare"}),
    ("department", ("!finance", "!hr"), {"bare"}),
    ("tags", ("pay*",), {"pay/run"}),
    ("tags", ("!pay*",), {"pay/stop", "hr/get", "bare"}),
    ("tags", ("p*", "!payroll"), {"hr/get"}),
    ("tags", ("!odd",), {"pay/run", "pay/stop", "hr/get", "bare"}),  # an exclusion, although a tool has this very value
    ("tags", ("!star*",), {"pay/run", "pay/stop", "bare"}),
    ("tags", ("star*", "pay*"), {"hr/get", "pay/run"}),
    ("deprecated", ("true",), {"pay/stop"}),
    ("id", ("pay/stop", "bare"), {"pay/stop", "bare"}),
    ("id", ("pay/*", "!pay/run"), {"pay/stop"}),
    ("deprecated", ("!false",), {"pay/run", "pay/stop", "hr/get", "bare"}),  # what no tool has excludes nothing
    ("owner", ("!x", "!y*"), {"pay/run", "pay/stop", "hr/get", "bare"}),
    ("id", ("!no/such",), {"pay/run", "pay/stop", "hr/get", "bare"}),
    ("tags", ("p*", "!zz*"), {"pay/run", "hr/get"}),
    ("id", ("!pay/run", "!many/*"), {"pay/stop", "hr/get", "bare"}),
    ("id", ("pay/*", "p*", "pay/r*", "h*"), {"pay/run", "pay/stop", "hr/get"}),  # patterns that overlap
]


def test_a_value_is_meant_as_it_is_written(index: FilterIndex, subtests: pytest.Subtests) -> None:
    for key, values, found in MEANT:
        with subtests.test(ascii(key)):
            assert passing(index, **{key: values}) == found


@pytest.mark.parametrize(
    ("filters", "subject", "remedy"),
    [
        ({"Department": ("hr",)}, "filters", "Known keys: department, deprecated, code, effect, id, tags"),
        ({"department": ("Finance",)}, "filters.department", "Known values: finance, hr"),
        ({"Department": ("!hr", "it")}, "filters", "Known keys: department, deprecated, code, effect, id, tags"),
        ({"department": ("!hr", "sales")}, "filters.department", "Known values: finance, hr"),
        ({"tags": ("zz*",)}, "filters.tags", "Known values: !odd, payment, payroll, person, star*"),
        ({"id": ("pay/runs",)}, "filters.id", "Known values: pay/run, pay/stop,"),
        ({"code": ("C07",)}, "filters.code", "Known values: c07, c00, c01,"),
        ({"tags": ()}, "filters.tags", "Give the allowed values"),
        ({"id": ("*",)}, "filters.id", "Write how the value begins"),
        ({"tags": ("person", "!*")}, "filters.tags", "Write how the value begins"),
    ],
)
def test_what_no_tool_has_is_an_error_that_lists_what_there_is(
    index: FilterIndex, filters: dict[str, tuple[str, ...]], subject: str, remedy: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        index.passing(filters)
    assert caught.value.subject == subject
    assert caught.value.remedy.startswith(remedy)


values = st.sampled_from(["payroll", "payment", "person", "!odd", "star*", "pay*", "*", "!payroll", "!p*", "!*"])


@given(wanted=st.lists(values, min_size=1, max_size=5).map(tuple))
def test_against_the_plain_reading(index: FilterIndex, wanted: tuple[str, ...]) -> None:
    def has(tool: Tool, value: str) -> bool:
        own = set(tool.metadata.get("tags", ()))
        return any(tag.startswith(value[:-1]) for tag in own) if value.endswith("*") else value in own

    def passes(tool: Tool) -> bool:
        negated = [value for value in wanted if value.startswith("!")]
        positive = [value for value in wanted if value not in negated]
        if any(has(tool, value[1:]) for value in negated):
            return False
        return not positive or any(has(tool, value) for value in positive)

    assert [passes(tool) for tool in TOOLS] == index.passing_if_known({"tags": wanted}).tolist()
