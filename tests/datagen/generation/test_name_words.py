"""Words of names that a request leaves out: they are said, or their tool is in no request."""

from __future__ import annotations

import pytest

from datagen.generation import ToolWording
from datagen.generation.realisation import realise
from datagen.generation.rules_generator import RulesGenerator
from datagen.interfaces import GeneratedText
from datagen.tool_path import ToolPath
from ontology.tool import Parameter, Tool
from tests.datagen.generation.material import catalogue_of


def _tool(name: str, description: str, *inputs: str, namespace: str = "museum", **parameter: object) -> Tool:
    parameters = tuple(Parameter(name=one, required=True, location="path") for one in inputs)
    extra = tuple(Parameter(name=key, enum=value) for key, value in parameter.items() if isinstance(value, tuple))
    metadata = {"namespace": namespace, "api": f"The {namespace.capitalize()} API"}
    return Tool(
        id=f"{namespace}/{name}",
        name=name,
        description=description,
        parameters=(*parameters, *extra),
        metadata=metadata,
    )


PAINTING = _tool("getPainting", "Gets a painting.", "paintingId")
METADATA = _tool("getPaintingMetadata", "Returns the metadata of a painting.", "paintingId")
VISITORS = _tool("listVisitors", "Lists visitors.", "exhibitionId")
GUEST_VISITORS = _tool("listGuestVisitors", "Lists visitors.", "exhibitionId")
SCHOOL_VISITORS = _tool("listSchoolVisitors", "Lists visitors.", "exhibitionId")
OF_ROOM = _tool("listRoomVisitors", "Lists visitors.", "roomId")


@pytest.mark.parametrize(
    ("tool", "others", "said"),
    [
        (METADATA, (PAINTING,), ""),  # the words of its request are those of another tool
        (METADATA, (), "painting"),  # which no other tool has
        (PAINTING, (METADATA,), "painting"),
        (GUEST_VISITORS, (VISITORS,), "guest visitor"),
        (GUEST_VISITORS, (SCHOOL_VISITORS,), "guest visitor"),
        (GUEST_VISITORS, (OF_ROOM,), "visitor"),  # the text says an exhibition, which the other does not take
        (VISITORS, (GUEST_VISITORS,), "visitor"),
    ],
)
def test_words_of_the_name_that_tell_a_tool_from_another_are_said(
    tool: Tool, others: tuple[Tool, ...], said: str
) -> None:
    wording = ToolWording(catalogue_of(tool, *others))
    reason = wording.reason(tool.id)
    assert ("words of its name" in reason) is (not said)
    if said:
        assert wording.frame(tool.id).noun.words == (said,)


def test_the_system_is_said_where_only_it_tells_two_tools_apart() -> None:
    long = _tool("getArchiveSculpture", "Gets a sculpture.", "sculptureId")
    short = _tool("getSculpture", "Gets a sculpture.", "sculptureId", namespace="gallery")
    assert ToolWording(catalogue_of(long, short)).frame(long.id).system == "Museum"
    assert not ToolWording(catalogue_of(long)).frame(long.id).system


def test_what_a_document_requires_and_nobody_says_leaves_the_thing_open() -> None:
    required = Tool(
        id="museum/getForecast",
        name="getForecast",
        description="Gets the forecast.",
        parameters=(Parameter(name="inspectionUrl", description="Required. What is meant."),),
    )
    assert ToolWording(catalogue_of(required)).reason(required.id)
    free = Tool(id="museum/getForecast", name="getForecast", description="Gets the forecast.")
    assert not ToolWording(catalogue_of(free)).reason(free.id)


def test_a_state_that_an_action_leads_to_is_no_new_value() -> None:
    update = _tool("updatePainting", "Updates a painting.", "paintingId", state=("archived", "shown", "stored"))
    archive = _tool("archivePainting", "Archives a painting.", "paintingId")
    alone, beside = (ToolWording(catalogue_of(*tools)).frame(update.id) for tools in ((update,), (update, archive)))
    states = [next(one.choices for one in frame.arguments if one.role == "state") for frame in (alone, beside)]
    assert states == [("archived", "shown", "stored"), ("shown", "stored")]


def test_a_state_that_a_program_goes_through_is_set_by_nobody() -> None:
    update = _tool("updatePainting", "Updates a painting.", "paintingId", state=("creating", "shown", "stored"))
    assert ToolWording(catalogue_of(update)).reason(update.id) == "nothing that it changes can be said"


def test_a_list_beside_one_of_its_things_is_not_two_requests() -> None:
    listed = _tool("listPaintings", "Lists the paintings of an exhibition.", "exhibitionId")
    one = _tool("getPainting", "Gets a painting of an exhibition.", "exhibitionId", "paintingId")
    rooms = _tool("listRooms", "Lists the rooms of an exhibition.", "exhibitionId")
    generator = RulesGenerator(catalogue_of(listed, one, rooms))

    def made(*tools: Tool) -> bool:
        path = ToolPath(tools=tuple(tool.id for tool in tools), shape="set")
        return isinstance(generator.generate(path, "multi-intent", seed=1), GeneratedText)

    assert made(listed, rooms)
    assert not made(listed, one)


def test_things_related_to_one_of_their_kind_are_not_identified_by_its_number() -> None:
    related = _tool("getRelatedPaintings", "Get all the related paintings of a painting.", "paintingId")
    assert ToolWording(catalogue_of(related)).reason(related.id)


def test_what_is_the_askers_own_is_always_said_so() -> None:
    tool = Tool(
        id="museum/listTickets",
        name="listTickets",
        description="Lists tickets.",
        metadata={"namespace": "museum", "method": "GET", "path": "/me/tickets"},
    )
    wording = ToolWording(catalogue_of(tool))
    orders = [realise(wording.frame(tool.id), {}, wording.sampler(str(at))).order for at in range(20)]
    assert all("my tickets" in order for order in orders)


def _associations(kind: str, *, required: bool, namespace: str = "vpc-lattice") -> Tool:
    key = Parameter(name="serviceNetworkIdentifier", required=required)
    return Tool(
        id=f"{namespace}/ListServiceNetwork{kind}Associations",
        name=f"ListServiceNetwork{kind}Associations",
        description="Lists the associations of a service network." if required else "Lists associations.",
        parameters=(key,),
        metadata={"namespace": namespace, "service": "VPC Lattice"},
    )


@pytest.mark.parametrize("required", [True, False])
def test_a_word_of_the_owner_that_the_name_has_once_more_is_said_of_the_thing(required: bool) -> None:
    service, room = (_associations(kind, required=required) for kind in ("Service", "Room"))
    beside = ToolWording(catalogue_of(service, room))
    assert beside.frame(service.id).noun.words == ("service association",)
    assert beside.frame(room.id).noun.words == ("room association",)
    assert ToolWording(catalogue_of(service)).frame(service.id).noun.words == ("association",)


def test_a_word_of_the_system_does_not_tell_two_of_its_tools_apart() -> None:
    service, vpc = (_associations(kind, required=True) for kind in ("Service", "Vpc"))
    assert "words of its name" in ToolWording(catalogue_of(service, vpc)).reason(vpc.id)
    assert not ToolWording(catalogue_of(vpc)).reason(vpc.id)
