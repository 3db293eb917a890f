"""JSON Schema to parameters, and prose out of markup."""

from __future__ import annotations

import pytest

from ingest.sources.json_schema.schema import MAX_FIELDS, flatten, flatten_schema
from ingest.sources.prose import plain, sentences
from ontology.errors import DocumentError


def test_shallow_fields_come_before_deep_ones_when_there_are_too_many() -> None:
    wide = {"type": "object", "properties": {f"x{n}": {"type": "string"} for n in range(50)}}
    schema = {"type": "object", "properties": {f"o{n}": wide for n in range(10)}}
    fields = flatten(schema)
    names = [parameter.name for parameter in fields.parameters]
    assert len(names) == MAX_FIELDS
    assert fields.cut
    assert [name for name in names if "." not in name] == [f"o{n}" for n in range(10)]
    assert names[:3] == ["o0", "o0.x0", "o0.x1"]


def test_a_lookup_of_the_callers_own() -> None:
    parameters = flatten_schema(
        {"properties": {"a": {"$ref": "Thing"}}},
        lookup=lambda ref: {"properties": {"of": {"type": ref}}},
        location="body",
    )
    assert [(p.name, p.type, p.location) for p in parameters] == [("a", "object", "body"), ("a.of", "Thing", "body")]


def test_a_reference_to_nowhere_is_an_error() -> None:
    with pytest.raises(DocumentError, match=r"#/\$defs/X"):
        flatten_schema({"properties": {"a": {"$ref": "#/$defs/X"}}})


def test_lists_of_lists_and_values_that_are_no_objects() -> None:
    grid = {"type": "array", "items": {"type": "array", "items": {"properties": {"x": {"type": "integer"}}}}}
    assert [p.name for p in flatten_schema({"properties": {"g": grid}})] == ["g", "g[][].x"]
    assert [p.name for p in flatten_schema({"type": "array", "items": {"type": "string"}}, output=True)] == ["result"]
    assert [p.name for p in flatten_schema({"type": "string"})] == ["body"]
    assert (
        flatten_schema({}) == flatten_schema({"type": "object"}) == flatten_schema({"type": "null"}, output=True) == ()
    )


def test_a_list_of_itself_by_several_parts_ends() -> None:
    again = {"type": "array", "items": {"allOf": [{"$ref": "#/$defs/A"}, {"description": "again"}]}}
    (only,) = flatten_schema({"properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": again}})
    assert only.name == "x"


def test_the_same_field_in_two_branches_keeps_what_both_say() -> None:
    schema = {
        "oneOf": [
            {"properties": {"at": {"properties": {"city": {"type": "string"}}}}, "required": ["at"]},
            {"properties": {"at": {"properties": {"zip": {"type": "string"}}}}, "required": ["at"]},
        ]
    }
    assert [(p.name, p.required) for p in flatten_schema(schema)] == [
        ("at", True),
        ("at.city", False),
        ("at.zip", False),
    ]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>One &amp; <b>two</b><br/>three</p>", "One & two three"),
        ("Give `<id>` or <id>, a < b > c", "Give <id> or <id>, a < b > c"),
        ('See [the *guide*](https://x.example/a_(b) "t") and ![](i.png)', "See the *guide* and"),
        ("# Title\n\n**Bold** text\n- item_one\n- __item__", "Title Bold text - item_one - item"),
        ("```json\n{}\n```\nafter", "{} after"),
        ("2 ** 3 ** 4 and snake__case__name", "2 ** 3 ** 4 and snakecasename"),
        ("", ""),
    ],
)
def test_markup_becomes_plain_text(markup: str, text: str) -> None:
    assert plain(markup) == text


def test_markup_of_megabytes_is_read_in_no_time() -> None:
    for piece in ("<a ", "[x](", "**a", "`", "![", "<!--", "&#"):
        assert plain(piece * 100_000)


def test_a_summary_that_the_description_repeats_is_left_out() -> None:
    assert sentences("List orders", "List orders, newest first.") == "List orders, newest first."
    assert sentences("List orders", "Newest first") == "List orders. Newest first"
    assert sentences("List orders.", "", "list orders") == "list orders"
