"""Filters that a list needs by the text of its document, and inputs whose values nobody says."""

from __future__ import annotations

import pytest

from datagen.generation import ToolWording
from datagen.generation.realisation import realise
from datagen.generation.tool_frame import GenerationError, ToolFrame
from ontology.tool import Parameter, Tool
from tests.datagen.generation.material import catalogue_of

_STATUS = Parameter(name="status", enum=("pending", "failed"))


def _tool(name: str, description: str, *inputs: Parameter, returns: tuple[Parameter, ...] = ()) -> Tool:
    return Tool(
        id=f"print/{name}",
        name=name,
        description=description,
        parameters=inputs,
        returns=returns,
        metadata={"namespace": "print", "api": "The Print API"},
    )


def _id(name: str, *, required: bool = False, description: str = "") -> Parameter:
    return Parameter(name=name, type="integer", required=required, description=description)


def _frame(tool: Tool, *others: Tool) -> ToolFrame:
    return ToolWording(catalogue_of(tool, *others)).frame(tool.id)


def _names(frame: ToolFrame) -> set[str]:
    return {name for argument in frame.arguments for name in argument.names}


@pytest.mark.parametrize(
    ("description", "needed"),
    [
        (
            "Lists jobs. You must specify only one of the following items: a printer ID or a batch ID.",
            "printerId batchId",
        ),
        ("Lists jobs. At least one of printer and batch is required.", "printerId batchId"),
        ("Lists the jobs for a specified printer.", "printerId"),
        ("Lists the jobs of the specified printer or of all printers.", ""),
        ("Lists jobs.", ""),
    ],
)
def test_a_list_needs_one_of_the_filters_that_its_document_asks_for(description: str, needed: str) -> None:
    frame = _frame(_tool("listJobs", description, _id("printerId"), _id("batchId"), _id("ownerId"), _STATUS))
    assert [one.names[0] for one in frame.one_of] == needed.split()
    if needed:
        wording = ToolWording(catalogue_of())
        for seed in "abcdefgh":
            sampler = wording.sampler(seed)
            realise(frame, {}, sampler)
            assert {value.parameter for value in sampler.values} & set(needed.split())


def test_a_list_whose_needed_filter_nobody_says_is_in_no_request() -> None:
    secret = Parameter(
        name="printerId", description="The ARN of the printer.", example="arn:aws:print:eu:1:p/9f3c-77aa"
    )
    frame = _frame(_tool("listJobs", "Lists the jobs for a specified printer.", secret, _STATUS))
    assert not frame.one_of[0].sayable
    with pytest.raises(GenerationError, match="none can be said"):
        realise(frame, {}, ToolWording(catalogue_of()).sampler("a"))


def test_a_filter_that_the_schema_requires_needs_no_text() -> None:
    frame = _frame(_tool("listJobs", "Lists the jobs for a specified printer.", _id("printerId", required=True)))
    assert frame.one_of == ()


@pytest.mark.parametrize(
    ("inputs", "unsaid"),
    [
        ("client_id secret", "client_id"),  # the login of the caller
        ("client_id", ""),
        ("tagKeys tagValues", "tagKeys"),
        ("tagKey", ""),
        ("cursor", "cursor"),
        ("resourceOwnerAccountId", "resourceOwnerAccountId"),
        ("accountId", ""),
    ],
)
def test_logins_pages_and_the_keys_of_pairs_are_no_arguments(inputs: str, unsaid: str) -> None:
    frame = _frame(_tool("listJobs", "Lists jobs.", _id("printerId"), *map(_id, inputs.split())))
    assert _names(frame) == {"printerId", *inputs.split()[:1]} - {unsaid}


def test_a_client_is_said_to_a_tool_about_clients() -> None:
    get = _tool("getClient", "Returns a client.", _id("client_id", required=True), Parameter(name="secret"))
    assert _names(_frame(get)) == {"client_id"}


@pytest.mark.parametrize(
    ("description", "is_said"),
    [("In minutes.", True), ("In years or seconds.", False), ("", False), ("In hours, at most 3 days.", False)],
)
def test_a_duration_is_said_where_its_unit_fits(description: str, is_said: bool) -> None:
    duration = Parameter(name="duration", type="string", description=description)
    frame = _frame(_tool("listOffers", "Lists offers.", _id("printerId"), duration))
    assert ("duration" in _names(frame)) is is_said


def test_a_number_does_not_end_with_the_stop_of_a_sentence() -> None:
    release = Parameter(name="releaseId", required=True, description="The release, for example emr-5.36.0.")
    frame = _frame(_tool("listAlarms", "Lists the alarms of a release.", release))
    assert frame.owner is not None
    assert frame.owner.pattern.startswith("emr-")
    assert not frame.owner.pattern.endswith(".")


def test_a_page_with_a_key_of_its_own_is_a_thing() -> None:
    keys = (_id("catalogueProductId", required=True), _id("productPageId", required=True))
    page = _tool("getProductPage", "Gets a product page of a catalogue product.", *keys)
    frame = _frame(page)
    assert frame.noun.key == "product page"
    assert frame.identity is not None
    assert frame.identity.names == ("productPageId",)
    users = _tool("getUserPage", "Gets a user page of the users.", _id("printerId", required=True))
    assert _frame(users).noun.key == "user"


@pytest.mark.parametrize("description", ["Creates a template.", "Returns a template."])
def test_since_when_selects_no_one_thing(description: str) -> None:
    name = "createTemplate" if "Creates" in description else "getTemplate"
    keys = (
        (_id("templateId", required=True),)
        if name == "getTemplate"
        else (_id("printerId", required=True), Parameter(name="dueDate"))
    )
    frame = _frame(_tool(name, description, *keys, Parameter(name="since", type="string")))
    wording = ToolWording(catalogue_of())
    for seed in "abcdefghijkl":
        sampler = wording.sampler(seed, verbose=True)
        assert "since" not in realise(frame, {}, sampler).order


def test_a_new_name_stands_behind_to() -> None:
    keys = (
        Parameter(name="username", required=True, location="path"),
        Parameter(name="new_username", required=True, description="The new name."),
    )
    frame = _frame(_tool("renameUser", "Rename a user.", *keys))
    sampler = ToolWording(catalogue_of()).sampler("a")
    order = realise(frame, {}, sampler).order
    new = next(value.value for value in sampler.values if value.parameter == "new_username")
    assert f" to {new}" in order


def test_no_verb_of_a_name_stands_in_the_name_of_its_thing() -> None:
    own = _tool("userGetHook", "Get a hook", _id("id", required=True))
    other = _tool("repoGetHook", "Get a hook", _id("id", required=True))
    assert _frame(own, other).noun.words == ("user hook",)
