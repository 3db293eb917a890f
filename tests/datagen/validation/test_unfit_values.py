"""Values that no record of the tool can have, and tools beside the one that a request needs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from datagen.interfaces import RequestValidator
from datagen.synthetic_request import SampleValue, SyntheticRequest
from datagen.tool_path import ToolPath

Values = Mapping[str, str]
STOCK, ROOM, CASE = "warehouse/transferStock", "facilities/bookRoom", "support/open_case"


def reason(validators: Mapping[str, RequestValidator], text: str, tools: str, label: str, values: Values) -> str:
    """Why the error check fails a request, or empty; a key of the values is an input of the first tool, or ``tool parameter``."""
    path = tuple(tools.split())
    stated = [(*key.split(), value) if " " in key else (path[0], key, value) for key, value in values.items()]
    request = SyntheticRequest(
        id="1",
        text=text,
        request_class=label,
        path=ToolPath(tools=path),
        values=tuple(SampleValue(tool=tool, parameter=name, value=value) for tool, name, value in stated),
    )
    verdict = validators["error"].validate(request)
    return "" if verdict.passed else verdict.reason


@pytest.mark.parametrize(
    ("text", "tool", "values", "said"),
    [
        (
            "Move 5 of M-2041 from LP02 to LP02",
            STOCK,
            {"qty": "5", "materialId": "M-2041", "fromPlant": "LP02", "toPlant": "LP02"},
            "both",
        ),
        (
            "Move 5 of M-2041 from LP02 to LP03",
            STOCK,
            {"qty": "5", "materialId": "M-2041", "fromPlant": "LP02", "toPlant": "LP03"},
            "",
        ),
        ("Book room LS-1.07 on 3 May from 15:00 to 14:00", ROOM, {"roomId": "LS-1.07"}, "ends before it begins"),
        ("Book room LS-1.07 on 3 May from 14:00 to 15:00", ROOM, {"roomId": "LS-1.07"}, ""),
        ("Open a case of severity nine for C-1310: leak", CASE, {"severity": "nine", "subject": "leak"}, "none of"),
        ("Open a case of severity two for C-1310: leak", CASE, {"severity": "two", "subject": "leak"}, ""),
        ("List tax codes for Friday", "finance/listTaxCodes", {"country": "Friday"}, "is of the kind date"),
        ("List tax codes for Poland", "finance/listTaxCodes", {"country": "Poland"}, ""),
        (
            "List the milestones of Pump Hall 2",
            "projects/list_milestones",
            {"project_id": "Pump Hall 2"},
            "is a name",
        ),
    ],
)
def test_values_that_do_not_fit(
    validators: Mapping[str, RequestValidator], text: str, tool: str, values: Values, said: str
) -> None:
    found = reason(validators, text, tool, "single-intent", values)
    assert said in found if said else not found


@pytest.mark.parametrize(
    "readers",
    ["procurement/getSupplier procurement/getSupplierRisk", "procurement/getSupplierRisk procurement/getSupplier"],
)
def test_the_tool_that_tests_the_condition_is_needed_and_the_other_reader_is_not(
    validators: Mapping[str, RequestValidator], readers: str
) -> None:
    values = {f"{tool} supplierId": "40188" for tool in (*readers.split(), "procurement/blockSupplier")}
    values["procurement/blockSupplier reason"] = "debts"
    text = "If the risk of vendor 40188 is high, block it because of debts"
    found = reason(validators, text, f"{readers} procurement/blockSupplier", "conditional-multi-step", values)
    assert "procurement/getSupplier " in found


def test_a_record_that_is_read_again_is_superfluous(validators: Mapping[str, RequestValidator]) -> None:
    tools = "sales/searchCustomers sales/getCustomer sales/listQuotes"
    found = reason(
        validators, "Find customer Acme, then list their quotes", tools, "explicit-multi-step", {"q": "Acme"}
    )
    assert "sales/getCustomer" in found
