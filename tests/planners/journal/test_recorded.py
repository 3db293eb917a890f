"""Runs that go on and are replayed: writes of unknown effect, credentials, and calls of a model, of which what failed fails again."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from egotools import ClientDeadlineError, PermissionDeniedError, Security, SecurityScheme
from egotools.calling.http_invoker import HttpInvoker
from egotools.calling.invoker import ToolInvoker
from inference.chat import ChatModel, Completion, Message, Sample
from ontology.errors import BudgetExceededError, InvalidArgumentError, ModelError
from planners.calls.tool_access import CallPipeline, PythonInvoker, never
from planners.journal.recorded import RecordedInvoker, Steps, recorded_model
from planners.journal.run_journal import RunJournal, open_run_journal, read_run_journal
from tests.harness.http_server import Arrived, Loopback, Reply
from tests.inference.scripted_chat import ScriptedChat
from tests.planners.calls import shop_tools
from tests.planners.calls.tools import MODULE, NOTHING, http, python


def recording(inner: ToolInvoker, journal: RunJournal) -> RecordedInvoker:
    return RecordedInvoker(inner, Steps(journal, faults="retried"))


async def test_a_write_without_an_answer_is_asked_about_and_one_that_was_never_sent_is_not(tmp_path: Path) -> None:
    shop_tools.RELEASE.clear()
    wait = python("wait", NOTHING)
    try:
        with open_run_journal(tmp_path / "run") as journal:
            invoker = recording(PythonInvoker([MODULE], timeout_s=0.1), journal)
            with pytest.raises(ClientDeadlineError):
                await invoker.invoke(wait, {})
            with pytest.raises(PermissionDeniedError, match="nobody confirmed"):
                inner = CallPipeline(PythonInvoker([MODULE]), never)
                await recording(inner, journal).invoke(python("book"), {"material": "tin"})
    finally:
        shop_tools.RELEASE.set()
    with open_run_journal(tmp_path / "run") as journal:
        invoker = recording(PythonInvoker([MODULE]), journal)
        with pytest.raises(PermissionDeniedError, match="not known whether it was done"):
            await invoker.invoke(wait, {})
        assert (await invoker.invoke(python("book"), {"material": "tin"})).ok


@pytest.mark.parametrize(
    "credential", ["token-of-this-test", "user:password-of-this-test", ("user", "password-of-this-test")]
)
async def test_no_credential_is_in_a_journal_even_where_the_server_repeats_it(
    tmp_path: Path, credential: str | tuple[str, str]
) -> None:
    kind = ("http", "basic") if ":" in credential or isinstance(credential, tuple) else ("http", "bearer")
    security = (Security(schemes=(SecurityScheme(key="key", type=kind[0], scheme=kind[1]),)),)
    tool = http("orders", NOTHING, "GET")
    tool = replace(tool, call=replace(tool.call, security=security))
    secrets: list[str] = []

    def repeated(arrived: Arrived) -> Reply:
        secrets.append({name.lower(): value for name, value in arrived.headers.items()}["authorization"].split()[1])
        return Reply(body=json.dumps({"headers": arrived.headers, "rows": [{"id": secrets[-1]}]}).encode())

    with Loopback(repeated) as server, open_run_journal(tmp_path / "run") as journal:
        invoker = HttpInvoker(servers={"": server.url}, credentials={"key": credential})
        answer = await recording(invoker, journal).invoke(tool, {})
    assert answer.body["rows"] == [{"id": "[credential]"}]
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert secrets and not [each for each in (*secrets, "of-this-test") if each.encode() in written]
    assert (tmp_path / "run").stat().st_mode & 0o077 == 0


def ask(model: ChatModel, text: str, seed: int = 0) -> str:
    return model.complete([Message("user", text)], sample=Sample(seed=seed, temperature=0.7)).text


class Failing:
    """Raises its errors in their order."""

    name = "failing"

    def __init__(self) -> None:
        down = ModelError("it is down", subject="here", remedy="Start it")
        self.errors = [down, KeyError("x"), BudgetExceededError("much")]

    def complete(self, messages: Sequence[Message], **options: object) -> Completion:
        raise self.errors.pop(0)


def test_a_failure_fails_again_and_a_budget_that_is_used_up_does_not(tmp_path: Path) -> None:
    with open_run_journal(tmp_path / "run") as journal:
        recorded = recorded_model(Failing(), Steps(journal, faults="kept"))
        for text, kind in (("first", ModelError), ("foreign", ModelError), ("spent", BudgetExceededError)):
            with pytest.raises(kind):
                ask(recorded, text)
    with open_run_journal(tmp_path / "run") as journal:
        recorded = recorded_model(ScriptedChat(["now", "later"]), Steps(journal, faults="kept"))
        with pytest.raises(ModelError, match="it is down") as caught:
            ask(recorded, "first")
        assert (caught.value.subject, caught.value.remedy) == ("here", "Start it")
        with pytest.raises(ModelError, match="KeyError"):
            ask(recorded, "foreign")
        assert [ask(recorded, "spent"), ask(recorded, "spent", seed=1)] == ["now", "later"]
    replayed = recorded_model(None, Steps(read_run_journal(tmp_path / "run"), is_replay=True), name="failing")
    assert [ask(replayed, "spent", seed=1), ask(replayed, "spent")] == ["later", "now"]
    with pytest.raises(InvalidArgumentError, match="does not say what this model gave"):
        ask(replayed, "spent", seed=2)
