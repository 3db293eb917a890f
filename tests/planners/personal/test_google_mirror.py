"""Gmail and Google Calendar, called by their discovery documents over loopback HTTP, give the edges of the truth."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from datagen.personal.write_personal_data import TODAY, ZONE
from egotools import Tool, build_request
from egotools.calling.http_invoker import HttpInvoker
from egotools.calling.send_call import send_http
from inference import load_encoder
from inference.retry import RetryPolicy
from ingest.sources import read_catalog
from ontology.errors import ToolCallError
from ontology.json_object import as_dict
from ontology.tool_effects import effect_of
from planners.calling.consent import ConsentingInvoker, never
from planners.calling.python_invoker import PythonInvoker
from planners.calling.safe_retries import RetryingInvoker
from planners.dfs.domain import read_domain
from planners.dfs.executor import execute
from planners.dfs.parsing import load_parser
from planners.dfs.tool_resolver import ToolResolver
from planners.finding.tool_finder import ToolFinder
from planners.personal import Fault, PersonalData, index_in_use, personal_tools, refresh_index
from planners.personal.google_calls import google_calls
from planners.personal.google_mirror import CallOperation, mirror_google
from scripts.graph_truth import true_answer
from services.jobs.build import build_snapshot
from tests.harness.servers import client_of
from tests.planners.personal.conftest import Home
from tests.planners.personal.edge_tools import TOOLS, all_of, call_tool, lookup_of
from tests.planners.personal.google_account import GoogleAccount

pytest.importorskip("googleapiclient")

TOKEN = "ya29.secret-of-this-test"
REQUEST = "Find the file folders that contain email attachments from Jane Doe."


@pytest.fixture(scope="module")
def operations() -> Mapping[str, Any]:
    """The operations of the discovery documents by id."""
    tools = read_catalog(["google-discovery:gmail", "google-discovery:calendar"]).tools
    return {tool.id.rpartition("/")[2]: tool for tool in tools}


@pytest.fixture
def account(small_home: Home) -> GoogleAccount:
    return GoogleAccount(small_home.folder)


@pytest.fixture
def call(account: GoogleAccount, operations: Mapping[str, Any]) -> Iterator[CallOperation]:
    with account.served() as url:

        async def operate(operation: str, arguments: Mapping[str, Any]) -> Any:
            tool = operations[operation]
            server = url if operation.startswith("gmail") else f"{url}/calendar/v3"
            request = build_request(
                tool.call, arguments, schema=tool.input_schema, server=server, credentials={"oauth2": "x"}
            )
            answer = await send_http(request)  # type: ignore[arg-type]
            if not answer.ok:
                raise ToolCallError(answer.status, subject=operation)
            return json.loads(answer.body)

        yield operate


@pytest.fixture
def copy(small_home: Home, tmp_path: Path) -> Path:
    """A folder with the cards and the files of the generated data, and no mail and no calendar."""
    for name in ("cards", "files"):
        shutil.copytree(small_home.folder / name, tmp_path / name)
    return tmp_path


def _refresh(folder: Path) -> tuple[Fault, ...]:
    return refresh_index(PersonalData.below(folder, zone=ZONE), folder / "index.sqlite", today=TODAY).faults


async def test_every_edge_is_that_of_the_truth(small_home: Home, copy: Path, call: CallOperation) -> None:
    assert await mirror_google(call, copy) == ()
    assert _refresh(copy) == ()
    with index_in_use(copy / "index.sqlite"):
        for signature, names in TOOLS.items():
            for name, forward in zip(names, (True, False), strict=True):
                asked = sorted(all_of(small_home.truth, signature[0 if forward else 2]))
                found = call_tool(name, lookup_of(signature, forward=forward), asked)
                pairs = {(each["source_id"], each["id"])[:: 1 if forward else -1] for each in found}
                assert pairs == small_home.truth.pairs(*signature), name


async def test_a_message_is_fetched_once_and_gone_when_it_is_gone(
    account: GoogleAccount, copy: Path, call: CallOperation
) -> None:
    await mirror_google(call, copy)
    account.asked.clear()
    removed = account.messages.pop("m3")
    account.messages["new"] = removed.replace(b"Message-ID: <", b"Message-ID: <new-")
    assert await mirror_google(call, copy) == ()
    assert [each for each in account.asked if "format=raw" in each] == ["/gmail/v1/users/me/messages/new?format=raw"]
    names = {path.name for path in (copy / "mail" / "Gmail" / "cur").iterdir()}
    assert names == set(account.messages)


async def test_what_the_account_answers_otherwise_costs_only_itself(
    account: GoogleAccount, copy: Path, call: CallOperation
) -> None:
    account.broken.add("m2")
    account.messages["../../outside"] = b"Subject: x\n\nx"
    good = dict(account.calendars["home"][0])
    account.calendars["home"] = [
        {"id": "no-start", "iCalUID": "no-start"},
        {
            "id": "zone",
            "iCalUID": "zone",
            "start": {"dateTime": "2026-06-01T10:00:00Z", "timeZone": "../../etc/passwd"},
        },
        good | {"recurrence": ["RRULE:FREQ=DAILY;COUNT=2\r\nBEGIN:VEVENT", "X-EVIL:1"]},
        "nothing",  # type: ignore[list-item]
    ]
    account.calendars["gone"] = None  # type: ignore[assignment]
    faults = await mirror_google(call, copy)
    assert [fault.subject for fault in faults] == [
        "message m2",
        "message ../../outside",
        "calendar home#no-start",
        "calendar home#zone",
        "calendar home#nothing",
        "calendar 2",
    ]
    assert _refresh(copy) == ()
    assert not list(copy.rglob("outside"))
    with index_in_use(copy / "index.sqlite"):
        assert personal_tools.count_emails() == len(account.messages) - 2
        assert personal_tools.find_events(name=good["summary"])["total"] >= 1


async def test_without_an_answer_nothing_is_removed(copy: Path, call: CallOperation, account: GoogleAccount) -> None:
    await mirror_google(call, copy)
    before = sorted(path.name for path in copy.rglob("*"))

    async def refused(operation: str, arguments: Mapping[str, Any]) -> Any:
        raise ToolCallError("503 Service Unavailable", subject=operation)

    faults = await mirror_google(refused, copy)
    assert [fault.subject for fault in faults] == ["messages", "calendars"]
    assert sorted(path.name for path in copy.rglob("*")) == before


def _of_client(tool: Any) -> Tool:
    return Tool(
        id=tool.id,
        name=tool.name,
        title="",
        description="",
        namespace=tool.namespace,
        input_schema_json=json.dumps(as_dict(tool.input_schema)),
        call=tool.call,
        effect=effect_of(tool),
    )


@pytest.fixture
def invoked(account: GoogleAccount, operations: Mapping[str, Any]) -> Iterator[CallOperation]:
    """The operations through an invoker, as a program has them: retries, no consent to writes, the token in a credential."""
    with account.served() as url:
        servers = {tool.namespace: url for tool in operations.values()}
        servers |= {
            tool.namespace: f"{url}/calendar/v3" for id_, tool in operations.items() if id_.startswith("calendar")
        }
        invoker = HttpInvoker(servers=servers, credentials={"oauth2": TOKEN})
        policy = RetryPolicy(max_retries=3, base_delay_s=0.001, max_delay_s=0.002)
        tools = [_of_client(tool) for tool in operations.values()]
        yield google_calls(ConsentingInvoker(RetryingInvoker(invoker, policy), never).invoke, tools)


@pytest.mark.slow
async def test_an_account_is_copied_indexed_and_asked_with_a_token_that_is_written_nowhere(
    small_home: Home,
    account: GoogleAccount,
    invoked: CallOperation,
    copy: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    account.refusals = [429, 503]
    assert await mirror_google(invoked, copy) == ()
    assert account.given == {f"Bearer {TOKEN}"}
    assert _refresh(copy) == ()
    domain, modules = read_domain("personal"), ["planners.personal.personal_tools"]
    build_snapshot([f"python:{modules[0]}"], tmp_path / "store", encoder=load_encoder("egotools-minilm-int8.v1"))
    graph = load_parser("rules.v1").parse(REQUEST, domain, TODAY).graph
    async with client_of(tmp_path / "store") as client:
        with index_in_use(copy / "index.sqlite"):
            resolver = ToolResolver(domain, ToolFinder(client), PythonInvoker(modules))
            found = await execute(graph, domain, resolver, resolve_date=lambda _: (None, None))
    wanted = true_answer(graph, small_home.truth, TODAY)
    assert [each.id for each in found.answer] == wanted and wanted
    assert TOKEN not in caplog.text
    assert not [path for path in copy.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


@pytest.mark.parametrize("status", [401, 403, 500])
async def test_a_refusal_is_named_without_the_token(
    account: GoogleAccount, invoked: CallOperation, copy: Path, status: int
) -> None:
    account.refusals = [status] * 2
    faults = await mirror_google(invoked, copy)
    assert [(fault.subject, str(status) in fault.problem) for fault in faults] == [
        ("messages", True),
        ("calendars", True),
    ]
    assert TOKEN not in repr(faults)
    assert await mirror_google(invoked, copy) == ()


async def test_pages_that_go_round_in_a_circle_remove_nothing(
    account: GoogleAccount, copy: Path, call: CallOperation
) -> None:
    await mirror_google(call, copy)
    account.circle = True
    faults = await mirror_google(call, copy)
    assert faults and all("circle" in fault.problem for fault in faults)
    assert len(list((copy / "mail" / "Gmail" / "cur").iterdir())) == len(account.messages)


async def test_a_calendar_that_is_gone_is_gone_and_a_changed_event_is_changed(
    account: GoogleAccount, copy: Path, call: CallOperation
) -> None:
    await mirror_google(call, copy)
    _refresh(copy)
    gone = account.calendars.pop(min(account.calendars))
    changed = next(iter(account.calendars.values()))[0]
    changed["summary"] = "Another name of it"
    assert await mirror_google(call, copy) == ()
    _refresh(copy)
    with index_in_use(copy / "index.sqlite"):
        assert personal_tools.find_events(name="Another name of it")["total"] >= 1
        names = {each["summary"] for items in account.calendars.values() for each in items}
        left = {each["name"] for each in personal_tools.find_events(limit=1_000)["events"]}
        assert left <= names and {each["summary"] for each in gone} - names


async def test_the_user_is_who_the_account_says(tmp_path: Path, call: CallOperation) -> None:
    await mirror_google(call, tmp_path)
    assert _refresh(tmp_path) == ()
    with index_in_use(tmp_path / "index.sqlite"):
        (me, *_) = personal_tools.find_which_emails_involve_me(
            [each["id"] for each in personal_tools.find_emails()["emails"]]
        )["user"]
        assert me["email_addresses"] == ["alex.rivers@example.com"]
