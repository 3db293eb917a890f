"""Typed values of a request: which text is one, of which kind, where; on any text, in linear time."""

from pathlib import Path

import pytest

from ontology.value_shape import ShapeUse, ValueShape
from retrieval.index.value_shapes import ValueShapes, write_value_shapes
from retrieval.query.request import MAX_QUERY_CHARS
from retrieval.query.typed_values import SELF, find_values
from tests.harness.waiting import bounded_work

VALUES: list[tuple[str, str, str]] = [
    ("close case C-21066 please", "identifier", "C-21066"),
    ("chase 4500118277.", "identifier", "4500118277"),
    ("detach cus_NffrFeUfNV2Hib, it is expired", "identifier", "cus_NffrFeUfNV2Hib"),
    ("purge 19f06b6a-3ace-4315-b086-499a0e521b76", "uuid", "19f06b6a-3ace-4315-b086-499a0e521b76"),
    ("revert 3f2c9ab on main", "hex digest", "3f2c9ab"),
    ("fork acme/web for me", "repository", "acme/web"),
    ("show src/app/main.c now", "file", "src/app/main.c"),
    ("list /var/log/nginx", "path", "/var/log/nginx"),
    ("open (report.pptx)", "file", "report.pptx"),
    ("read https://github.com/acme/web?tab=1.", "url", "https://github.com/acme/web?tab=1"),
    ("ask jan.novak@contoso.com's team", "email", "jan.novak@contoso.com"),
    ("ping 203.0.113.20", "ip", "203.0.113.20"),
    ("who owns status.nordwind.io?", "domain", "status.nordwind.io"),
    ('commit it as "Fix the tests, then ship"', "quoted", '"Fix the tests, then ship"'),
    ("rename it to ‘Data platform’", "quoted", "‘Data platform’"),
    ("run `make all, then test` there", "quoted", "`make all, then test`"),
    ("run `make all; ls` there", "code", "`make all; ls`"),
    ("close `PO-4711` please", "identifier", "PO-4711"),
    ("call `GET /orders/{orderId}/items`", "path", "/orders/{orderId}/items"),
    ("tell #releases", "channel", "#releases"),
    ("assign @octo-cat", "handle", "@octo-cat"),
    ("rotate DEPLOY_TOKEN", "variable", "DEPLOY_TOKEN"),
    ("wake me at 10am", "time", "10am"),
    ("meet on the 12th", "date", "the 12th"),
    ("meet next Friday", "date", "next Friday"),
    ("meet on 2025-06-03", "date", "2025-06-03"),
    ("pay 180 eur", "amount", "180 eur"),
    ("pay $1,200.50 now", "amount", "$1,200.50"),
    ("call +49 30 1234567", "phone", "+49 30 1234567"),
    ("tag v1.9.2", "version", "v1.9.2"),
    ("merge release/1.9 into main", "branch", "release/1.9"),
    ("wire DE89370400440532013000", "iban", "DE89370400440532013000"),
    ("show my payslips", SELF, "my"),
]


def test_a_value_is_found_with_its_kind_and_its_place(subtests: pytest.Subtests) -> None:
    for text, kind, value in VALUES:
        with subtests.test(ascii(text)):
            (found,) = find_values(text)
            assert (found.kind, found.text) == (kind, value)
            assert text[found.start : found.end] == value


@pytest.mark.parametrize(
    "text",
    [
        "create a purchase order and/or an invoice",
        "toggle read/write access, on/off",
        "don't close the customers' cases, it's Jan's job",
        "a well-known e-mail problem: state-of-the-art",
        "show me the top five items; I want them now",
        "getLeaveBalance purchase_order UserProfile",
        "What is this?! ... -- ***",
    ],
)
def test_words_are_no_values(text: str) -> None:
    assert find_values(text) == ()


def _shapes(folder: Path) -> ValueShapes:
    uses = (
        ShapeUse(shape=ValueShape(r"C\-\d{5}"), tool="crm/close", parameter="case", entity="case"),
        ShapeUse(shape=ValueShape(r"Z\d{3}"), tool="fi/pay", parameter="terms", entity="payment term"),
    )
    write_value_shapes(folder, uses, {"crm/close": 0, "fi/pay": 1})
    return ValueShapes(folder, 2)


UNITS: list[str] = [
    *"\"'`“/.1#a \n«é",
    *(
        "a@",
        "a/",
        "1.",
        "1 ",
        "+1 ",
        "a.b.",
        "@a",
        "A_",
        "x1-",
        "$1,",
        "1,",
        "a-",
        "~/",
        "0-",
        "() ",
        "my ",
        "the ",
        "I am ",
        "next ",
    ),
    *("C-21066 ", "http://", "1:00 ", "DE89 ", "arn:", "jan 1 ", "12345678"),
]


def test_the_work_is_linear_in_the_length_of_a_hostile_text(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for unit in UNITS:
        with subtests.test(ascii(unit)):
            text = unit * (MAX_QUERY_CHARS // len(unit))
            shapes = _shapes(tmp_path)
            with bounded_work():
                find_values(text, shapes)
                find_values(f"order {text} x", None)
