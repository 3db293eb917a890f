"""The frames of tools."""

from __future__ import annotations

from dataclasses import replace

import pytest

from datagen.generation.lexicon import load_lexicon
from datagen.generation.realisation import realise
from datagen.generation.tool_frame import GenerationError, ToolFrame, parse_tool
from datagen.generation.tool_wording import ToolWording
from ontology.tool import Parameter, Tool
from tests.datagen.generation.material import catalogue_of, enterprise


def _frame(tool_id: str) -> ToolFrame:
    frame = parse_tool(enterprise(), tool_id, load_lexicon())
    return frame


@pytest.mark.parametrize(
    ("tool", "kind", "noun", "identity", "owner"),
    [
        ("travel/submitExpenseReport", "act", "expense report", "reportId", ""),
        ("procurement/listQuotations", "list", "supplier quotation", "", "rfqId"),
        ("sales/createQuote", "create", "quote", "", "customerId"),
        ("hr/searchCandidates", "search", "candidate", "", ""),
        ("purchasing/delete_PurchaseOrderItem", "act", "purchase order item", "PurchaseOrderItem", "PurchaseOrder"),
        ("travel/approveTrip", "act", "trip", "tripId", ""),
        ("manufacturing/update_InspectionLots", "update", "inspection lot", "InspectionLotId", ""),
        ("finance/getPayment", "get", "payment", "paymentId", ""),
    ],
)
def test_the_frame_of_a_tool(tool: str, kind: str, noun: str, identity: str, owner: str) -> None:
    frame = _frame(tool)
    assert (frame.kind, frame.noun.key) == (kind, noun)
    assert (frame.identity.names[0] if frame.identity else "") == identity
    assert (frame.owner.names[0] if frame.owner else "") == owner


def _parsed(tool: Tool) -> ToolFrame:
    return parse_tool(catalogue_of(tool), tool.id, load_lexicon())


def test_a_tool_about_oneself_is_own() -> None:
    assert _parsed(Tool(id="x", name="getMyProfile", description="Returns the profile of the caller.")).own
    assert _parsed(Tool(id="x", name="listCalendars", description="Returns the caller's calendars.")).own
    assert not _frame("hr/getEmployee").own


def test_an_amount_and_its_currency_are_one_argument() -> None:
    money = next(one for one in _frame("finance/transferBudget").arguments if one.field and one.field.kind == "money")
    assert money.names == ("amount.amount", "amount.currency")


def test_pages_and_sessions_are_no_arguments() -> None:
    tool = Tool(
        id="list",
        name="list_orders",
        description="Lists the orders.",
        parameters=tuple(Parameter(name=name) for name in ("page", "pageSize", "session_id", "apiKey", "city")),
    )
    frame = _parsed(tool)
    assert [one.names[0] for one in frame.arguments] == ["city"]


def test_a_decision_is_told_from_other_choices() -> None:
    inputs = (
        Parameter(name="requestId", required=True),
        Parameter(name="decision", enum=("approve", "reject"), required=True),
    )
    tool = Tool(id="x", name="decideRequest", description="Approves or rejects a request.", parameters=inputs)
    decision = _parsed(tool).decision
    assert decision is not None
    assert decision.choices == ("approve", "reject")


def test_a_name_that_is_a_path_is_read_by_the_path_and_the_document() -> None:
    tool = Tool(
        id="a",
        name="GET_movie-upcoming",
        description="Get a list of the upcoming movies.",
        parameters=(Parameter(name="region"),),
        metadata={"method": "GET", "path": "/movie/upcoming"},
    )
    frame = _parsed(tool)
    assert (frame.kind, frame.noun.words) == ("list", ("upcoming film", "upcoming movie"))


def _call(name: str, description: str, *inputs: str, path: str = "") -> Tool:
    parameters = tuple(Parameter(name=one, required=True, location="path" if path else "") for one in inputs)
    metadata = {"method": name[:3].upper(), "path": path} if path else {}
    return Tool(id="x", name=name, description=description, parameters=parameters, metadata=metadata)


@pytest.mark.parametrize(
    ("tool", "kind", "phrase", "preposition"),
    [
        (_call("addUserToGroup", "Adds a user to a group.", "userId", "groupId"), "act", "add ~", "to"),
        (
            _call("removeUserFromGroup", "Removes a user from the group.", "userId", "groupId"),
            "act",
            "remove ~",
            "from",
        ),
        (
            _call("listUserPolicies", "Lists all policies attached to the user.", "userId"),
            "list",
            "list ~",
            "attached to",
        ),
        (_call("assignIssue", "Assigns an issue to a user.", "issueId", "userId"), "act", "assign ~", "to"),
        (_call("headBucket", "Checks if a bucket exists.", "bucketName"), "get", "check whether ~ exists", ""),
    ],
    ids=lambda value: value.name if isinstance(value, Tool) else "",
)
def test_what_is_done_to_which_thing_and_to_what_it_belongs(
    tool: Tool, kind: str, phrase: str, preposition: str
) -> None:
    frame = _parsed(tool)
    assert (frame.kind, frame.preposition) == (kind, preposition)
    assert phrase in frame.phrases


def test_an_identifier_that_nobody_types_is_only_referred_to() -> None:
    inputs = (
        Parameter(name="volumeId", required=True, format="uuid"),
        Parameter(name="diskId", required=True, example="4711"),
    )
    tool = Tool(id="x", name="attachVolume", description="Attaches a volume to a disk.", parameters=inputs)
    volume, disk = _parsed(tool).arguments
    assert (volume.sayable, disk.sayable, disk.pattern) == (False, True, "####")


def test_a_description_that_begins_with_the_name_in_camel_case_is_read_behind_it() -> None:
    tool = _call("CancelPayment", "CancelPayment. Cancels (voids) a payment.", "payment_id")
    frame = _parsed(tool)
    assert (frame.noun.key, frame.verb) == ("payment", "cancel")


def test_a_participle_in_the_name_of_an_input_stands_before_its_thing_and_a_quantifier_is_no_part_of_it() -> None:
    creator = Parameter(name="created_by_user_id")
    tools = (
        Tool(id="list", name="list_policies", description="Lists retention policies.", parameters=(creator,)),
        Tool(
            id="get",
            name="get_user",
            description="Returns a user.",
            parameters=(Parameter(name="user_id", required=True),),
        ),
    )
    frame = ToolWording(catalogue_of(*tools)).frame("list")
    (argument,) = [one for one in frame.arguments if one.names == ("created_by_user_id",)]
    assert (argument.relation, argument.noun.key if argument.noun else "") == ("created by", "user")


def test_an_action_without_a_verb_that_people_say_is_left_out() -> None:
    tool = Tool(
        id="x",
        name="get_authorize",
        description="Authorize user. Sends them to a site.",
        parameters=(Parameter(name="client_id", required=True),),
    )
    with pytest.raises(GenerationError):
        ToolWording(catalogue_of(tool)).frame("x")


def test_the_number_of_a_thing_that_people_call_by_one_word_identifies_it() -> None:
    frame = ToolWording(enterprise()).frame("finance/getCustomerInvoice")
    assert frame.identity is not None
    assert frame.owner is None


def test_what_belongs_to_a_thing_is_removed_from_it() -> None:
    frame = ToolWording(enterprise()).frame("purchasing/delete_PurchaseOrderItem")
    assert frame.preposition == "from"


def test_an_update_of_one_of_several_needs_its_identity_although_its_document_marks_it_as_optional() -> None:
    group, name = Parameter(name="usergroup", required=False), Parameter(name="name")
    update = Tool(id="x", name="usergroups.update", description="Update a user group.", parameters=(group, name))
    with pytest.raises(GenerationError):
        ToolWording(catalogue_of(update)).frame("x")
    by_number = replace(update, parameters=(replace(group, name="user_group_id", example="4711"), name))
    assert ToolWording(catalogue_of(by_number)).frame("x").identity is not None


def _described(path: str, name: str, description: str, *inputs: Parameter) -> Tool:
    metadata = {"namespace": "shop", "path": path, "method": name.split("_")[0].upper()}
    return Tool(id=f"shop/{name}", name=name, description=description, parameters=inputs, metadata=metadata)


def _parsed_unknown(tool: Tool) -> ToolFrame:
    return parse_tool(catalogue_of(tool), tool.id, load_lexicon().general)


def _key(name: str, thing: str = "", location: str = "path") -> Parameter:
    description = f"The ID of a {thing}" if thing else ""
    return Parameter(name=name, type="string", required=True, location=location, description=description)


def test_a_bare_id_within_a_path_is_that_of_the_segment_before_it() -> None:
    labels = _parsed_unknown(
        _described(
            "/projects/{id}/labels", "get_projects_id_labels", "Get all labels of the project.", _key("id", "project")
        )
    )
    assert (labels.kind, labels.identity, labels.owner_noun and labels.owner_noun.key) == ("list", None, "project")
    label = _parsed_unknown(_described("/labels/{id}", "delete_labels_id", "Delete a label.", _key("id", "label")))
    assert label.identity is not None and label.identity.noun is not None and label.identity.noun.key == "label"


@pytest.mark.parametrize(
    ("default", "location", "is_worded"),
    [
        ("created:[2016-01-01 TO 2021-01-01]", "query", False),
        ("default", "query", True),
        ("2022-11-28", "header", True),
        ("", "query", False),
    ],
)
def test_a_required_input_that_is_not_said_has_a_default_that_is_no_example(
    default: str, location: str, is_worded: bool
) -> None:
    spare = Parameter(name="f_range_x", type="string", required=True, location=location, default=default)
    tool = _described("/orders/{orderId}", "get_orders", "Get an order.", _key("orderId"), spare)
    assert (ToolWording(catalogue_of(tool)).reason(tool.id) == "") == is_worded
    secret = Parameter(name="password", type="string", required=True, location="body")
    with pytest.raises(GenerationError, match="password cannot be said"):
        _parsed_unknown(_described("/orders/{orderId}", "get_orders", "Get an order.", _key("orderId"), secret))


@pytest.mark.parametrize(
    ("path", "name", "description", "reason"),
    [
        ("/servers/{id}/actions/remove_from_group", "post_servers_id_actions_remove_from_group",
         "Removes a server from a group.", "takes a thing out of another one"),
        ("/orders/{id}/contains", "check-order", "Check if one or more orders is already saved.", "yes or no"),
    ],
)  # fmt: skip
def test_what_is_not_done_to_the_thing_itself_is_left_out(path: str, name: str, description: str, reason: str) -> None:
    with pytest.raises(GenerationError, match=reason):
        _parsed_unknown(
            _described(path, name, description, _key("id", "server" if "server" in description else "order"))
        )


def test_two_required_identifiers_of_one_thing_are_too_many() -> None:
    keys = _key("segment_id", "segment"), _key("query_segment_id", "query segment", "query")
    with pytest.raises(GenerationError, match="more identifiers"):
        _parsed_unknown(_described("/segments/{segment_id}", "get_segments_segment_id", "Retrieve a segment.", *keys))


def _update(*inputs: Parameter, name: str = "UpdateStack") -> Tool:
    text = Parameter(name="State", enum=("active", "paused"), description="The state of the stack.")
    return Tool(id=name, name=name, description="Updates a stack.", parameters=(*inputs, text))


_NAME = Parameter(name="Name", required=True, description="The name of the stack.")
_DELETE = Tool(id="DeleteStack", name="DeleteStack", description="Deletes a stack.", parameters=(_NAME,))


@pytest.mark.parametrize(
    ("others", "is_identity"),
    [
        ((), True),
        ((Parameter(name="NewName"),), True),  # which need not be given
        ((Parameter(name="StackId", required=True),), False),
        ((Parameter(name="Arn", required=True),), False),
        ((Parameter(name="CurrentName", required=True),), False),
        ((Parameter(name="ref", required=True, location="path"),), False),
    ],
)
def test_a_required_name_tells_which_thing_is_changed_where_nothing_else_does(
    others: tuple[Parameter, ...], is_identity: bool
) -> None:
    tool = _update(_NAME, *others)
    try:
        frame = parse_tool(catalogue_of(tool, _DELETE), tool.id, load_lexicon().for_things({"stack"}))
    except GenerationError:
        assert not is_identity  # nobody says the key, or two new values at once
        return
    assert (frame.identity is not None and frame.identity.names == ("Name",)) is is_identity


def test_a_change_of_what_a_required_name_tells_is_one_of_another_input() -> None:
    tool = _update(_NAME)
    wording = ToolWording(catalogue_of(tool, _DELETE))
    orders = [realise(wording.frame(tool.id), {}, wording.sampler(str(at)), minimal=True).order for at in range(10)]
    assert not any("name" in order for order in orders)
    assert all("stack" in order and ("active" in order or "paused" in order) for order in orders)
    assert len(set(orders)) > 2  # by the names of the stacks
    bare = Tool(id="UpdateStack", name="UpdateStack", description="Updates a stack.", parameters=(_NAME,))
    assert ToolWording(catalogue_of(bare, _DELETE)).reason(bare.id) == "nothing that it changes can be said"


def test_the_required_name_of_the_only_such_thing_is_its_new_one() -> None:
    tool = _update(_NAME)
    identity = ToolWording(catalogue_of(tool)).frame(tool.id).identity
    assert identity is None
