"""Bad ids, wrong kinds, SQL in values, big and broken bodies: a refusal that is a Problem, and nothing else changes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples.company.mock_company import MAX_BODY, MockCompany
from tests.examples.company.declared_answers import faults
from tests.harness.company import CATALOG, RunningCompany

INJECTIONS = ["' OR '1'='1", "x'; DROP TABLE records; --", "\x00", "../../etc/passwd"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def unserved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockCompany]:
    company = MockCompany(CATALOG, tmp_path_factory.mktemp("unserved"))
    yield company
    company.close()


@pytest.mark.parametrize("text", INJECTIONS)
def test_sql_and_other_code_in_values_is_text(company: RunningCompany, text: str) -> None:
    found = company.ask("procurement/searchSuppliers", q=f"zz{text}")
    assert found == {"suppliers": []}
    assert company.call("procurement/getSupplier", {"supplierId": text})[0] == 404
    status, body = company.call("procurement/onboardSupplier", {"legalName": text, "tradingName": text})
    assert (status, body["legalName"]) == (201, text)
    assert company.ask("procurement/getSupplier", supplierId=body["supplierId"])["legalName"] == text
    assert len(company.ask("procurement/searchSuppliers", q="", pageSize=200)["suppliers"]) >= 24


@pytest.mark.parametrize(
    ("content", "media_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b'{"reason": NaN}', "application/json", 400),
        (b'{"reason": 7}', "application/json", 400),
        (b'{"reason": "x", "until": "2026-02-30"}', "application/json", 400),
        (b"[" * 200_000, "application/json", 400),
        (b'{"reason": "x"}', "text/plain", 415),
        (b" " * (MAX_BODY + 1), "application/json", 413),
    ],
)
def test_a_broken_body_is_refused_and_changes_nothing(
    company: RunningCompany, content: bytes, media_type: str, status: int
) -> None:
    before = company.ask("procurement/getSupplier", supplierId="10300044")
    url = f"{company.url}/procurement/suppliers/10300044/block"
    answer = company.client.post(url, content=content, headers={"content-type": media_type})
    assert answer.status_code == status, answer.text
    assert faults("procurement/blockSupplier", status, answer.json()) == []
    assert company.ask("procurement/getSupplier", supplierId="10300044") == before


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/procurement/suppliers?q=a&nonsense=1", 400),
        ("/procurement/suppliers?q=a&status=unknown", 400),
        ("/procurement/suppliers?q=a&pageSize=" + "9" * 5000, 400),
        ("/finance/periods/2026/" + "9" * 400, 404),
        ("/procurement/suppliers/%2e%2e", 404),
        ("/procurement/suppliers/a%2Fb", 404),
        ("/hr/employees?query=a&pageToken=-7", 200),
    ],
)
def test_a_wrong_path_or_parameter_is_refused(company: RunningCompany, path: str, status: int) -> None:
    answer = company.client.get(company.url + path)
    assert answer.status_code == status, answer.text
    assert status == 200 or {"code", "message"} == set(answer.json())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_call_ends_in_anything_but_an_answer_or_a_problem(unserved: MockCompany, data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from(unserved.operations))
    texts = st.text(max_size=12) | st.sampled_from(
        ["10300042", "E10482", "SO-104238", "10", "2026", "-1", "", "2026-11-20"]
    )
    path = {name: data.draw(texts) for name in operation.path_names}
    names = [each.name for each in operation.parameters if each.place == "query"]
    query = data.draw(
        st.dictionaries(st.sampled_from([*names, "x"]), st.lists(texts, min_size=1, max_size=2), max_size=3)
    )
    answer = unserved.answer(operation, path, query, json.dumps(data.draw(_bodies(operation.body))).encode())
    assert answer.status in (operation.status, 400, 404, 409)
    assert faults(f"{operation.system}/{operation.id}", answer.status, answer.body) == []


def _bodies(schema: Any) -> st.SearchStrategy[Any]:
    """Bodies with the members of a schema, and values that often are of its kind."""
    if not schema or "properties" not in schema:
        return JSON
    right = {
        "string": st.sampled_from(["a", "10300042", "E10482", "LP01", "2026-12-01", "SP-10432"]),
        "number": st.floats(-1e9, 1e9),
        "integer": st.integers(-5, 5),
        "array": st.lists(JSON, max_size=2),
        "object": st.just({"amount": 5, "currency": "EUR"}),
        "boolean": st.booleans(),
    }
    members = {
        name: (st.sampled_from(inner["enum"]) if "enum" in inner else right.get(str(inner.get("type")), JSON)) | JSON
        for name, inner in schema["properties"].items()
    }
    required = set(schema.get("required", ()))
    return st.fixed_dictionaries(
        {name: value for name, value in members.items() if name in required},
        optional={name: value for name, value in members.items() if name not in required},
    )


@pytest.mark.parametrize(("host", "status"), [("evil.example", 421), ("localhost:8", 200), ("[::1]:8", 200)])
def test_a_server_on_loopback_answers_to_no_other_name(company: RunningCompany, host: str, status: int) -> None:
    """A web site whose name is made to point to this machine reads nothing and changes nothing."""
    answer = company.client.get(f"{company.url}/procurement/suppliers", params={"q": ""}, headers={"host": host})
    assert answer.status_code == status
