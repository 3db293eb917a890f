"""Questions of general knowledge, over the shipped catalogue and over made-up ones."""

from __future__ import annotations

from datagen.generation.general_questions import GeneralQuestions
from datagen.generation.tool_wording import ToolWording
from ontology.tool import Parameter, Tool
from tests.datagen.generation.material import catalogue_of, enterprise


def _beside(tool: str, *tools: Tool) -> str:
    wording = ToolWording(catalogue_of(*tools) if tools else enterprise())
    return "; ".join(GeneralQuestions(wording).beside(wording.frame(tool)))


def _tool(name: str, description: str, *inputs: str) -> Tool:
    parameters = tuple(Parameter(name=one, required=True) for one in inputs)
    return Tool(id=name, name=name, description=description, parameters=parameters)


def test_things_of_one_standing_are_compared_beside_few_of_their_tools() -> None:
    wording = ToolWording(enterprise())
    questions = GeneralQuestions(wording)
    difference = "the difference between a purchase order and a purchase requisition"
    asked = [one.tool for one in wording.frames() if any(difference in text for text in questions.beside(one))]
    about = [one.tool for one in wording.frames() if one.noun.key in ("purchase order", "purchase requisition")]
    assert 1 <= len(asked) <= 3 < len(about)


def test_names_that_tell_the_difference_are_not_compared() -> None:
    assert "hotel offer" not in _beside("travel/searchFlights")


def test_a_state_that_explains_itself_is_not_asked_for() -> None:
    questions = _beside("finance/getSupplierInvoice")
    assert "'parked'" in questions
    assert "'paid'" not in questions


def test_states_that_people_mix_up_are_compared() -> None:
    assert "between 'resolved' and 'closed'" in _beside("itsm/search_incidents")


def test_what_belongs_to_a_thing_is_asked_for_where_the_thing_goes() -> None:
    tools = (
        _tool("deleteFile", "Deletes a file.", "fileId"),
        _tool("listComments", "Lists the comments of a file.", "fileId"),
    )
    questions = _beside("deleteFile", *tools)
    assert "what happens to the comments when a file is deleted" in questions
    assert "can a deleted file be brought back" in questions


def test_an_abbreviation_of_the_document_is_asked_for_and_none_of_programs() -> None:
    questions = _beside("getQuote", _tool("getQuote", "Returns a quote of an RFQ by its ID.", "quoteId"))
    assert "what does RFQ mean" in questions
    assert "ID" not in questions


def test_there_is_no_question_where_the_documents_say_nothing() -> None:
    assert not _beside("getOrder", _tool("getOrder", "Returns an order.", "orderId"))


def test_a_placeholder_of_a_document_is_no_state() -> None:
    state = Parameter(name="state", enum=("", "-", "state_unspecified", "parked", "booked"))
    tool = Tool(
        id="getJob",
        name="getJob",
        description="Returns a job.",
        parameters=(Parameter(name="jobId", required=True),),
        returns=(Parameter(name="jobId"), state),
    )
    questions = _beside("getJob", tool)
    assert "'parked'" in questions
    assert "unspecified" not in questions
