"""The call pipeline: the operator's policy, consent, limits of a run and retries, over servers on loopback."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import yaml

from egotools import OverloadedError, PermissionDeniedError, Tool, UnavailableError
from egotools.calling.http_invoker import HttpInvoker
from egotools.calling.invoker import ToolAnswer
from inference.retry import RetryPolicy
from ontology.errors import InvalidArgumentError
from planners.calls.tool_access import CallLimits, CallPipeline, CallPolicy, CallRule, PythonInvoker, never, read_policy
from tests.harness.http_server import Arrived, Loopback, Reply
from tests.planners.calls import shop_tools
from tests.planners.calls.tools import MODULE, NOTHING, http, python

READ, WRITE, REPLACE = http("orders", NOTHING, "GET"), http("orders"), http("order", NOTHING, "PUT")
ORDER = {"material": "steel"}
QUICK = RetryPolicy(max_retries=3, base_delay_s=0.001, max_delay_s=0.002, max_retry_after_s=2.0)


# The policy.

POLICY = yaml.safe_load(Path(__file__).with_name("policy.yaml").read_text("utf-8"))


def tool(id_: str, like: Tool = WRITE) -> Tool:
    return replace(like, id=id_, namespace=id_.partition("/")[0])


def written(tmp_path: Path, text: str, **mode: bool) -> CallPolicy:
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return read_policy(path, **mode)


def test_the_first_rule_that_matches_decides(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for id_, effect, decision, confirmed in POLICY["decisions"]:
        with subtests.test(ascii(id_)):
            given = tool(id_, {"read": READ, "idempotent": REPLACE}.get(effect, WRITE))
            given = given if effect else replace(tool(id_, READ), effect="")  # of a server that does not say
            assert written(tmp_path, POLICY["file"]).decision(given) == decision
            assert written(tmp_path, POLICY["file"], confirmed=True).decision(given) == confirmed


@pytest.mark.parametrize(("text", "said"), POLICY["faults"])
def test_faults_of_a_policy_name_the_line_and_its_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        written(tmp_path, text)
    assert said in caught.value.problem
    assert caught.value.subject.endswith("policy.yaml")


# Consent.


class Kept:
    """Keeps what it is sent."""

    def __init__(self, body: Any = None) -> None:
        self.called: list[str] = []
        self.body = body

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        self.called.append(tool.id)
        return ToolAnswer(ok=True, status="ok", body=self.body)


async def test_what_is_refused_is_not_asked_about() -> None:
    inner, asked = Kept(), list[str]()

    async def ask(given: Tool, arguments: Mapping[str, Any]) -> bool:
        asked.append(given.id)
        return True

    rules = (CallRule(decision="deny", tool=("*/pay",)), CallRule(decision="ask", effect=("read",)))
    calls = CallPipeline(inner, ask, CallPolicy(rules=rules))
    with pytest.raises(PermissionDeniedError) as caught:
        await calls.invoke(tool("finance/pay"), {})
    assert (caught.value.reason, asked, inner.called) == ("CALL_DENIED", [], [])
    await calls.invoke(tool("finance/list", READ), {})
    assert asked == inner.called == ["finance/list"]


OVERRIDE = {"type": "object", "properties": {"X-HTTP-Method-Override": {"type": "string"}}}


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        (WRITE, ORDER),
        (http("orders", OVERRIDE, "GET"), {"X-HTTP-Method-Override": "DELETE"}),
        (http("purgeOrders", NOTHING, "GET"), {}),
    ],
    ids=["write", "write in the clothes of a read", "write by its name"],
)
async def test_a_write_that_nobody_confirms_is_not_sent(given: Tool, arguments: Mapping[str, Any]) -> None:
    with Loopback() as server:
        calls = CallPipeline(HttpInvoker(servers={"": server.url}), never)
        with pytest.raises(PermissionDeniedError, match="nothing was sent"):
            await calls.invoke(given, arguments)
        assert server.arrived == []
        assert (await calls.invoke(READ, {})).ok  # nobody is asked about reads
        assert len(server.arrived) == 1


async def test_whoever_is_asked_sees_the_call_and_one_question_at_a_time() -> None:
    asked: list[tuple[str, Mapping[str, Any]]] = []
    open_questions = 0

    async def ask(tool: Tool, arguments: Mapping[str, Any]) -> bool:
        nonlocal open_questions
        open_questions += 1
        assert open_questions == 1
        await asyncio.sleep(0)
        asked.append((tool.id, arguments))
        open_questions -= 1
        return bool(arguments["material"] != "gold")

    calls = CallPipeline(PythonInvoker([MODULE]), ask)
    made = [calls.invoke(python("book"), {"material": each}) for each in ("steel", "gold", "tin")]
    steel, gold, tin = await asyncio.gather(*made, return_exceptions=True)
    assert isinstance(gold, PermissionDeniedError)
    assert isinstance(steel, ToolAnswer) and isinstance(tin, ToolAnswer)
    assert sorted(arguments["material"] for _, arguments in asked) == ["gold", "steel", "tin"]


# Retries.


def failing(times: int, **reply: Any) -> Callable[[Arrived], Reply]:
    left = [Reply(**reply)] * times
    return lambda arrived: left.pop() if left else Reply()


@pytest.mark.parametrize(
    ("given", "status", "sent", "ended"),
    [
        *((tool, status, 3, "200") for tool in (READ, REPLACE) for status in (429, 503)),
        *((WRITE, status, 1, str(status)) for status in (429, 503)),
        *((READ, status, 1, str(status)) for status in (400, 404, 500)),
    ],
)
async def test_only_what_is_safe_is_called_again(given: Tool, status: int, sent: int, ended: str) -> None:
    with Loopback(failing(2, status=status)) as server:
        calls = CallPipeline(HttpInvoker(servers={"": server.url}), retries=QUICK, limits=CallLimits(calls=1))
        answer = await calls.invoke(given, ORDER if given is WRITE else {})
        assert (len(server.arrived), answer.status[:3]) == (sent, ended)


@pytest.mark.parametrize("as_date", [False, True])
async def test_too_long_a_wait_ends_the_call_with_its_answer(as_date: bool) -> None:
    header = formatdate(time.time() + 600, usegmt=True) if as_date else "90"
    with Loopback(failing(1, status=503, headers={"Retry-After": header})) as server:
        answer = await CallPipeline(HttpInvoker(servers={"": server.url}), retries=QUICK).invoke(READ, {})
        assert (answer.retry_after, len(server.arrived)) == (header, 1)


@pytest.mark.parametrize(("given", "attempts"), [(READ, 4), (WRITE, 1)])
async def test_a_connection_that_breaks_off(given: Tool, attempts: int) -> None:
    with Loopback(lambda arrived: Reply(raw=b"", body=b"")) as server:
        calls = CallPipeline(HttpInvoker(servers={"": server.url}), retries=QUICK)
        with pytest.raises(UnavailableError):
            await calls.invoke(given, ORDER if given is WRITE else {})
        assert len(server.arrived) == attempts


# Limits of a run, and clean answers.


async def test_a_run_above_its_limit_calls_nothing() -> None:
    calls = CallPipeline(PythonInvoker([MODULE]), limits=CallLimits(calls=1))
    await calls.invoke(python("book"), ORDER)
    with pytest.raises(OverloadedError, match="limit of 1 calls"):
        await calls.invoke(python("book"), ORDER)
    assert calls.calls == 1


async def test_a_call_in_flight_is_given_up_when_the_seconds_of_the_run_are_over() -> None:
    shop_tools.RELEASE.clear()
    try:
        calls = CallPipeline(PythonInvoker([MODULE]), limits=CallLimits(seconds=0.2))
        for given, arguments in ((python("wait", NOTHING), {}), (python("book"), ORDER)):
            with pytest.raises(OverloadedError, match=r"0\.2 seconds"):
                await calls.invoke(given, arguments)
        assert calls.calls == 1
    finally:
        shop_tools.RELEASE.set()


async def test_an_answer_can_be_written_as_strict_json() -> None:
    deep: Any = "x"
    for _ in range(150):
        deep = [deep]
    body = {"a": [float("nan"), 10**5_000, 1.5], "b\ud800": "x\ud800y", "deep": deep}
    answer = await CallPipeline(Kept(body)).invoke(READ, {})
    assert answer.body["a"] == [None, "[an integer of more than 3,900 digits]", 1.5]
    assert answer.body["b?"] == "x?y"
    text = json.dumps(answer.body, allow_nan=False, ensure_ascii=False).encode()
    assert b"nested more than 100 levels deep" in text
