"""The shipped multi-step requests: their calls, with values taken from the answers before them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.conftest import ROOT
from tests.harness.company import RunningCompany

FILE = ROOT / "examples" / "enterprise" / "company_requests.jsonl"


@dataclass(frozen=True)
class CompanyRequest:
    """A request, the calls that answer it, and the answer as values at paths of the calls' answers."""

    id: str
    request: str
    calls: tuple[Mapping[str, Any], ...]
    answer: Mapping[str, Any]


def read_requests() -> tuple[CompanyRequest, ...]:
    """The requests of the file."""
    rows = (json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines())
    return tuple(CompanyRequest(row["id"], row["request"], tuple(row["calls"]), row["answer"]) for row in rows)


def value_at(answers: list[Any], path: str) -> Any:
    """The value at ``$2.invoices.*.invoiceId``: of the second call's answer, that member of each invoice."""
    number, *parts = path.removeprefix("$").split(".")
    return _inside(answers[int(number) - 1], parts)


def _inside(value: Any, parts: list[str]) -> Any:
    if not parts:
        return value
    if parts[0] == "*":
        found = [_inside(item, parts[1:]) for item in value]
        return [each for item in found for each in item] if "*" in parts[1:] else found
    return _inside(value[int(parts[0])] if isinstance(value, list) else value[parts[0]], parts[1:])


def run(company: RunningCompany, request: CompanyRequest) -> list[Any]:
    """Make the calls of a request; a list where a call takes one value makes a call for each, and lists their answers."""
    answers: list[Any] = []
    for call in request.calls:
        arguments = {
            name: value_at(answers, value) if isinstance(value, str) and value.startswith("$") else value
            for name, value in call["arguments"].items()
        }
        several = [name for name, value in call["arguments"].items() if isinstance(value, str) and ".*" in value]
        made = [{**arguments, several[0]: each} for each in arguments[several[0]]] if several else [arguments]
        found = []
        for each in made:
            status, body = company.call_by_contract(call["tool"], each)
            assert 200 <= status < 300, (request.id, call["tool"], each, status, body)
            found.append(body)
        answers.append(found if several else found[0])
    return answers
