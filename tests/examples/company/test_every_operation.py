"""Each operation of the OpenAPI documents answers a call made from its schema, with what its document declares."""

from __future__ import annotations

import re

import pytest

from tests.examples.company.declared_answers import declared, faults
from tests.examples.company.made_arguments import made_arguments
from tests.harness.company import RunningCompany, tools

WRITES_LAST = sorted(declared(), key=lambda each: (declared()[each].method != "GET", each))


@pytest.mark.parametrize("tool_id", WRITES_LAST)
def test_a_call_made_from_the_schema_succeeds_and_answers_what_is_declared(
    company: RunningCompany, tool_id: str
) -> None:
    arguments = made_arguments(company, tool_id, everything=declared()[tool_id].method != "GET")
    status, body = company.call_by_contract(tool_id, arguments)
    assert 200 <= status < 300, (arguments, status, body)
    assert faults(tool_id, status, body) == []


def test_a_record_that_is_not_there_is_404_with_a_problem(company: RunningCompany) -> None:
    for tool_id in [each for each in WRITES_LAST if "{" in declared()[each].path]:
        arguments = made_arguments(company, tool_id, everything=False)
        last = re.findall(r"\{(\w+)\}", declared()[tool_id].path)[-1]
        missing = 999_999 if isinstance(arguments[last], int) else f"{arguments[last]}!"
        status, body = company.call(tool_id, {**arguments, last: missing})
        assert (tool_id, status, body["code"]) == (tool_id, 404, "NOT_FOUND")
        assert faults(tool_id, status, body) == []


def test_a_required_value_that_is_absent_is_400_with_a_problem(company: RunningCompany) -> None:
    for tool_id in WRITES_LAST:
        found = declared()[tool_id]
        arguments = made_arguments(company, tool_id, everything=False)
        inside = set(re.findall(r"\{(\w+)\}", found.path))
        required = set((tools()[tool_id].input_schema or {}).get("required", ()))
        if not required - inside:
            continue
        path = found.path.format_map(arguments)
        answer = company.client.request(found.method, f"{company.url}/{tool_id.split('/')[0]}{path}")
        assert (tool_id, answer.status_code) == (tool_id, 400)
        assert faults(tool_id, 400, answer.json()) == []
