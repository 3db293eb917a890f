"""Which parameters have values of which shape: from patterns, examples, allowed values, descriptions, kinds; and by entity."""

import pytest

from ingest.linking.shape_uses import shape_uses, shown_shapes
from ontology import Ontology, Parameter, Tool, load_ontology
from ontology.value_shape import KIND_SHAPES


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return load_ontology()


def shown(**fields: object) -> set[tuple[str, str]]:
    parameter = Parameter(**{"name": "thing", **fields})  # type: ignore[arg-type]
    return {(one.shape.pattern, one.source) for one in shown_shapes(parameter) if not one.is_widened}


SHOWN: list[tuple[dict[str, object], set[tuple[str, str]]]] = [
    ({"pattern": r"^INC\d{7}$"}, {(r"INC\d{7}", "pattern")}),
    ({"pattern": r"^INC\d{7}$", "example": "INC0012345"}, {(r"INC\d{7}", "pattern")}),
    ({"pattern": r"^(?=I)\w+$", "example": "INC0012345"}, {(r"INC\d{7}", "example")}),
    ({"pattern": r"^\w+$", "example": "INC0012345"}, set()),
    ({"example": '["subnet-0a1b2c3d4e5f60718"]'}, {(r"subnet\-[0-9a-f]{17}", "example")}),
    ({"default": "R-20418"}, {(r"R\-\d{4,7}", "default")}),
    ({"enum": ("NET30", "open", "12")}, {("NET30", "enum")}),
    ({"description": "Number of the incident, e.g. INC0012345."}, {(r"INC\d{7}", "description")}),
    (
        {"description": "An incident such as `INC0012345` or CHG0030217"},
        {(r"INC\d{7}", "description"), (r"CHG\d{7}", "description")},
    ),
    ({"description": "Format: INC#######"}, {(r"INC\d{7}", "description")}),
    ({"description": "Personnel number, E followed by five digits"}, {(r"E\d{5}", "description")}),
    ({"description": "At most 200 rows, like 2024 or top-10"}, set()),
    ({"description": "Format: RFC-3339 P[n]Y[n]M[n]D."}, set()),
    ({"description": "Encoded as per e.g. ISO-8859-1, UTF-8 or SHA-256; phone number in format E.164"}, set()),
    ({"description": "Where to call, for example, +353 80 0 098 8099."}, set()),
    ({"description": "A code, like https://docs.example.com/INC0012345"}, set()),
    ({"example": "UTF-8", "default": "RFC3339"}, set()),
    ({"example": "42"}, set()),
    ({"example": "ext4"}, set()),
    ({"name": "email"}, {(KIND_SHAPES["email"].pattern, "kind")}),
    ({"format": "uuid"}, {(KIND_SHAPES["uuid"].pattern, "kind")}),
    ({"format": "uuid", "example": "xxxxxxxx-xxxx"}, set()),
    ({"name": "counts.sent_emails", "example": "4"}, set()),
    ({"name": "sent_emails", "type": "integer"}, set()),
    ({"name": "email", "type": "object"}, set()),
    ({"name": "url", "example": "example.com"}, set()),
    ({"description": "e.g. INC0012345", "example": "12"}, set()),
    ({"description": "e.g. INC0012345", "enum": ("open", "closed")}, set()),
    ({"description": "e.g. INC0012345", "default": "none"}, set()),
    ({"description": "e.g. INC0012345", "example": "INC0099999"}, {(r"INC\d{7}", "example")}),
    ({"default": "404.html", "example": "error.html"}, set()),
    ({"enum": ("NET30", "open"), "example": "open"}, set()),
]


def test_a_document_shows_values_in_many_places() -> None:
    assert [(fields, shown(**fields)) for fields, _ in SHOWN] == SHOWN


def tool(name: str, *parameters: Parameter, returns: tuple[Parameter, ...] = (), namespace: str = "desk") -> Tool:
    return Tool(
        id=f"{namespace}/{name}", name=name, parameters=parameters, returns=returns, metadata={"namespace": namespace}
    )


def test_other_inputs_of_the_same_identifier_have_the_shape_that_one_shows(ontology: Ontology) -> None:
    plain = Parameter(name="incident_id", required=True)
    tools = [
        tool("get_incident", plain, returns=(Parameter(name="incident_id", example="INC0012345"),)),
        tool("close_incident", plain),
        tool("close_incident", plain, namespace="other"),
        tool("get_change", Parameter(name="change_id", example="CHG0030217")),
    ]
    uses = [use for use in shape_uses(tools, ontology) if use.shape.pattern == r"INC\d{7}"]
    assert [(use.tool, use.output, use.entity, use.source) for use in uses] == [
        ("desk/close_incident", False, "incident", "entity"),
        ("desk/get_incident", False, "incident", "entity"),
        ("desk/get_incident", True, "incident", "example"),
    ]


@pytest.mark.parametrize("name", ["newPhoneNumber", "fax_number", "senderEmailAddress"])
def test_two_words_of_a_name_tell_the_kind_of_its_value(ontology: Ontology, name: str) -> None:
    (use,) = shape_uses([tool("call", Parameter(name=name))], ontology)
    assert (use.source, use.parameter) == ("kind", name)
