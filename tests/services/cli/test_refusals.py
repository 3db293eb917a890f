"""What a command says where it cannot do what it is asked, or something that it needs is missing; and it writes nothing by then."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from inference import HashingEncoder
from ontology.errors import MissingExtraError, NotFoundError
from retrieval.snapshot.publish import current_snapshot
from services.cli.app import REMOVED
from services.jobs.build import build_snapshot
from tests.conftest import ROOT
from tests.eval.planted import written
from tests.harness.chat import Reply, chat_server
from tests.harness.commands import Run
from tests.services.cli.csv_plants import write_plants
from tests.services.cli.test_plan import DOMAIN, GRAPH
from tests.services.jobs.test_examination import BAD, CLEAN

SECRET = "s3cr3t-value"
MODEL = "--llm-url http://127.0.0.1:1/v1 --llm-model m"
LLM_OPTIONS = "--llm-url http://HOST:PORT/v1 --llm-model MODEL"
_PLAN = "plan --domain DOMAIN --store STORE --graph QUERY --dry-run"
_EVAL = "eval STORE -q REQUESTS -o OUT"
_APPROVE = "admin findings approve --store HELD"
# Exit code, what is said, and the command line; words in capitals are places.
REFUSED: tuple[tuple[int, str, str], ...] = (
    (4, "no-such-file.json", "build no-such-file.json --out OUT"),
    (2, "minilm-l6-int8.v1", "build API --out OUT --encoder word2vec"),
    (2, "rules", "build API --out OUT --extractor magic"),
    (2, f"Add {LLM_OPTIONS}", "build API --out OUT --extractor llm"),
    (5, "no-such-ontology.yaml", "build API --out OUT --ontology no-such-ontology.yaml"),
    *(
        (2, "names no chat model", f"build API --out OUT --phrases {address}")
        for address in ("openai:", "openai:model", "model@http://h/v1", "openai:@http://h/v1", "openai:m@")
    ),
    (2, "Missing argument", "validate"),
    (2, "Did you mean 'build'", "buld"),
    (2, "k: it must be", "search x --store STORE -k 0"),
    (2, "auto", "search x --store STORE -k many"),
    (2, "letter or digit", "search '' --store STORE"),
    (2, "characters", f"search {'x' * 100_000} --store STORE"),
    (2, "paper", "search x --store STORE --preset magic"),
    (2, "KEY=VALUE", "search x --store STORE --filter nonsense"),
    (2, "NAME=VALUE", "search x --store STORE --have nonsense"),
    (2, "NAME=VALUE", "search x --store STORE --have =nonsense"),
    (2, "done: ", "search x --store STORE --done ''"),
    (7, "has the shipped weights already, and nothing was changed", "tune STORE --rollback"),
    (7, "There is no other one to name: nothing was changed", "admin rollback --store STORE"),
    (14, "127.0.0.1:9", "search x --address 127.0.0.1:9"),
    (14, "127.0.0.1:9", f"search x --address u:{SECRET}@127.0.0.1:9"),
    (2, "--env T: it is not known to which session", "call x --session a=mcp:a --session b=mcp:b --env 'T=${SECRET}'"),
    (2, "--header c.T: it is not known to which session", "call x --session a=mcp:a --header 'c.T=${SECRET}'"),
    (2, "--header T: it is not known to which session", "call x --header 'T=${SECRET}'"),
    (2, "--session: there are two addresses", "call x --session a=mcp:a --session a=mcp:b"),
    (2, "no network", "call x --allow-network 10.0.0.1/8"),
    (2, "not taken from the command line", f"call x --credential key={SECRET}"),
    (2, "no address", "call x --base-url shop"),
    (2, "without TLS and access control", "serve --store STORE --host 0.0.0.0 --port 0"),
    (2, "Serve the store that it is in", "serve --store SNAPSHOT --port 0"),
    (7, "egotools build", "serve --store . --host 0.0.0.0 --port 0 --insecure"),
    (2, "--insecure", "rest --server 127.0.0.1:1 --host 0.0.0.0 --port 0"),
    (2, "--tls-cert", "mcp --server 127.0.0.1:1 --http --host 0.0.0.0 --port 0"),
    (2, "--session", "mcp --server 127.0.0.1:1 --session office=nowhere"),
    (2, "--credential", f"mcp --server 127.0.0.1:1 --credential key={SECRET}"),
    (2, "would have no effect", "plan 'reserve a slot' --store STORE --today 2026-01-01"),
    (2, "none is made", "plan 'reserve a slot' --store STORE --yes"),
    (2, "would have no effect", "plan 'reserve a slot' --store STORE --max-calls 3"),
    (2, "none is made", "plan 'reserve a slot' --store STORE --python os"),
    (2, "neither a goal nor a need nor a request", "plan --store STORE"),
    (7, "warehouse/none", "plan --store STORE --goal warehouse/none"),
    (2, "--execute", "plan --store STORE --goal hr/getManager --yes"),
    (2, "--domain", f"{_PLAN} --domain ''"),
    (2, "there is no such domain", f"{_PLAN} --domain nothing"),
    (2, "cannot be read", f"{_PLAN} --graph none.json"),
    (2, "YYYY-MM-DD", f"{_PLAN} --today tomorrow"),
    (2, "needs --journal", f"{_PLAN} --replay"),
    (2, "--base-url", f"{_PLAN} --base-url ftp://x"),
    (2, "--session", f"{_PLAN} --session x"),
    (2, "not taken from the command line", f"{_PLAN} --credential key={SECRET}"),
    (7, "nowhere", f"{_PLAN} --store /nowhere"),
    (16, "did not answer", f"{_PLAN} --server 127.0.0.1:1"),
    (2, "solve --demo", "solve"),
    (2, "there is no task", f"solve '  ' {MODEL}"),
    (2, "it needs --journal", "solve q --replay"),
    (2, "'x' is not known", f"solve q {MODEL} --retrieve x"),
    (2, "'x' is not known", f"solve q {MODEL} --noise x"),
    (2, "no graph store", f"solve q {MODEL} --graph mysql"),
    (2, "stands in memory", f"solve q {MODEL} --graph=ladybug:x"),
    (2, "stands in memory", "solve --tasks TASKS --graph ladybug"),
    (2, "--llm-model: it needs --llm-url. Give --llm-url", "solve q --llm-model m"),
    (2, "--llm-url: it needs --llm-model", "solve q --llm-url http://127.0.0.1:1/v1"),
    (2, "--workers: it needs --tasks", "solve q --workers 2"),
    (2, "--out: it needs --tasks", "solve q --out OUT"),
    (2, "--on: it needs --tasks", "solve q --on ray"),
    (2, "it needs a folder", f"solve --tasks TASKS {MODEL}"),
    (2, "a store of its own", f"solve --tasks TASKS --out OUT {MODEL} --graph rdf:http://127.0.0.1:1"),
    (2, "no place", f"solve --tasks TASKS --out OUT {MODEL} --on mars"),
    (2, "cannot be read", f"solve q {MODEL} --file gone"),
    (2, "cannot be read", "solve --replay --journal gone"),
    (2, "there is no question", "ask ' '"),
    (2, "no graph has the address", "ask x --graph nowhere:x"),
    (8, "/absent", "ask x --graph ladybug:/absent"),
    (7, "/absent", "ask x --graph store:/absent"),
    (2, "--llm-model", "ask x --llm-url http://127.0.0.1:9/v1"),
    (2, "it needs --llm-url. Give --llm-url", "ask x --llm-model m"),
    (2, "it needs --llm-model", "ask x --operators ."),
    (2, "it needs --journal", "ask --replay"),
    (2, "takes no question", "ask --replay words --journal absent.jsonl"),
    (2, "there is no such journal", "ask --replay --journal absent.jsonl"),
    (2, "absent.yaml", "ask x --catalog absent.yaml --graph PLANTS"),
    (2, "default-no-graph", f"{_EVAL} --systems defalt"),
    (2, "--needs-file", f"{_EVAL} --systems default@needs"),
    (2, "no request has recorded needs", f"{_EVAL} --needs"),
    (3, "nowhere.jsonl", f"{_EVAL} --needs-file nowhere.jsonl"),
    (2, "'rrf' is not measured", f"{_EVAL} --systems semantic --baseline rrf"),
    (14, "127.0.0.1:9", f"{_EVAL} --systems grpc:127.0.0.1:9"),
    (2, "nonsense", f"{_EVAL} --reranker nonsense"),
    (2, "-k", f"{_EVAL} -k 2"),
    (2, "--timeout", f"{_EVAL} --timeout 0"),
    (3, "nowhere.jsonl", f"{_EVAL} --queries nowhere.jsonl"),
    (3, "nowhere.jsonl", f"{_EVAL} --systems semantic --dependencies nowhere.jsonl"),
    (2, "--per-class", "datagen STORE --out OUT --per-class -3"),
    (2, "llm, with a chat model, or template", "datagen STORE --out OUT --generator magic"),
    (2, "was removed", "datagen STORE --out OUT --generator rules"),
    (2, "uses no chat model", "datagen STORE --out OUT --max-calls 3"),
    (2, "another call reads it back", "datagen STORE --out OUT --llm-steps wording"),
    (2, f"Add {LLM_OPTIONS}", "datagen STORE --out OUT --generator llm"),
    (2, "single-intent", "datagen STORE --out OUT --mix absent.yaml"),
    (5, "absent.yaml", "datagen STORE --out OUT --ontology absent.yaml"),
    (7, "nothing was found", f"{_APPROVE} erp/get_invoice --reason r"),
    (2, "--reason", f"{_APPROVE} erp/list_vendors --reason ' '"),
    (2, "--reason", f"{_APPROVE} erp/list_vendors"),
    (7, "hr/*: nothing was found", f"{_APPROVE} 'erp/*' 'hr/*' --reason r"),
    (2, "ID", f"{_APPROVE} --reason r"),
    # An empty path, as the shell passes it for a variable that is not set, would be the current folder.
    *(
        (2, "is empty", command)
        for command in (
            *("build ''", "build API ''", "build API --out ''", "build API --out ' '", "build API --overlay ''"),
            *("build API --ontology ''", "build API --signing-key ''", "search x --store ''", "show x --store ''"),
            *("serve --store ''", "serve --ready-file ''", "validate ''", "diff ''", "diff a ''", "export ''"),
            *("eval run ''", "tune '' --on x", "datagen '' --out x", "admin snapshots --store ''"),
            "admin rollback --store ''",
        )
    ),
)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, hr_store: Path) -> Mapping[str, str]:
    """Name → place, to be read only."""
    folder = tmp_path_factory.mktemp("places")

    def file_of(name: str, *rows: object) -> str:
        return str(written(folder / name, *rows))

    tools = file_of("tools.jsonl", CLEAN, BAD)
    build_snapshot([tools], folder / "held", encoder=HashingEncoder(), findings="quarantine")
    return {
        "STORE": str(hr_store),
        "SNAPSHOT": str(current_snapshot(hr_store)),
        "DOCUMENT": str(ROOT / "examples" / "enterprise" / "catalog" / "hr.yaml"),
        "API": file_of("api.json", [{"name": "get_widget", "description": "Get a widget."}]),
        "HELD": str(folder / "held"),
        "DOMAIN": str(DOMAIN),
        "QUERY": file_of("graph.json", GRAPH),
        "PLANTS": write_plants(folder),
        "REQUESTS": file_of("requests.jsonl", {"id": "1", "query": "who is ill", "tools": ["hr/searchEmployees"]}),
        "TASKS": file_of("tasks.jsonl", {"id": "one", "question": "What?", "answer": "8", "level": 1}),
        "SHIPPED": str(ROOT / "examples" / "enterprise" / "requests.jsonl"),
    }


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "EGOTOOLS_STORE", "EGOTOOLS_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SECRET", SECRET)
    monkeypatch.chdir(tmp_path)


def words_of(command: str, places: Mapping[str, str]) -> list[str]:
    return [places.get(word, word) for word in shlex.split(command)]


@pytest.mark.parametrize(
    ("code", "said", "command"), REFUSED, ids=[command[:60] or "nothing" for _, _, command in REFUSED]
)
def test_what_cannot_be_done_is_said_with_its_exit_code(
    run: Run, places: Mapping[str, str], tmp_path: Path, code: int, said: str, command: str
) -> None:
    found, out, err = run(*words_of(command, {**places, "OUT": "out"}))
    told = " ".join(err.replace("│", " ").split())
    assert (found, out) == (code, "") and said in told, err
    assert SECRET not in err and "not ready" not in err
    assert [path.name for path in tmp_path.iterdir()] in ([], ["out"])
    assert not [path for path in tmp_path.rglob("*") if path.name == "CURRENT" or path.suffix in (".jsonl", ".md")]
    assert not (Path(places["HELD"]) / "approvals.jsonl").exists()


@pytest.mark.parametrize(
    ("command", "code", "error", "told"),
    [
        ("search x --store .", 7, "NotFoundError", "egotools build"),
        ("search x --nonsense", 2, "InvalidArgumentError", "--nonsense"),
        ("nonsense", 2, "InvalidArgumentError", "nonsense"),
        ("build", 2, "InvalidArgumentError", "ADDRESS"),
    ],
)
def test_errors_are_json_when_asked_for(run: Run, command: str, code: int, error: str, told: str) -> None:
    found, out, err = run(*command.split(), "--json")
    said = json.loads(err)
    assert (found, said["exit_code"], said["error"], out) == (code, code, error, "")
    assert told in said["problem"] + said["remedy"]


def test_what_is_gone_is_refused_with_what_took_its_place(run: Run, subtests: pytest.Subtests) -> None:
    for said in REMOVED:
        with subtests.test(ascii(said)):
            code, _, err = run(*said.split(), "x")
            assert code == 2
            assert "it was removed" in err and REMOVED[said].split()[0] in err
    code, _, err = run("solve", "q", "--nonsense")
    assert code == 2 and "removed" not in err


# -- what is missing ---------------------------------------------------------------------------------------------------

WITH_STORE = (
    "search x --store NONE",
    "show x --store NONE",
    "plan x --store NONE",
    "call a/b --store NONE",
    "mcp --store NONE",
    "rest --store NONE",
    "learn --store NONE",
    "learn --forget --store NONE",
    "tune NONE --rollback",
    "eval NONE --queries SHIPPED --out out",
    "datagen NONE --out out",
    "export out.json --store NONE",
    "admin snapshots --store NONE",
    "admin rollback --store NONE",
    "admin findings list --store NONE",
    "admin findings approve x --reason r --store NONE",
)


@pytest.mark.parametrize("command", WITH_STORE)
def test_a_folder_that_is_no_store_is_left_as_it_is(
    run: Run, places: Mapping[str, str], tmp_path: Path, command: str
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "notes.md").write_text("notes", encoding="utf-8")
    code, out, err = run(*words_of(command, {**places, "NONE": str(folder)}))
    assert (code, out) == (NotFoundError.exit_code, "")
    assert f"egotools build {folder} --out store" in err and len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["documents", "notes.md"]


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
        ("ladybug", "ladybug", "ask x"),
        ("ray", "ray", "build DOCUMENT --out out --on ray"),
        ("torch", "sentence_transformers", "build DOCUMENT --out out --encoder sentence-transformers:x/y"),
        ("rdf", "pyoxigraph", f"solve x {MODEL} --graph rdf --store STORE"),
    ],
)
def test_a_missing_extra_is_installed_by_the_command_that_is_named(
    run: Run, places: Mapping[str, str], extra: str, package: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    code, out, err = run(*words_of(command, places))
    assert (code, out) == (MissingExtraError.exit_code, "")
    (line,) = err.splitlines()  # nothing was begun before
    assert f"pip install -r requirements/{extra}.txt" in line


@pytest.fixture(scope="module")
def refusing() -> Iterator[str]:
    """The options of a model whose endpoint demands a key."""
    with chat_server(lambda request, number: Reply(status=401)) as server:
        yield f"--llm-url {server.base_url} --llm-model m"


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("build DOCUMENT --out out --extractor llm --llm-model m", "--llm-url http://HOST:PORT/v1"),
        ("build DOCUMENT --out out --extractor llm REFUSING", "export OPENAI_API_KEY="),
        ("plan x --domain personal --parser llm.v1", LLM_OPTIONS),
        ("plan x --domain personal --parser llm.v1 --store STORE REFUSING", "export OPENAI_API_KEY="),
        ("solve x --store STORE REFUSING", "export OPENAI_API_KEY="),
    ],
)
def test_a_missing_model_or_key_is_given_by_what_is_named(
    run: Run, places: Mapping[str, str], refusing: str, command: str, remedy: str
) -> None:
    code, _, err = run(*words_of(command.replace("REFUSING", refusing), places))
    assert code and remedy in err.splitlines()[-1], err
