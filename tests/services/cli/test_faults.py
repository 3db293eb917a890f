"""What a command says where something that it needs is missing: the next command to type; and it writes nothing by then."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ontology.errors import MissingExtraError, NotFoundError
from tests.conftest import ROOT
from tests.harness.chat import Reply, chat_server
from tests.harness.commands import Run
from tests.harness.editions import build_editions
from tests.harness.waiting import LIMIT_S

WITH_STORE = (
    "search x --store STORE",
    "show x --store STORE",
    "plan x --store STORE",
    "call a/b --store STORE",
    "mcp --store STORE",
    "rest --store STORE",
    "learn --store STORE",
    "learn --forget --store STORE",
    "tune STORE --rollback",
    "eval STORE --queries examples/enterprise/requests.jsonl --out OUT",
    "datagen STORE --out OUT",
    "export OUT.json --store STORE",
    "admin snapshots --store STORE",
    "admin rollback --store STORE",
    "admin findings list --store STORE",
    "admin findings approve x --reason r --store STORE",
)


@pytest.mark.parametrize("command", WITH_STORE)
def test_a_folder_that_is_no_store_is_left_as_it_is(run: Run, tmp_path: Path, command: str) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "notes.md").write_text("notes", encoding="utf-8")
    words = command.replace("STORE", str(folder)).replace("OUT", str(tmp_path / "out")).split()
    code, out, err = run(*words)
    assert (code, out) == (NotFoundError.exit_code, "")
    assert f"egotools build {folder} --out store" in err and len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["documents", "notes.md"]


def test_serving_a_folder_that_is_no_store_writes_nothing_and_logs_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("notes", encoding="utf-8")
    command = [sys.executable, "-m", "services.cli", "serve", "--store", str(tmp_path), "--port", "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert (done.returncode, done.stdout) == (NotFoundError.exit_code, "")
    assert re.fullmatch(r"Error: \S+: this folder is no store: .* egotools build .*\n", done.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]


@pytest.fixture(scope="module")
def refusing() -> Iterator[str]:
    """The options of a model whose endpoint demands a key."""
    with chat_server(lambda request, number: Reply(status=401)) as server:
        yield f"--llm-url {server.base_url} --llm-model m"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("faults")
    document = ROOT / "examples" / "enterprise" / "catalog" / "hr.yaml"
    return {"STORE": build_editions(folder / "store", "alpha").path, "DOCUMENT": document}


@pytest.fixture
def places(inputs: dict[str, object], tmp_path: Path) -> dict[str, object]:
    return {**inputs, "OUT": tmp_path / "out"}


@pytest.mark.parametrize(
    ("extra", "package", "command"),
    [
        ("web", "starlette", "serve --store STORE --web"),
        ("rest", "starlette", "rest --store STORE"),
        ("mcp", "mcp", "mcp --store STORE"),
        ("mcp", "mcp", "validate mcp:x"),
        ("aws", "botocore", "validate aws:s3"),
        ("neo4j", "neo4j", "export neo4j:bolt://127.0.0.1:1 --store STORE"),
        ("neo4j", "neo4j", "ask x --graph neo4j:bolt://127.0.0.1:1"),
        ("ray", "ray", "build DOCUMENT --out OUT --on ray"),
        ("torch", "sentence_transformers", "build DOCUMENT --out OUT --encoder sentence-transformers:x/y"),
        ("rdf", "pyoxigraph", "solve x --llm-url http://127.0.0.1:1/v1 --llm-model m --graph rdf --store STORE"),
    ],
)
def test_a_missing_extra_is_installed_by_the_command_that_is_named(
    run: Run,
    places: dict[str, object],
    refusing: str,
    extra: str,
    package: str,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    code, out, err = run(*(places.get(word, word) for word in command.replace("MODEL", refusing).split()))
    assert (code, out) == (MissingExtraError.exit_code, "")
    assert f"pip install -r requirements/{extra}.txt" in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("build DOCUMENT --out OUT --extractor llm", "--llm-url http://HOST:PORT/v1 --llm-model MODEL"),
        ("build DOCUMENT --out OUT --extractor llm --llm-model m", "--llm-url http://HOST:PORT/v1"),
        ("build DOCUMENT --out OUT --extractor llm MODEL", "export OPENAI_API_KEY="),
        ("datagen STORE --out OUT --generator llm", "--llm-url http://HOST:PORT/v1 --llm-model MODEL"),
        ("plan x --domain personal --parser llm.v1", "--llm-url http://HOST:PORT/v1 --llm-model MODEL"),
        ("plan x --domain personal --parser llm.v1 --store STORE MODEL", "export OPENAI_API_KEY="),
        ("solve x --store STORE --llm-model m", "Give --llm-url"),
        ("solve x --store STORE MODEL", "export OPENAI_API_KEY="),
        ("ask x --graph store:STORE --llm-model m", "Give --llm-url"),
    ],
)
def test_a_missing_model_or_key_is_given_by_what_is_named(
    run: Run, places: dict[str, object], refusing: str, command: str, remedy: str
) -> None:
    words = command.replace("store:STORE", f"store:{places['STORE']}").replace(" MODEL", f" {refusing}").split()
    code, _, err = run(*(places.get(word, word) for word in words))
    assert code and remedy in err.splitlines()[-1], err
