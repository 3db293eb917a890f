"""JSON Schema to parameters, and prose out of markup."""

import pytest

from ingest.sources.json_schema.schema import flatten
from ingest.sources.prose import plain


def test_the_same_field_in_two_branches_keeps_what_both_say() -> None:
    schema = {
        "oneOf": [
            {"properties": {"at": {"properties": {"city": {"type": "string"}}}}, "required": ["at"]},
            {"properties": {"at": {"properties": {"zip": {"type": "string"}}}}, "required": ["at"]},
        ]
    }
    assert [(p.name, p.required) for p in flatten(schema).parameters] == [
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


def test_a_bound_that_no_float_holds_is_none() -> None:
    (field,) = flatten({"properties": {"n": {"type": "integer", "minimum": -(10**400), "maximum": 9}}}).parameters
    assert dict(field.bounds) == {"maximum": 9}
