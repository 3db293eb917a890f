"""The policy of an operator: its file, and what it decides before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from egotools import PermissionDeniedError, Tool
from egotools.calling.tool_answer import ToolAnswer
from ontology.errors import InvalidArgumentError
from planners.calls.tool_access import CallPipeline, CallPolicy, CallRule, read_policy
from tests.planners.calls.tools import NOTHING, http

READ, WRITE, REPLACE = http("orders", NOTHING, "GET"), http("orders"), http("order", NOTHING, "PUT")
FILE = """
exclude: {tool: "hr/wipe*", namespace: [legacy]}
rules:
  - {namespace: finance, effect: [idempotent, change], decision: deny}
  - {tool: [hr/approve*, "hr/fire?"], decision: ask}
  - {tool: "hr/*", decision: allow}
  - {namespace: secrets, decision: deny}
"""


def tool(id_: str, like: Tool = WRITE) -> Tool:
    return replace(like, id=id_, namespace=id_.partition("/")[0])


def written(tmp_path: Path, text: str, **mode: bool) -> CallPolicy:
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return read_policy(path, **mode)


@pytest.mark.parametrize(
    ("given", "decision"),
    [
        (tool("finance/pay"), "deny"),
        (tool("finance/pay", REPLACE), "deny"),
        (tool("finance/list", READ), "allow"),
        (tool("hr/approveLeave"), "ask"),
        (tool("hr/approvals", READ), "allow"),
        (tool("hr/fire1", READ), "ask"),
        (tool("hr/hire"), "allow"),
        (tool("hr/wipeAll", READ), "deny"),
        (tool("legacy/list", READ), "deny"),
        (tool("secrets/list", READ), "deny"),
        (tool("shop/book"), "ask"),
        (tool("shop/orders", READ), "allow"),
        (replace(tool("shop/orders", READ), effect=""), "ask"),  # of a server that does not say
        (replace(tool("finance/list", READ), effect=""), "deny"),
    ],
)
def test_the_first_rule_that_matches_decides(tmp_path: Path, given: Tool, decision: str) -> None:
    assert written(tmp_path, FILE).decision(given) == decision


def test_a_mode_answers_what_no_rule_names_and_no_rule(tmp_path: Path) -> None:
    policy = written(tmp_path, FILE, confirmed=True)
    assert policy.decision(tool("shop/book")) == "allow"
    assert policy.decision(tool("hr/approveLeave")) == "ask"
    assert policy.decision(tool("finance/pay")) == "deny"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "rules:\n  - {tool: a, decision: allow}\n  - {tools: a, decision: deny}",
            "line 3: a rule has an unknown key 'tools'",
        ),
        ("rules: []\ndefault: deny", "line 2: the policy has an unknown key 'default'"),
        ("rules:\n  - {tool: a, decision: maybe}", "line 2: decision is 'maybe' (write one of allow, ask, deny)"),
        ("rules:\n  - {tool: a}", "line 2: decision is ''"),
        (
            "rules:\n  - {effect: write, decision: deny}",
            "line 2: there is no effect 'write' (known: read, idempotent, change)",
        ),
        ("rules:\n  - tool: []\n    decision: allow", "line 2: tool is empty"),
        ("rules:\n  - {tool: a, tool: b, decision: deny}", "line 2: a rule has the key 'tool' twice"),
        ("exclude: {tools: a}", "line 1: exclude has an unknown key 'tools' (known: effect, namespace, tool)"),
        ("exclude: {tool: []}", "line 1: tool is empty"),
        ("rules: deny", "line 1: rules must be a list"),
        ("rules:\n  - deny", "line 2: a rule must be a mapping"),
        ("{}", "line 1: the policy has no rules"),
        ("", "line 1: the file is empty"),
        ("rules: [", "line 1: invalid YAML"),
    ],
)
def test_faults_of_a_file_are_said_with_their_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        written(tmp_path, text)
    assert said in caught.value.problem
    assert caught.value.subject.endswith("policy.yaml")


class _Kept:
    def __init__(self) -> None:
        self.called: list[str] = []

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        self.called.append(tool.id)
        return ToolAnswer(ok=True, status="ok", body=None)


async def test_what_is_refused_is_not_asked_about() -> None:
    inner, asked = _Kept(), list[str]()

    async def ask(given: Tool, arguments: Mapping[str, Any]) -> bool:
        asked.append(given.id)
        return True

    policy = CallPolicy(
        rules=(CallRule(decision="deny", tools=("*/pay",)), CallRule(decision="ask", effects=("read",)))
    )
    invoker = CallPipeline(inner, ask, policy)
    with pytest.raises(PermissionDeniedError) as caught:
        await invoker.invoke(tool("finance/pay"), {})
    assert (caught.value.reason, asked, inner.called) == ("CALL_DENIED", [], [])
    await invoker.invoke(tool("finance/list", READ), {})
    assert asked == inner.called == ["finance/list"]
