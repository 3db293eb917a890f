"""The pages are true: their links lead somewhere, their commands are understood, run in their order and print what is shown, their programs
and files work as they stand.
"""

import asyncio
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
import yaml
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from datagen import SyntheticRequest, ToolPath
from datagen.writing import Writer
from inference import HashingEncoder
from ingest.sources import read_catalog
from ingest.sources.sources_file import check_sources
from ontology import check_ontology, load_ontology
from planners.kgot.tools.tool_set import ToolSet
from retrieval.snapshot.reader import open_snapshot
from services.cli.app import app
from services.jobs.build import build_snapshot
from services.server.server import Server
from services.server.settings import ServerSettings
from tests.conftest import ROOT
from tests.docs.pages import blocks, page, printed, served, words
from tests.harness.commands import Run, json_lines
from tests.harness.company import CATALOG
from tests.harness.company import running as running_company
from tests.harness.engines import serving
from tests.harness.issuers import Authority, write_pair
from tests.planners.graphseek.agent.http_run import calls
from tests.planners.graphseek.conftest import company_store as company_store
from tests.planners.kgot.run_fakes import StepServer


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the commands run in, which has the examples."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


# -- access, overlays, sources -----------------------------------------------------------------------------------------


async def test_the_commands_policy_and_client_of_access_work_together(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page("docs/access.md")
    create, serve = blocks(text, "bash")
    token = run(*shlex.split(create)[1:])[1]
    # The tools in memory have namespaces of their own, and no filters by id.
    policy = blocks(text, "yaml")[0].replace("sales, procurement", "crm").replace('      id: ["!sales/cancel*"]\n', "")
    Path("access.yaml").write_text(policy, encoding="utf-8")
    authority = Authority()
    write_pair(place, authority.issue("server"))
    Path("ca.pem").write_bytes(authority.pem)
    exported = dict(re.findall(r"^export (\w+)=(\S+)$", serve, re.MULTILINE))
    settings = ServerSettings.from_env(exported, host="0.0.0.0", port=0)
    monkeypatch.setenv("ORDERS_TOKEN", token.strip())
    shown = io.StringIO()
    async with serving(None, replace(settings, host="127.0.0.1")) as server:
        script = blocks(text, "python")[0].replace("localhost:50051", server.address)

        def call() -> None:
            with contextlib.redirect_stdout(shown):
                exec(compile(script, "access.md", "exec"), {})

        await asyncio.to_thread(call)
    assert shown.getvalue() == "2 tools exist for this caller\nUNAUTHENTICATED\n"


def test_the_example_of_an_overlay_takes_effect(tmp_path: Path) -> None:
    (example,) = blocks(page("docs/overlay.md"), "yaml")
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(example, encoding="utf-8")
    documents = [str(CATALOG / name) for name in ("hr.yaml", "procurement.yaml")]  # all that the page speaks of
    report = build_snapshot(documents, tmp_path / "store", encoder=HashingEncoder(), overlays=[overlay])
    assert report.overlay is not None and report.overlay.warnings == ()
    assert report.overlay.hidden == ("procurement/extendPurchaseContract",)
    snapshot = open_snapshot(tmp_path / "store")
    assert snapshot.tool(snapshot.tool_number("procurement/getSupplierScorecard")).title == "Supplier performance"


def test_the_examples_of_sources_are_read(place: Path) -> None:
    first, credentials = blocks(page("docs/sources.md", before="## What is read from a document"), "yaml")
    file = place / "sources.yaml"
    file.write_text(first, encoding="utf-8")
    catalog = read_catalog([str(file)])
    assert {tool.namespace for tool in catalog.tools} == {"procurement", "hr"}
    assert {tool.metadata.get("owner") for tool in catalog.tools} == {"purchasing team", None}
    file.write_text(credentials, encoding="utf-8")
    sources, faults = check_sources(file)
    assert sources is not None and faults == [] and [source.name for source in sources] == ["tickets", "billing"]


# -- calls -------------------------------------------------------------------------------------------------------------

Placed = Callable[[str], str]
CALLING = page("docs/calling.md")
CALL = blocks(CALLING, "bash")[1].splitlines()


@pytest.fixture(scope="module")
def placed(hr_store: Path, hr_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Placed]:
    """Puts the addresses and the store of what runs in the place of those of the page."""
    with running_company(tmp_path_factory.mktemp("company")) as company:
        own = {"127.0.0.1:50051": hr_server.address, "http://127.0.0.1:8010": company.url, "store-hr": str(hr_store)}

        def put(text: str) -> str:
            for old, new in own.items():
                text = text.replace(old, new)
            return text

        yield put


def test_the_program_that_calls_prints_what_it_says(placed: Placed, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks(CALLING, "python")
    exec(placed(program), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# ((?:POST|\d).*)$", program, re.MULTILINE)


def test_the_commands_that_call_print_what_is_shown(
    run: Run, placed: Placed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = next(body for body in blocks(CALLING, "text") if body.startswith("POST"))
    assert printed(run, placed(CALL[0])) == shown
    monkeypatch.chdir(tmp_path)
    subprocess.run(CALL[1], shell=True, check=True)
    answered = printed(run, placed(CALL[2]))
    assert "200 OK" in answered and "anna.kowalska@larkfield.example" in answered


@pytest.mark.slow
def test_the_commands_of_the_company_run_in_their_order(run: Run, place: Path) -> None:
    text, address = page("examples/enterprise/README.md"), "http://127.0.0.1:8010"
    serve, ask = (body.splitlines() for body in blocks(text, "bash"))
    (build,) = re.findall(r"^    (\.venv/bin/egotools build .+)$", text, re.MULTILINE)
    assert f"--port {address.rpartition(':')[2]}" in serve[0]
    with served(words(serve[0]), place) as company:
        _, planned, written, called = (printed(run, each.replace(address, company["url"])) for each in (build, *ask))
    assert "Answer: " in planned and "finance/searchSupplierInvoices" in planned
    assert "201 Created" in written and '"status": "pending"' in written
    assert "Acme Pumps GmbH" in called


# -- servers -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_quickstart_of_rest_works(hr_store: Path, tmp_path: Path) -> None:
    text = page("docs/serving.md", after="## REST", before="## The page")
    (commands,) = blocks(text, "bash")
    serve, *ask = commands.splitlines()
    (tmp_path / "store").symlink_to(hr_store)
    assert "--port 8080" in serve
    with served(words(serve), tmp_path) as said:
        asked = [shlex.split(command.replace("http://127.0.0.1:8080", said["url"])) for command in ask]
        done = [subprocess.run([*each, "--noproxy", "*"], capture_output=True, check=True) for each in asked]
        late = httpx.post(f"{said['url']}/v1/outcomes", json={"request_id": "a"}, trust_env=False)
    found, plan, catalog, document = (json.loads(each.stdout) for each in done)
    assert len(found["tools"]) == 3 and all(tool["explanation"] for tool in found["tools"])
    assert len(catalog["tool_ids"]) == 5 and catalog["snapshot_id"] == found["snapshot_id"]
    routes = set(re.findall(r"`(?:GET|POST) (/[^`?]+)", text))
    assert routes == set(document["paths"])
    assert plan["steps"][-1]["tool_id"] == "hr/grantSpotAward" and plan["snapshot_id"] == found["snapshot_id"]
    assert late.status_code == 409  # as the page says of --store
    assert not any("call" in route for route in routes)  # likewise


MCP = page("docs/mcp.md")
OWN = ["search_tools", "get_tool", "call_tool", "plan_tools"]


@pytest.fixture
def of_here(hr_store: Path, tmp_path: Path) -> Placed:
    """Puts the command of this checkout, and a store, in the place of those of the page on MCP."""
    script = tmp_path / "egotools"
    script.write_text(f'#!/bin/sh\ncd {ROOT}\nexec {sys.executable} -m services.cli "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    own = {"/home/you/egotools/.venv/bin/egotools": str(script), "/home/you/egotools/store": str(hr_store)}
    return lambda text: re.sub("|".join(map(re.escape, own)), lambda found: own[found[0]], text)


async def test_the_configuration_of_mcp_starts_a_server_that_takes_its_credential_from_there(of_here: Placed) -> None:
    (configuration,) = blocks(MCP, "json")
    (server,) = json.loads(of_here(configuration))["mcpServers"].values()
    (said,) = re.findall(r'`("--credential", [^`]+)` in `args` it is `("env": [^`]+)`', MCP)
    server["args"] += json.loads(f"[{said[0]}]")
    alone = subprocess.run([server["command"], *server["args"]], capture_output=True, text=True, input="", check=False)
    assert alone.returncode == 2 and said[1] in alone.stderr  # the error says what the page says
    server["env"] = json.loads(f"{{{said[1]}}}")["env"]
    async with Client(stdio_client(StdioServerParameters(**server))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == OWN


def test_the_program_of_mcp_finds_tools(of_here: Placed, capfd: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks(MCP, "python")
    exec(compile(of_here(program), "mcp.md", "exec"), {"__name__": "__main__"})
    listed, *found = capfd.readouterr().out.splitlines()
    assert listed == str(OWN)
    assert len(found) == 5
    assert all(re.match(r"hr/\w+ (read|idempotent|change) ", line) for line in found)


# -- plans -------------------------------------------------------------------------------------------------------------

PLANNER = page("docs/planner.md")
PERSONAL, COURSES = (body.splitlines() for body in blocks(PLANNER, "bash"))


@pytest.mark.slow
def test_the_commands_of_plan_print_what_is_shown(run: Run, place: Path) -> None:
    (shown,) = (body.splitlines() for body in blocks(PLANNER, "text"))
    program, *generate = shlex.split(PERSONAL[0])
    assert program == ".venv/bin/python"
    subprocess.run([sys.executable, *generate], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    _, answered, dry, recorded, replayed = (printed(run, each) for each in PERSONAL[1:])
    assert answered.splitlines()[: len(shown)] == shown
    assert "Answer: 6" in answered and "files/Documents/Taxes/2024" in answered
    assert "Nothing was called" in dry
    assert "lease-13.txt" in recorded and "lease-13.txt" in replayed
    written = {each["kind"] for each in json_lines(place / "out" / "run.jsonl")}
    assert {"run_begun", "find_ended", "call_ended", "run_ended"} <= written


@pytest.mark.slow
def test_the_files_of_a_domain_make_the_answers(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for kind, name in {"python": "courses.py", "yaml": "courses.yaml", "json": "graph.json"}.items():
        (place / name).write_text(blocks(PLANNER, kind)[-1], encoding="utf-8")
    _, last, teacher = (printed(run, each) for each in COURSES)
    sys.modules.pop("courses", None)
    assert "c3" in last and "Italian wines" in last and "Answer: 1" in last
    assert "Ines Moreau" in teacher and "Answer: 1" in teacher
    assert "missing" not in last + teacher


# -- tasks and graphs --------------------------------------------------------------------------------------------------

SOLVING, _, ASKING = page("docs/solve.md").partition("## Asking a graph")
COMPANY, OWN_GRAPH = (body.splitlines() for body in blocks(ASKING, "bash"))


def test_the_task_that_needs_no_model_runs(run: Run) -> None:
    (command,) = blocks(SOLVING, "bash")
    assert "Recorded" in printed(run, command)


async def test_the_function_of_the_example_is_registered_and_called() -> None:
    (program,) = blocks(SOLVING, "python")
    names: dict[str, Any] = {}
    exec(program, names)
    tools: ToolSet = names["tools"]
    (id_,) = tools.ids
    assert (await tools.call(id_, {"part": "bolt"})).body == {"left": 7}
    assert [each.name for each in tools.tools()] == ["stock"]


@pytest.fixture
def asking(place: Path, company_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store stands for the one that the command builds of the same documents, with another encoder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    monkeypatch.setenv("EGOTOOLS_STORE", str(company_store))


@pytest.mark.slow
@pytest.mark.usefixtures("asking")
def test_questions_of_the_company_print_what_is_shown_and_others_are_refused(run: Run) -> None:
    first_shown, last_shown = blocks(ASKING, "text")
    first, second, third, fourth = (printed(run, each) for each in COMPANY)
    assert first.startswith(first_shown) and first.endswith(last_shown)
    assert "MATCH" in second and "Search employees" in second
    assert "and 2 more rows" in third
    told = json.loads(fourth)
    assert told["outcome"] == "answered" and all(name in told["answer"] for name in ("Safety", "inventory"))
    table = ASKING[ASKING.index("| question of the tool graph |") : ASKING.index("## Journals")]
    questions = re.findall(r"^\| ([^|]+\?) \|", table, re.MULTILINE)
    assert len(questions) >= 5
    for each in questions:
        command = shlex.join([".venv/bin/egotools", "ask", each, "--json"])
        assert json.loads(printed(run, command))["outcome"] == "answered", each
    code, _, err = run("ask", "Why is the sky blue?")
    assert code == 2 and "could not be read" in err


@pytest.mark.usefixtures("asking")
def test_a_graph_of_your_own_is_described_asked_and_replayed_and_its_operator_is_taken(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, asked, again = (printed(run, each) for each in OWN_GRAPH)
    assert "North" in asked and "South" in asked and asked == again
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setattr("inference.load_encoder", lambda *_, **__: HashingEncoder())
    (operator,) = blocks(ASKING, "python")
    file = Path("out/operators/shops_of_item.py")
    file.parent.mkdir()
    file.write_text(operator, encoding="utf-8")
    told = {"answer": "At South.", "of": ["t1"]}
    with StepServer(turn=[calls(("shops_of_item", {"item_name": "pump"})), told]) as server:
        out = printed(run, f".venv/bin/{blocks(ASKING, 'sh')[-1]}".replace("http://127.0.0.1:8000", server.url))
    assert "operator shops_of_item" in out and "South" in out and "North" not in out


README, EXTENDING = page("README.md"), page("docs/extending.md")
_LINK = re.compile(r"\]\((?!https?://)([^)#]+)")


def test_every_link_leads_somewhere(subtests: pytest.Subtests) -> None:
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]):
        with subtests.test(path.name):
            links = _LINK.findall(path.read_text(encoding="utf-8"))
            assert [link for link in links if not (path.parent / link).exists()] == []


def _printed_commands() -> list[str]:
    """Each ``egotools`` line of a block that a reader may paste, of every page."""
    pages = [README, *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md")))]
    lines = [
        line for text in pages for block in blocks(text, "bash") for line in block.replace("\\\n", " ").splitlines()
    ]
    found = [re.search(r"(?:^|/bin/)egotools (.*)", line.split(" #")[0]) for line in lines]
    return sorted({match[1].strip() for match in found if match})


def test_every_printed_command_is_understood() -> None:
    root = typer.main.get_command(app)
    unknown = []
    for line in _printed_commands():
        command: Any = root
        for word in re.split(r"\s[|>&]", line)[0].split():
            below = command.get_command(None, word) if hasattr(command, "get_command") else None
            command = below or command
        if hasattr(command, "get_command") and "run" in command.list_commands(None):
            command = command.get_command(None, "run")  # it may be left out
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        given = [word.split("=")[0] for word in line.split() if word[:2] == "--"]
        unknown += [f"{option} of {line}" for option in given if option not in {*known, "--help", "--version"}]
    assert unknown == []


def test_the_client_example_of_the_readme_runs(hr_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks(README, "python")
    names: dict[str, Any] = {}
    exec(example.replace("127.0.0.1:50051", hr_server.address), names)
    assert "hr/" in capsys.readouterr().out
    assert len(names["schemas"]) == 5
    assert all(schema["type"] == "function" for schema in names["schemas"])


def _extension(name: str) -> Any:
    for block in blocks(EXTENDING, "python"):
        if f"class {name}" in block:
            names: dict[str, Any] = {}
            exec(block, names)
            return names[name]
    raise AssertionError(name)


def test_the_extractor_and_encoder_examples_build_a_snapshot(tmp_path: Path) -> None:
    ontology = load_ontology()
    report = build_snapshot(
        [str(ROOT / "examples/enterprise/catalog/projects.csv")],
        tmp_path,
        encoder=_extension("LengthEncoder")(),
        extractor=_extension("StructureExtractor")(ontology),
        ontology=ontology,
    )
    assert report.triples.kept["has_parameter"] > 20
    assert "acts_on" not in report.triples.kept


def test_the_example_of_a_writer_writes() -> None:
    writer: Writer = _extension("PlainWriter")()
    made = writer.write(ToolPath(tools=("hr/tip",)), "single-intent", id="r", seed=0)
    assert isinstance(made, SyntheticRequest)
    assert (made.id, made.text, made.generator) == ("r", "Use hr/tip", "plain.v1")


def test_the_ontology_example_is_sound(tmp_path: Path) -> None:
    (text,) = blocks(EXTENDING, "yaml")
    path = tmp_path / "shipping.yaml"
    path.write_text(text, encoding="utf-8")
    ontology, faults = check_ontology(path)
    assert faults == []
    assert ontology is not None
    assert ontology.allows("vessel", "sails_to", "location")
    assert ontology.metadata_predicates["ship"] == "has_vessel"
    assert yaml.safe_load(text)["extends"] == "default"


def test_the_example_of_a_measured_system_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = blocks(page("docs/measuring.md"), "python")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["CompleteRecall@3", "CompleteRecall@5", "CompleteRecall@10"]
    assert (tmp_path / "report" / "runs" / "by-name.jsonl").exists()


@pytest.mark.slow
def test_the_worked_example_is_what_the_code_gives() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.worked_example", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
