"""The command: what it prints, what it leaves, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from ontology.progress import no_progress
from retrieval.snapshot.publish import published_id
from services.cli.console import stdout
from services.jobs.build import build
from services.jobs.plans import BuildPlan
from tests.conftest import ROOT
from tests.egotools.loopback import Reply, loopback
from tests.services.conftest import Run
from tests.waiting import LIMIT_S, bounded_work, wait_until

CATALOG = ROOT / "examples" / "enterprise" / "catalog"
TABLES = (str(CATALOG / "projects.csv"), str(CATALOG / "support.jsonl"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "store"
    build(BuildPlan(addresses=TABLES, store=folder, encoder="hashing.v1", workers=1), no_progress)
    return folder


def _build(run: Run, *arguments: object) -> tuple[int, str, str]:
    return run("build", *arguments, "--encoder", "hashing.v1", "--workers", 1)


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["build"],
        ["serve"],
        ["search"],
        ["call"],
        ["show"],
        ["diff"],
        ["graph"],
        ["graph", "export"],
        ["validate"],
        ["eval"],
        ["tune"],
        ["datagen"],
    ],
)
def test_every_command_has_help(run: Run, command: list[str]) -> None:
    code, out, _ = run(*command, "--help")
    assert code == 0
    assert "Usage" in out


def test_the_version_is_that_of_the_distribution(run: Run) -> None:
    assert run("--version") == (0, f"egotools {version('egotools')}\n", "")


def test_the_command_imports_no_numeric_library_before_it_sets_the_threads() -> None:
    heavy = ("numpy", "faiss", "onnxruntime", "spacy", "networkx")
    code = f"import sys, services.cli.app; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_build_shows_tables_and_publishes(run: Run, tmp_path: Path) -> None:
    code, out, _ = _build(run, *TABLES, "--out", tmp_path / "store")
    assert code == 0
    for words in ("Documents", "Triples kept", "has_parameter", "Published"):
        assert words in out
    snapshot_id = (tmp_path / "store" / "CURRENT").read_text(encoding="utf-8").strip()
    assert snapshot_id in out
    report = json.loads((tmp_path / "store" / "reports" / f"{snapshot_id}.json").read_text(encoding="utf-8"))
    assert report["tools"] == 38


@pytest.mark.slow
def test_the_same_documents_give_the_same_snapshot_whatever_the_order_workers_and_hash_seed(
    store: Path, tmp_path: Path
) -> None:
    """The first is of this process, one worker and another hash seed."""
    command = [sys.executable, "-m", "services.cli", "build", *TABLES[::-1], "--out", str(tmp_path / "store")]
    done = subprocess.run(
        [*command, "--encoder", "hashing.v1", "--workers", "2", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "0" if os.environ.get("PYTHONHASHSEED") == "12345" else "12345"},
    )
    assert json.loads(done.stdout)["snapshot_id"] == published_id(store)
    assert json.loads(done.stdout)["tools"] == 38


def test_a_changed_catalogue_pays_only_for_what_changed(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "support.jsonl"
    lines = (CATALOG / "support.jsonl").read_text(encoding="utf-8").splitlines()
    table.write_text("\n".join(lines), encoding="utf-8")
    first = json.loads(_build(run, table, "--out", tmp_path / "store", "--json")[1])
    assert first["reused"]["extractions"] == 0
    row = json.loads(lines[0])
    row["description"] = "Opens a new complaint about a broken pump."
    table.write_text("\n".join([json.dumps(row), *lines[1:]]), encoding="utf-8")
    second = json.loads(_build(run, table, "--out", tmp_path / "store", "--json")[1])
    assert second["reused"]["extractions"] == len(lines) - 1
    assert 0 < second["reused"]["vectors"] < second["reused"]["of_vectors"]
    assert second["snapshot_id"] != first["snapshot_id"]
    third = json.loads(_build(run, table, "--out", tmp_path / "fresh", "--json")[1])
    assert third["snapshot_id"] == second["snapshot_id"], "what was reused is what would have been made anew"


def test_bad_documents_are_refused_by_name_and_stop_nothing(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "good.jsonl").write_text(
        '{"name": "list_orders", "description": "List orders", "parameters": []}\n', encoding="utf-8"
    )
    (folder / "empty.json").write_text("", encoding="utf-8")
    (folder / "latin.jsonl").write_bytes(b'{"name": "caf\xe9", "description": "x", "parameters": []}')
    (folder / "broken.yaml").write_text("openapi: 3.0.0\npaths: [", encoding="utf-8")
    (folder / "broken.json").write_text('{"openapi": "3.0.0", "paths": {', encoding="utf-8")
    (folder / "bomb.edmx").write_text(
        '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><edmx:Edmx xmlns:edmx="x">&b;</edmx:Edmx>', encoding="utf-8"
    )
    (folder / "notes.bin").write_bytes(b"\x00\x01")
    code, out, _ = _build(run, folder, "--out", tmp_path / "store", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["tools"] == 1
    refused = {Path(subject.split(":")[0]).name for subject, _, _ in report["rejected_tools"]["all"]}
    assert refused == {"empty.json", "latin.jsonl", "broken.yaml", "broken.json", "bomb.edmx", "notes.bin"}
    assert all(detail for _, _, detail in report["rejected_tools"]["all"])
    code, _, err = _build(run, folder, "--out", tmp_path / "strict", "--strict")
    assert code == 4
    assert "bomb.edmx" in err
    assert not (tmp_path / "strict" / "CURRENT").exists()


def test_a_huge_description_is_read_with_bounded_work(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "huge.jsonl"
    text = "Sends the monthly report of all orders to the supplier. " * 180_000
    assert len(text) > 10_000_000
    table.write_text(json.dumps({"name": "send_report", "description": text, "parameters": []}), encoding="utf-8")
    with bounded_work():
        code, out, _ = _build(run, table, "--out", tmp_path / "store", "--json")
    assert code == 0
    assert json.loads(out)["tools"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["no-such-file.json"], 4, "no-such-file.json"),
        ([TABLES[0], "--encoder", "word2vec"], 2, "minilm-l6-int8.v1"),
        ([TABLES[0], "--extractor", "magic"], 2, "rules"),
        ([TABLES[0], "--extractor", "llm"], 2, "--llm-url"),
        ([TABLES[0], "--graph-store", "oracle:x"], 2, "ladybug"),
        ([TABLES[0], "--ontology", "no-such-ontology.yaml"], 5, "no-such-ontology.yaml"),
    ],
)
def test_build_refuses_with_a_sentence_and_its_exit_code(
    run: Run, tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    given, _, err = run("build", "--out", tmp_path / "store", *arguments)
    assert given == code, err
    assert words in err.replace("\n", " ")
    assert not (tmp_path / "store" / "CURRENT").exists()


def test_an_empty_catalogue_is_not_published(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    code, _, err = _build(run, tmp_path / "nothing", "--out", tmp_path / "store")
    assert code == 4
    assert "nothing" in err
    assert not (tmp_path / "store" / "CURRENT").exists()


def test_a_dead_llm_endpoint_ends_the_build_and_publishes_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference.retry.RetryPolicy.delay_s", lambda policy, retry: 0.0)
    code, _, err = _build(
        run,
        TABLES[0],
        "--out",
        tmp_path / "store",
        "--extractor",
        "llm",
        "--llm-url",
        "http://127.0.0.1:9/v1",
        "--llm-model",
        "m",
    )
    assert code == 10, err
    assert "127.0.0.1:9" in err
    assert not (tmp_path / "store" / "CURRENT").exists()


def test_a_missing_extra_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ladybug", None)
    code, _, err = _build(run, TABLES[0], "--out", tmp_path / "store", "--graph-store", f"ladybug:{tmp_path / 'graph'}")
    assert code == 9
    assert "requirements/default.txt" in err


def test_a_build_fills_a_graph_database_with_the_same_counts(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("ladybug", reason="the extra ladybug is not installed")
    target = tmp_path / "graph"
    code, out, _ = _build(run, TABLES[0], "--out", tmp_path / "store", "--graph-store", f"ladybug:{target}", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["stored"]["nodes"] == report["graph"]["nodes"] > 100
    assert report["stored"]["edges"] == report["graph"]["edges"] > 100
    assert target.exists()


def test_search_prints_why(run: Run, store: Path) -> None:
    code, out, _ = run("search", "send a reminder to everyone whose task is due", "--store", store, "-k", 3)
    assert code == 0
    assert "projects/send_task_deadline_reminder" in out
    assert "matches" in out and "via" not in out.split(), "the evidence is behind --why"
    code, evidence, _ = run(
        "search", "send a reminder to everyone whose task is due", "--store", store, "-k", 3, "--why"
    )
    assert code == 0 and "via" in evidence.split()
    code, out, _ = run("search", "send a reminder to everyone whose task is due", "--store", store, "-k", 3, "--json")
    answer = json.loads(out)
    assert all(0 < len(tool["explanation"].split()) <= 25 and tool["reasons"]["features"] for tool in answer["tools"])
    assert [tool["rank"] for tool in answer["tools"]] == [1, 2, 3]
    assert answer["preset"] == "default"
    assert answer["timings_ms"]["total"] > 0


@pytest.mark.parametrize("width", [30, 80, 240])
def test_search_prints_a_line_for_each_tool_with_its_whole_id(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    asked = ("search", "send a reminder to everyone whose task is due", "--store", store)
    ids = [tool["id"] for tool in json.loads(run(*asked, "--json")[1])["tools"]]
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(stdout, "_width", width)
    _, *lines = run(*asked)[1].splitlines()
    assert [line.split()[2] for line in lines] == ids
    assert width == 30 or max(map(len, lines)) <= width
    assert all(tool in run(*asked, "--why")[1].split() for tool in ids)


def test_search_says_where_it_cannot_tell_how_many_are_enough(run: Run, store: Path) -> None:
    _, out, _ = run("search", "task", "--store", store, "-k", "auto:4", "--preset", "bm25", "--json")
    answer = json.loads(out)
    assert len(answer["tools"]) == 4 and "auto_k" in answer["fallbacks"][0]
    assert answer["answerable_probability"] is None and answer["tools"][0]["probability"] is None
    code, out, _ = run("search", "task", "--store", store, "-k", "auto", "--preset", "bm25")
    assert code == 0 and "auto_k" in out


def test_search_in_the_middle_of_a_task(run: Run, store: Path) -> None:
    asked = ("search", "send a reminder to everyone whose task is due", "--store", store, "-k", 3, "--json")
    first = json.loads(run(*asked)[1])["tools"][0]["id"]
    code, out, _ = run(*asked, "--done", first, "--done", "gone/tool", "--have", "project_id=PR-17", "--have", "task=")
    answer = json.loads(out)
    assert code == 0 and len(answer["tools"]) == 3
    assert first not in [tool["id"] for tool in answer["tools"]]
    assert answer["fallbacks"] == ["done: the catalogue has no tool gone/tool"]


def test_search_shows_the_needs_whoever_wrote_them(run: Run, store: Path) -> None:
    needs = ["send a reminder of a task", "list the overdue tasks"]
    written = json.dumps({"choices": [{"message": {"content": json.dumps({"needs": needs})}}]}).encode()
    asked = ("search", "chase everyone who is late", "--store", store, "--json")
    given = json.loads(run(*asked, "--need", needs[0], "--need", needs[1])[1])
    with loopback(lambda arrived: Reply(body=written)) as server:
        model = ("--query-model", f"openai:m@{server.url}/v1")
        rewritten = json.loads(run(*asked, *model)[1])
        shown = run(*asked[:-1], *model)[1]
    assert rewritten["tools"] == given["tools"] and rewritten["need_results"] == given["need_results"]
    assert [each["need"] for each in given["need_results"]] == needs and all(need in shown for need in needs)
    down = json.loads(run(*asked, "--query-model", "openai:m@http://127.0.0.1:9/v1")[1])
    assert down["tools"] and not down["need_results"] and down["fallbacks"][-1].startswith("no query model: ")


def test_search_can_be_filtered(run: Run, store: Path) -> None:
    _, out, _ = run("search", "close it", "--store", store, "--filter", "namespace=support", "--json")
    tools = json.loads(out)["tools"]
    assert tools
    assert all(tool["id"].startswith("support/") for tool in tools)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["x", "-k", "0"], 2, "k: it must be"),
        (["x", "-k", "-3"], 2, "k: it must be"),
        (["x", "-k", "10000"], 2, "k: it must be"),
        (["x", "-k", "many"], 2, "auto"),
        (["x", "-k", "auto:many"], 2, "auto"),
        ([""], 2, "letter or digit"),
        (["?!"], 2, "letter or digit"),
        (["🎉"], 2, "letter or digit"),
        (["x" * 100_000], 2, "characters"),
        (["x", "--preset", "magic"], 2, "paper"),
        (["x", "--filter", "nonsense"], 2, "KEY=VALUE"),
        (["x", "--have", "nonsense"], 2, "NAME=VALUE"),
        (["x", "--have", "=nonsense"], 2, "NAME=VALUE"),
        (["x", "--done", ""], 2, "done: "),
        (["x", "--query-model", "gpt"], 2, "openai:MODEL@"),
        (["x", "--query-model", "openai:m@http://127.0.0.1:9/v1", "--need", "find a task"], 2, "--query-model: "),
        (["x", "--query-model", "openai:m@http://127.0.0.1:9/v1", "--server", "127.0.0.1:9"], 2, "serve --query-model"),
    ],
)
def test_search_refuses_what_cannot_be_asked(
    run: Run, store: Path, arguments: list[str], code: int, words: str
) -> None:
    given, _, err = run("search", "--store", store, *arguments)
    assert given == code
    assert words in err


def test_errors_are_json_when_asked_for(run: Run, tmp_path: Path) -> None:
    code, _, err = run("search", "x", "--store", tmp_path, "--json")
    said = json.loads(err)
    assert code == said["exit_code"] == 7
    assert said["error"] == "NotFoundError"
    assert "egotools build" in said["remedy"]


def test_show_finds_an_entity_by_any_of_its_forms(run: Run, store: Path) -> None:
    keys = set()
    for form in ("task", "Tasks", "TASK"):
        code, out, _ = run("show", form, "--store", store, "--json")
        assert code == 0
        keys |= {node["key"] for node in json.loads(out)["nodes"]}
    assert "business_object:task" in keys
    code, out, _ = run("show", "tasks", "--store", store)
    assert "surface forms" in out
    assert "has_entity" in out


def test_show_knows_tools_and_says_when_it_does_not(run: Run, store: Path) -> None:
    code, out, _ = run("show", "projects/send_task_deadline_reminder", "--store", store)
    assert code == 0
    assert "has_parameter" in out
    assert run("show", "unicorn", "--store", store)[0] == 7


def test_show_says_what_a_value_looks_like(run: Run, tmp_path: Path) -> None:
    row = {"id": "desk/get", "name": "get", "parameters": [{"name": "incident_id", "example": "INC0012345"}]}
    (tmp_path / "desk.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert run("build", tmp_path / "desk.jsonl", "--out", tmp_path / "store", "--encoder", "hashing.v1")[0] == 0
    code, out, _ = run("show", "INC0099887", "--store", tmp_path / "store", "--json")
    assert code == 0
    (value,) = json.loads(out)["values"]
    assert (value["pattern"], value["entities"]) == (r"INC\d{7}", ["incident"])
    assert [(use["tool_id"], use["parameter"]) for use in value["parameters"]] == [("desk/get", "incident_id")]
    code, out, _ = run("show", "INC0099887", "--store", tmp_path / "store")
    assert code == 0
    assert "looks like INC" in out
    assert run("show", "XYZ0099887", "--store", tmp_path / "store")[0] == 7


@pytest.mark.parametrize("ending", ["graphml", "json", "cypher", "ttl"])
def test_graph_export_writes_every_format(run: Run, store: Path, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"graph.{ending}"
    code, out, _ = run("graph", "export", target, "--store", store, "--json")
    said = json.loads(out)
    assert code == 0
    assert said["nodes"] > 100
    assert target.stat().st_size > 10_000


def test_graph_export_refuses_an_unknown_format(run: Run, store: Path, tmp_path: Path) -> None:
    code, _, err = run("graph", "export", tmp_path / "graph.xlsx", "--store", store)
    assert code == 2
    assert "graphml" in err


def test_validate_names_every_fault_of_an_ontology_with_its_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: mine\nextends: default\nentity_types:\n  ship: {is_a: vessel}\n"
        "predicates:\n  sails_to:\n    domain: [ship]\n    range: [harbour]\n    colour: blue\n",
        encoding="utf-8",
    )
    code, out, _ = run("validate", "--ontology", path, "--json")
    said = json.loads(out)
    assert code == 5
    lines = {finding["where"].rsplit(":", 1)[1]: finding["problem"] for finding in said["findings"]}
    assert "vessel" in lines["4"]
    assert any("harbour" in problem for problem in lines.values())
    assert any("colour" in problem for problem in lines.values())
    assert run("validate", "--ontology", ROOT / "ontology" / "default.yaml")[0] == 0


def test_validate_checks_documents_and_snapshots(run: Run, store: Path, tmp_path: Path) -> None:
    assert run("validate", *TABLES)[0] == 0
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"name": "ok", "parameters": []}\n{"description": "no name", "parameters": []}\n', encoding="utf-8")
    code, out, _ = run("validate", bad)
    assert code == 4
    assert "bad.jsonl:2" in out
    assert run("validate", "--store", store)[0] == 0
    assert run("validate")[0] == 2


def test_a_served_snapshot_answers_like_the_local_one(run: Run, store: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    command = [
        sys.executable,
        "-m",
        "services.cli",
        "serve",
        "--store",
        str(store),
        "--port",
        "0",
        "--ready-file",
        str(ready),
        "--baselines",
    ]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    try:
        wait_until(ready.exists, process=server)
        address = json.loads(ready.read_text(encoding="utf-8"))["address"]
        for preset in ("default", "paper", "bm25-regex-title"):
            asked = ("search", "who still has open tasks", "--preset", preset, "--json")
            remote: dict[str, Any] = json.loads(run(*asked, "--address", address)[1])
            local: dict[str, Any] = json.loads(run(*asked, "--store", store)[1])
            assert [(t["id"], t["why"]) for t in remote["tools"]] == [(t["id"], t["why"]) for t in local["tools"]]
            assert remote["snapshot_id"] == local["snapshot_id"]
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(LIMIT_S) == 0


def test_an_interrupted_build_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "services.cli",
        "build",
        str(CATALOG),
        "--out",
        str(tmp_path / "store"),
        "--no-cache",
    ]
    build = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: list(tmp_path.glob("store/.building-*")), process=build)
    build.send_signal(signal.SIGINT)
    _, err = build.communicate(timeout=LIMIT_S)
    assert build.returncode == 130
    assert "Interrupted" in err
    assert list((tmp_path / "store").iterdir()) == []


def test_a_server_that_is_not_there_is_an_error(run: Run) -> None:
    code, _, err = run("search", "x", "--address", "127.0.0.1:9")
    assert code == 14
    assert "127.0.0.1:9" in err
    code, _, err = run("search", "x", "--address", "u:S3CRET@127.0.0.1:9")
    assert code == 14
    assert "S3CRET" not in err
