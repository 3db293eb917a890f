"""Record what users see, or compare it with what was recorded.

A recording of ``recordings/`` is a JSON object from a place to what is seen there, long values as hashes; what is asked stands in
``questions.yaml``. Data that is not here (the open sets, the real documents) is said to be left out; everything else must be there.
"""

import asyncio
import contextlib
import hashlib
import importlib
import io
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, fields
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import grpc
import httpx
import typer
import yaml
from google.protobuf.json_format import MessageToDict, ParseDict
from mcp import Client
from typer.testing import CliRunner

from benchmarks.personal import write_personal_data
from benchmarks.sets import BENCH, BenchSet, bench_sets, catalog_address, real_sets, reduced, sampled
from egotools import AsyncClient
from egotools.v1 import admin_pb2, egotools_pb2
from egotools.v1.egotools_pb2_grpc import ToolRetrievalStub
from eval.systems import make_ablations
from examples.company.mock_company import served_company
from examples.company.shipped_documents import SHIPPED_CATALOG, SHIPPED_REQUESTS
from inference import DEFAULT_ENCODER, load_encoder
from planners.calls.tool_access import ToolAccess
from retrieval.engine import open_engine
from retrieval.query.request import Request
from services.cli.app import app as product
from services.cli.demo import demo
from services.jobs.build import build_snapshot
from services.mcp.gateway_server import McpGateway
from services.rest.rest_server import RestSettings, serve_rest
from services.server.settings import ServerSettings
from tests.harness.chat import Reply, chat_server
from tests.harness.servers import serving

Seen: TypeAlias = dict[str, Any]

HERE = Path(__file__).resolve().parent
FOLDER, ROOT = HERE / "recordings", HERE.parents[1]
os.chdir(ROOT)  # a snapshot names its sources as they were given
ASKED: Mapping[str, Any] = yaml.safe_load((HERE / "questions.yaml").read_text(encoding="utf-8"))
PACKAGES = ("ontology", "inference", "ingest", "retrieval", "datagen", "eval", "planners", "egotools", "services")
SETS = ("restbench", "apibank", "workbench", "tau2_service", "ultratool", "gtc", "toollinkos-given")
CHANGING = re.compile(
    r"\d+(\.\d+)? ?(ms|s|MB|KB|KiB|MiB)\b|\d{4}-\d\d-\d\d[T ][\d:.+Z]*|pid \d+|127\.0\.0\.1:\d+|\(\d+ characters\)"
)
# Of a journal: times, and hashes of what has times in it.
UNSTEADY = set(
    "at sum seconds ms took_s timings_ms journal request_id elapsed_ms written n key fence_key prompt result answer told".split()
)
K, REQUESTS, TOOLS = 30, 40, 1_000
TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}


def digest(value: Any) -> str:
    """A short hash of a text, of bytes, or of the JSON form of anything else."""
    data = value if isinstance(value, str | bytes) else json.dumps(value, sort_keys=True)
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:16]


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def built(folder: Path, catalog: str = os.path.relpath(SHIPPED_CATALOG)) -> Path:
    """A store with the shipped encoder, built at the first call."""
    if not folder.is_dir():
        build_snapshot([catalog], folder, encoder=load_encoder(DEFAULT_ENCODER))
    return folder


def answered(retriever: Any, **request: Any) -> Seen:
    """The first ids in clear, and a hash of each part of the answer but times; scores to four digits."""
    response = retriever.retrieve(Request(k=K, **request))
    tools = [{**asdict(tool), "score": f"{tool.score:.4g}"} for tool in response.tools]
    parts = {
        "ids": [tool["id"] for tool in tools],
        "scores": [tool["score"] for tool in tools],
        "bindings": [tool["reasons"]["bindings"] for tool in tools],
        "explanations": [[tool["explanation"], {**tool["reasons"], "features": None}] for tool in tools],
        "tools": [{**tool, "reasons": None, "score": None, "probability": None} for tool in tools],
        "needs": [asdict(each) | {"probability": None} for each in response.need_results],
        "rest": [response.fallbacks, response.unanswerable],
    }
    hashes = (
        f"{name} {digest(json.dumps(part, sort_keys=True, default=plain))[:8]}" for name, part in parts.items() if part
    )
    return {"first": " ".join(parts["ids"][:5]), "hashes": " ".join(hashes)}


def plain(value: Any) -> Any:
    known = sorted(value) if isinstance(value, set | frozenset) else str(value)
    return dict(value) if isinstance(value, Mapping) else known


def answers(engine: Any, asked: Iterable[Mapping[str, Any]]) -> Seen:
    snapshot = engine.snapshot
    seen: Seen = {"snapshot": snapshot.id, "tools": snapshot.tool_count, "edges": snapshot.manifest.counts.edges}
    retrievers = {name: engine.retriever(name) for name in ("default", "rrf", "paper")}
    retrievers["no-graph"] = make_ablations(snapshot, engine.encoder)["default-no-graph"]
    for row in asked:
        for name, retriever in retrievers.items():
            seen[f"{row['id']} {name}"] = answered(retriever, query=row["query"], explain=True, explanation=True)
    return seen


def snapshot_files(store: Path) -> Seen:
    published = store / "snapshots" / (store / "CURRENT").read_text(encoding="utf-8").strip()
    files = (path for path in sorted(published.rglob("*")) if path.is_file())
    return {path.relative_to(published).as_posix(): digest(path.read_bytes()) for path in files}


def company(folder: Path) -> Seen:
    """Snapshot files, and the demo's requests: whole, filtered, with what is done, and as needs."""
    store, asked = built(folder / "company"), rows(SHIPPED_REQUESTS)
    engine = open_engine(store)
    seen = {**answers(engine, asked), "files": snapshot_files(store)}
    default = engine.retriever("default")
    restricted = engine.restricted(ASKED["filters"]["namespace"]).retriever("default")
    for row in asked:
        place, text = row["id"], row["query"]
        seen[f"{place} restricted"] = answered(restricted, query=text, explain=True, explanation=True)
        for name, filters in ASKED["filters"].items():
            seen[f"{place} {name}"] = answered(default, query=text, filters=filters)
        needs = [part.strip()[:500] for part in text.split(" and ") if any(map(str.isalpha, part))][:32]
        for how, query in (("without", ""), ("with", text)):
            told = answered(default, query=query, needs=needs, done=["hr/searchEmployees"])
            seen[f"{place} needs {how} query"] = told
        seen[f"{place} auto_k"] = answered(default, query=text, auto_k=True, abstain=True)
    return seen


def open_set(name: str, folder: Path) -> Seen | str:
    if not BENCH.is_dir():
        return "the open sets are not beside the checkout"
    (whole,) = bench_sets([name])
    return measured(reduced(whole, folder / name, queries=REQUESTS, tools=TOOLS), folder / name)


def real(folder: Path) -> Seen | str:
    return measured(sets[0], folder / "real") if (sets := real_sets()) else "the real documents are not fetched"


def measured(bench_set: BenchSet, folder: Path) -> Seen:
    """Answers without ids, which are not ours."""
    store = built(folder / "store", str(catalog_address(bench_set, folder)))
    seen = answers(open_engine(store), sampled(bench_set, REQUESTS)) | {"files": digest(snapshot_files(store))}
    return {place: told.get("hashes", told) if isinstance(told, dict) else told for place, told in seen.items()}


def commands(folder: Path) -> Seen:
    """Every command: its options, and its help at 80 columns."""
    seen, todo = Seen(), list[tuple[tuple[str, ...], Any]]([((), typer.main.get_command(product))])
    for path, command in todo:
        if hasattr(command, "list_commands"):
            todo += [((*path, name), command.get_command(None, name)) for name in command.list_commands(None)]
        else:
            text = CliRunner(env=TERMINAL).invoke(product, [*path, "--help"]).output
            seen[" ".join(path)] = [digest(text), *(option.opts[-1] for option in command.params)]
    return seen


def runs(folder: Path) -> Seen:
    poisoned = {"type": "object", "properties": {"mail": {"type": "string", "default": "x@elsewhere.example"}}}
    texts = ASKED["poisoned"].items()
    tools = [{"name": f"list_{name}", "description": text, "parameters": poisoned} for name, text in texts]
    (folder / "poisoned.json").write_text(json.dumps(tools), encoding="utf-8")
    for kind in ("policy", "overlay", "sources", "access"):
        (folder / f"{kind}.yaml").write_text("nonsense: 1\n", encoding="utf-8")
    places = {"store": built(folder / "company"), "out": folder, "tool": ASKED["tool"]}
    places["task"] = ASKED["task"].replace(" ", "+")
    given = {line: [part.format(**places).replace("+", " ") for part in line.split()] for line in ASKED["commands"]}
    return {line: invoked(folder, *parts) for line, parts in given.items()}


def invoked(folder: Path, *arguments: object, journal: Path | None = None, ordered: bool = True) -> list[Any]:
    """Run a command in this process: its exit code, the first line, and a hash of all that it prints but for times and places.

    :param journal: what it writes; then also the kinds of records, and a hash of those that are no events, which follow the order of threads.
    :param ordered: whether the order of its lines counts; it does not where steps that run at once print when they end.
    """
    runner = CliRunner(env={**TERMINAL, "XDG_CACHE_HOME": str(folder / "cache")})
    done = runner.invoke(product, [*map(str, arguments), *(("--journal", str(journal)) if journal else ())])
    text = steady(done.output, folder)
    failed = done.exception is not None and not isinstance(done.exception, SystemExit)
    told: Any = text.strip().partition("\n")[0][:300]
    if told in ("{", "["):  # JSON: its answer, or the problem
        known = found if isinstance(found := json.loads(done.stdout), dict) else {}
        answer = (known.get("execution") or {}).get("answer") or known.get("answer")
        told = answer or known.get("problem") or sorted(known)
        told = steady(told if isinstance(told, str) else json.dumps(told), folder)[:200]
    code = steady(repr(done.exception), folder) if failed else done.exit_code
    seen = [code, told, digest(text if ordered else sorted(line.rstrip(",") for line in text.splitlines()))]
    if journal and journal.is_file():
        records = rows(journal)
        kinds = sorted(Counter(each["kind"] for each in records).items())
        kept = (json.dumps(timeless(each), sort_keys=True) for each in records if each["kind"] != "event")
        seen += [
            ", ".join(f"{kind} x{count}" for kind, count in kinds),
            digest(sorted(steady(each, journal) for each in kept)),
        ]
    return seen


def steady(text: str, folder: Path) -> str:
    """Return a text without what changes from run to run: times, ports, temporary places, and the keys of fences."""
    text = CHANGING.sub("~", text.replace(str(folder), "OUT").replace(str(Path.cwd()), "HERE"))
    text = re.sub(r'"(timings_ms|by_step|seconds)": \{[^}]*\}|"\w*(_ms|_s|seconds|ms)": [\d.e-]+', "", text)
    text = re.sub(r"(?m)^[a-z ]+: (\d+/\d+, )?~\n", "", text)  # progress of a build, which is printed by time
    return re.sub(r"\b[0-9a-f]{16}\b|\b[0-9a-f]{32}\b", "~", text)


def contract(folder: Path) -> Seen:
    """Every message and call of the contract."""
    seen = Seen()
    for described in (egotools_pb2.DESCRIPTOR, admin_pb2.DESCRIPTOR):
        for name, message in described.message_types_by_name.items():
            seen[name] = [f"{each.number} {each.name} {each.type}" for each in message.fields]
        for name, service in described.services_by_name.items():
            seen[name] = [f"{each.name}({each.input_type.name}) {each.output_type.name}" for each in service.methods]
    return seen


def names(folder: Path) -> Seen:
    """Public names of the packages, and the settings of the servers."""
    seen: Seen = {name: sorted(getattr(importlib.import_module(name), "__all__", ())) for name in PACKAGES}
    for kind in (ServerSettings, RestSettings):
        defaults = [(one.name, "" if one.default is MISSING else str(one.default)[:60]) for one in fields(kind)]
        seen[kind.__name__] = dict(defaults)
    sources = (path.read_text(encoding="utf-8") for name in PACKAGES for path in Path(name).rglob("*.py"))
    named = {name for text in sources for name in re.findall(r"\bEGOTOOLS_[A-Z]+(?:_[A-Z]+)*\b(?!_)", text)}
    seen["environment"] = sorted(named | {f"EGOTOOLS_{one.name.upper()}" for one in fields(ServerSettings)})
    return seen


def wire(folder: Path) -> Seen:
    """Replies and errors over gRPC, REST and MCP."""
    return asyncio.run(wire_replies(built(folder / "company")))


async def wire_replies(store: Path) -> Seen:
    seen: Seen = {"rest paths": {}}
    async with serving(store) as server, AsyncClient(server.address) as client:
        seen["metrics"] = sorted(set(re.findall(r"^# TYPE (\S+ \S+)", server.metrics.scrape().decode(), re.M)))
        async with (
            grpc.aio.insecure_channel(server.address) as channel,
            serve_rest(server.address, RestSettings(port=0)) as url,
            httpx.AsyncClient(base_url=url) as rest,
            Client(McpGateway(client, ToolAccess()).server, mode="legacy") as mcp,
        ):
            document = (await rest.get("/openapi.json")).json()
            seen["rest document"] = digest(document)
            for path, known in document["paths"].items():
                seen["rest paths"][path] = [f"{method}: {digest(each)}" for method, each in known.items()]
            for name, body in ASKED["requests"].items():
                seen[f"grpc {name}"] = await grpc_reply(ToolRetrievalStub(channel), body)
                reply = await rest.post("/v1/retrieve", json=body)
                told = [each["id"] for each in reply.json().get("tools", ())] if reply.is_success else reply.text[:200]
                seen[f"rest {name}"] = [reply.status_code, told, digest(CHANGING.sub("~", untimed(reply.text)))]
            for tool in (await mcp.list_tools()).tools:
                seen[f"mcp {tool.name}"] = digest(tool.model_dump_json())
            for name, arguments in ASKED["mcp"]:
                called = await mcp.call_tool(name, arguments)
                seen[f"mcp {name} {json.dumps(arguments)}"] = digest(untimed(called.model_dump_json()))
    return seen


async def grpc_reply(stub: Any, body: Mapping[str, Any]) -> list[Any]:
    body = {**body, "filters": {key: {"values": value} for key, value in body.get("filters", {}).items()}}
    try:
        answer = await stub.Retrieve(ParseDict(body, egotools_pb2.RetrieveRequest()))
    except grpc.aio.AioRpcError as error:
        return [error.code().name, error.details()]
    seen = MessageToDict(answer, preserving_proto_field_name=True)
    return [*(each["id"] for each in seen.get("tools", ())), digest({**seen, "timings_ms": {}, "request_id": ""})]


def untimed(text: str) -> str:
    return re.sub(r'\\?"(timings_ms|timingsMs|request_id|requestId)\\?": ?(\{[^}]*\}|\\?"[^"]*")', "", text)


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in UNSTEADY}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def walks(folder: Path) -> Seen:
    """``egotools plan``: the paper's requests over a person's data, and each tenth request over the company."""
    requests, seen = ROOT / "planners" / "query" / "requests", Seen()
    home, tools, index = folder / "home", folder / "personal", folder / "home.sqlite"
    write_personal_data(home, messages=200, seed=7)
    invoked(folder, "build", "python:planners.personal.personal_tools", "--out", tools)
    personal = ("plan", "--domain", "personal", "--json")
    for row in (each for each in rows(requests / "personal.jsonl") if each["paper"]):
        journal = folder / f"{row['id']}.jsonl"
        given = ("--store", tools, "--index", index, "--zone", "America/New_York", "--today", "2026-06-15")
        data = () if index.exists() else ("--data", home)
        seen[row["id"]] = invoked(folder, *personal, row["request"], *given, *data, journal=journal, ordered=False)
        seen[f"{row['id']} replayed"] = invoked(folder, *personal, "--journal", journal, "--replay", ordered=False)
    with served_company(SHIPPED_CATALOG, folder / "walked") as systems:
        bases = [part for name, url in systems.items() for part in ("--base-url", f"{name}={url}")]
        options = ["--store", built(folder / "company"), *"--today 2026-11-20 --domain enterprise --json".split()]
        for row in rows(requests / "enterprise.jsonl")[::10]:
            journal = folder / f"{row['id']}.jsonl"
            seen[row["id"]] = invoked(folder, "plan", row["request"], *options, *bases, journal=journal, ordered=False)
    return seen


def questions(folder: Path) -> Seen:
    """``egotools ask`` without a model: the shipped questions of the tool graph; one with its journal and its replay."""
    store, seen, journal = built(folder / "company"), Seen(), folder / "question.jsonl"
    asked = rows(ROOT / "planners" / "graphseek" / "tasks" / "tool_graph.jsonl")
    for row in asked:
        code, answer, _ = invoked(folder, "ask", row["text"], "--store", store, "--json")
        head, found, rest = answer.partition(" found: ")  # rows that no question orders come in any order
        seen[f"{row['id']} {row['text'][:80]}"] = [code, head + found + "; ".join(sorted(rest.rstrip(".").split("; ")))]
    seen["journal"] = invoked(folder, "ask", asked[1]["text"], "--store", store, journal=journal)
    seen["replayed"] = invoked(folder, "ask", "--journal", journal, "--replay")
    return seen


def prompts(folder: Path) -> Seen:
    """Each body that a scripted model gets, byte for byte, from ``solve``, ``ask`` and ``plan --parser llm.v1``."""
    (folder / "sales.csv").write_text("region,amount\nNorth,8\nSouth,8\nWest,8\n", encoding="utf-8")
    os.environ["OPENAI_API_KEY"] = "k"
    places, seen = {"store": built(folder / "company"), "out": folder}, Seen()
    for name, asked in ASKED["prompts"].items():
        journal = None if name == "plan" else folder / f"{name}.jsonl"
        script = {step: chain(said, repeat(said[-1])) for step, said in asked["script"].items()}
        with chat_server(partial(reply_of, script)) as server:
            given = [part.format(**places) for part in (*asked["given"], "--llm-model", "m", "--llm-url")]
            seen[name] = invoked(folder, name, *given, server.base_url, journal=journal)
        bodies = [dict(each) for each in server.requests]
        # Votes are asked at once, so their order is that of threads: sorted among bodies of one step.
        firsts = {step: at for at, step in reversed(list(enumerate(map(schema_of, bodies))))}
        bodies.sort(key=lambda body: (firsts[schema_of(body)], steady(json.dumps(body), folder)))
        for at, body in enumerate(bodies):
            texts = [steady(json.dumps(each), folder) for each in body.pop("messages")]
            first = texts[-1].partition("\\n")[0][:120]
            seen[f"{name} prompt {at:02}"] = [first, *map(digest, texts), digest(steady(json.dumps(body), folder))]
        if journal:
            seen[f"{name} replayed"] = invoked(folder, name, "--journal", journal, "--replay")
    return seen


def reply_of(script: Mapping[str, Iterator[Any]], body: Mapping[str, Any], nth: int) -> Reply:
    """What the script says next in this step, and its last words again and again."""
    return Reply(text=json.dumps(next(script.get(schema_of(body), repeat({})))), prompt_tokens=11, completion_tokens=5)


def schema_of(body: Mapping[str, Any]) -> str:
    return str(body["response_format"]["json_schema"]["name"]) if body.get("response_format") else "tool"


def demo_lines(folder: Path) -> Seen:
    """What ``egotools demo`` prints, line by line; parts of a plan end in any order."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        demo()
    lines = re.sub(r"/\S*/python\S*|\S*__main__\S*", "egotools", steady(printed.getvalue(), folder)).splitlines()
    return {f"{at:02}": line for at, line in enumerate(sorted(lines)) if line.strip()}


#: From a folder for what is built to what is seen, by its place; or to the reason why it is not seen here.
RECORDERS: dict[str, Callable[[Path], Seen | str]] = {"company": company}
RECORDERS |= {name: partial(open_set, name) for name in SETS}
RECORDERS |= {"real": real, "commands": commands, "runs": runs, "contract": contract, "names": names}
RECORDERS |= {"wire": wire, "walks": walks, "questions": questions, "prompts": prompts, "demo": demo_lines}


def main(what: Literal["record", "compare"], only: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Write recordings, all or only these; or compare, print what differs, was never recorded or cannot be compared, and exit with 1."""
    if unknown := sorted(set(only or ()) - set(RECORDERS)):
        raise typer.BadParameter(f"there is no recording {', '.join(unknown)}; there are {', '.join(RECORDERS)}")
    strange = set() if only or what == "record" else {path.stem for path in FOLDER.glob("*.json")} - RECORDERS.keys()
    for name in sorted(strange):
        typer.echo(f"{name}: {name}.json is a recording that nothing compares; delete it, with a line in decisions.md")
    faults = len(strange)
    with tempfile.TemporaryDirectory() as folder:
        for name in only or RECORDERS:
            seen = RECORDERS[name](Path(folder).resolve())
            if isinstance(seen, str):
                typer.echo(f"{name}: left out, not compared: {seen}")
                faults += what == "compare" and bool(only)
                continue
            seen = json.loads(json.dumps(seen))
            if what == "record":
                recorded = {"encoder": encoder_of(name), "seen": seen, "sum": digest(seen)}
                text = json.dumps(recorded, indent=1, sort_keys=True, ensure_ascii=False)
                (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
                typer.echo(f"{name}: {len(seen)} places recorded")
            else:
                found = list(differences(name, seen))
                told = f"{len(found)} differences" if found else f"{len(seen)} places are equal"
                typer.echo("\n  ".join([f"{name}: {told}", *found[:20]]))
                faults += len(found)
    raise typer.Exit(1 if faults else 0)


def encoder_of(name: str) -> str:
    """A hash of what the shipped encoder makes of a text, where a recording depends on it: processors differ in the last bits."""
    vectors = load_encoder(DEFAULT_ENCODER).encode(["find an employee by name"])
    return "" if name in ("commands", "contract", "names") else digest(vectors.tobytes())


def differences(name: str, seen: Seen) -> Iterator[str]:
    path = FOLDER / f"{name}.json"
    try:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        known, of_encoder, sum_ = recorded["seen"], recorded["encoder"], recorded["sum"]
    except FileNotFoundError:
        yield f"{path.name} is missing: record it on the tree before the change"
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield f"{path.name} is cut or no recording ({type(error).__name__}): take it from git again"
    else:
        if sum_ != digest(known):
            yield f"{path.name} was cut or changed by hand: its sum is wrong; take it from git again"
        elif of_encoder != encoder_of(name):
            yield f"{path.name} was recorded on a machine whose encoder gives other vectors: record both trees on one machine"
        else:
            yield from between(known, seen, "")


def between(old: Any, new: Any, place: str) -> Iterator[str]:
    """The differences of two JSON values, each as the path, the old and the new value."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from between(old.get(key, "not there"), new.get(key, "not there"), f"{place}/{key}")
    elif old != new:
        yield f"{place}: {' -> '.join(json.dumps(each, ensure_ascii=False)[:160] for each in (old, new))}"


if __name__ == "__main__":
    typer.run(main)
