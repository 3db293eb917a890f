"""The index of value shapes: what a text names, in linear time, from a file that is checked when it is read."""

from pathlib import Path

import pytest

from ontology.errors import SnapshotCorruptError
from ontology.value_shape import KIND_SHAPES, ShapeUse, ValueShape
from retrieval.index.records import write_records
from retrieval.index.value_shapes import ValueShapes, write_value_shapes

TOOLS = {"itsm/get_incident": 0, "projects/get_issue": 1, "finance/get_invoice": 2}


def use(pattern: str, tool: str, parameter: str, entity: str, *, is_widened: bool = False) -> ShapeUse:
    shape = KIND_SHAPES.get(pattern) or ValueShape(pattern)
    return ShapeUse(shape=shape, tool=tool, parameter=parameter, entity=entity, is_widened=is_widened)


USE = ("itsm/get_incident", "incident_id", "incident")
USES = [
    use(r"INC\d{7}", *USE),
    use(r"OPS\-\d{2,5}", "projects/get_issue", "key", "issue"),
    use(r"[A-Z]{2,10}\-\d{2,5}", "projects/get_issue", "key", "issue", is_widened=True),
    use(r"51\d{8}", "finance/get_invoice", "invoice", "invoice"),
    use(r"\d{10}", "finance/get_invoice", "document", "document"),
    use("email", "itsm/get_incident", "caller", "person"),
    use("iban", "finance/get_invoice", "iban", "bank account"),
    use("phone", "itsm/get_incident", "phone", "person"),
    use(r"[0-9A-Z]{18}", "finance/get_invoice", "tracking", "parcel"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> ValueShapes:
    folder = tmp_path_factory.mktemp("shapes")
    write_value_shapes(folder, USES, TOOLS)
    return ValueShapes(folder, len(TOOLS))


def found(index: ValueShapes, text: str) -> list[tuple[str, tuple[str, ...]]]:
    matches = index.match(text)
    assert all(text[match.start : match.end] == match.text for match in matches)
    return [(match.text, match.entities) for match in matches]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Please close INC0012345.", [("INC0012345", ("incident",))]),
        ("close (inc0012345)!", [("inc0012345", ("incident",))]),
        ("#INC0012345's caller", [("INC0012345", ("incident",))]),
        ("https://desk.example/INC0012345?x=1", [("INC0012345", ("incident",))]),
        ("PO/5105600123", [("5105600123", ("invoice",)), ("5105600123", ("document",))]),
        ("mail anna@example.com about OPS-17", [("OPS-17", ("issue",)), ("anna@example.com", ("person",))]),
        ("move CRM-42", [("CRM-42", ("issue",))]),
        (
            "call +44 113 496 0017 or pay DE89 3704 0044 0532 0130 00",
            [("+44 113 496 0017", ("person",)), ("DE89 3704 0044 0532 0130 00", ("bank account",))],
        ),
        ("the top-10 of 2024, 42 INCIDENTS and XINC0012345", []),
        ("number 111111111111111111", []),
        ("", []),
    ],
)
def test_values_are_found_with_their_entities(
    index: ValueShapes, text: str, values: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert found(index, text) == values


HOSTILE = [
    "INC0012345 ",
    "a1-",
    "1 ",
    "+1",
    "+1 1 1 1 ",
    "AB12",
    "AB12 3456 7890 ",
    "a@",
    "a@b.c",
    "/a1",
    "GB00AAAA",
    "1-1 ",
    "=1:",
]


def test_long_hostile_text_takes_linear_time(index: ValueShapes, subtests: pytest.Subtests) -> None:
    for part in HOSTILE:
        with subtests.test(ascii(part)):
            assert len(index.match((part * 20_000)[:20_000])) <= 4_000


def test_shapes_of_large_patterns_are_looked_up_for_fewer_values(tmp_path: Path) -> None:
    write_value_shapes(tmp_path, [use(rf"V\S{{1,{600 + number}}}", *USE) for number in range(60)], TOOLS)
    found = {match.text for match in ValueShapes(tmp_path, 3).match(" ".join(f"V{number:06}" for number in range(300)))}
    assert "V000000" in found
    assert "V000299" not in found


@pytest.mark.parametrize(
    "row",
    [
        {"pattern": "(?=a)b", "kind": "", "uses": [[0, "p", "e", False, "example", False]]},
        {"pattern": "x", "kind": "uuid", "uses": [[0, "p", "e", False, "example", False]]},
        {"pattern": r"INC\d{7}", "kind": "", "uses": [[9, "p", "e", False, "example", False]]},
        {"pattern": r"INC\d{7}", "kind": "", "uses": [[0, "p", "e", 0, "example", False]]},
        {"pattern": r"INC\d{7}", "kind": "", "uses": []},
        {"pattern": 3, "kind": "", "uses": [[0, "p", "e", False, "example", False]]},
        ["no object"],
    ],
)
def test_an_altered_index_is_refused(tmp_path: Path, row: object) -> None:
    write_records(tmp_path / "value_shapes", [row])
    with pytest.raises(SnapshotCorruptError, match="value shapes"):
        ValueShapes(tmp_path, 3).match("INC0012345")
