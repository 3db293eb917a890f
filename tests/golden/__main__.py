"""Record what users see, or compare it with what was recorded.

A recording is a file of ``recordings/``: a JSON object from a place to what is seen there, short values in full, long ones as hashes. What
is asked stands in ``questions.yaml``. What needs data that is not here (the open sets, the real documents) is said to be left out and is not
compared; everything else must be there.
"""

from __future__ import annotations

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
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

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
SETTINGS = (ServerSettings, RestSettings)
CHANGING = re.compile(
    r"\d+(\.\d+)? ?(ms|s|MB|KB|KiB|MiB)\b|\d{4}-\d\d-\d\d[T ][\d:.+Z]*|pid \d+|127\.0\.0\.1:\d+|\(\d+ characters\)"
)
# Of a journal: times, and hashes of what has times in it.
UNSTEADY = set(
    "at sum seconds ms took_s timings_ms journal request_id elapsed_ms written n key fence_key prompt".split()
)
UNSTEADY |= {"result", "answer", "told"}
K, REQUESTS, TOOLS = 30, 40, 1_000
TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}


class NotHere(Exception):
    """What is recorded needs data that is not on this machine."""


def digest(value: Any) -> str:
    """A short hash of a text, of bytes, or of the JSON form of anything else."""
    data = value if isinstance(value, str | bytes) else json.dumps(value, sort_keys=True)
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:16]


@cache
def encoder_print() -> str:
    """A hash of what the shipped encoder makes of a text: processors differ in the last bits."""
    return digest(load_encoder(DEFAULT_ENCODER).encode(["find an employee by name"]).tobytes())


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def built(folder: Path, catalog: str) -> Path:
    """A store with the shipped encoder, built at the first call."""
    if not folder.is_dir():
        build_snapshot([catalog], folder, encoder=load_encoder(DEFAULT_ENCODER))
    return folder


def company_store(folder: Path) -> Path:
    return built(folder / "company", os.path.relpath(SHIPPED_CATALOG))


# Answers to requests: the first ids in clear, and a hash of each part of the answer but times; scores to four digits.


def answered(retriever: Any, **request: Any) -> Seen:
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


def company(folder: Path) -> Seen:
    """Snapshot files, and the demo's requests: whole, filtered, with what is done, and as needs."""
    store = company_store(folder)
    engine = open_engine(store)
    asked = rows(SHIPPED_REQUESTS)
    seen = {**answers(engine, asked), "files": snapshot_files(store)}
    default = engine.retriever("default")
    restricted = engine.restricted(ASKED["filters"]["namespace"]).retriever("default")
    for row in asked:
        place, text = row["id"], row["query"]
        seen[f"{place} restricted"] = answered(restricted, query=text, explain=True, explanation=True)
        for name, filters in ASKED["filters"].items():
            seen[f"{place} {name}"] = answered(default, query=text, filters=filters)
        needs = [part.strip()[:500] for part in text.split(" and ") if any(map(str.isalpha, part))][:32]
        for query in ("", text):
            told = answered(default, query=query, needs=needs, done=["hr/searchEmployees"])
            seen[f"{place} needs {'with' if query else 'without'} query"] = told
        seen[f"{place} auto_k"] = answered(default, query=text, auto_k=True, abstain=True)
    return seen


def snapshot_files(store: Path) -> dict[str, str]:
    published = store / "snapshots" / (store / "CURRENT").read_text(encoding="utf-8").strip()
    files = (path for path in sorted(published.rglob("*")) if path.is_file())
    return {path.relative_to(published).as_posix(): digest(path.read_bytes()) for path in files}


def open_set(name: str, folder: Path) -> Seen:
    if not BENCH.is_dir():
        raise NotHere("the open sets are not beside the checkout")
    (bench_set,) = bench_sets([name])
    return measured(reduced(bench_set, folder / name, queries=REQUESTS, tools=TOOLS), folder / name)


def real(folder: Path) -> Seen:
    if not real_sets():
        raise NotHere("the real documents are not fetched")
    return measured(real_sets()[0], folder / "real")


def measured(bench_set: BenchSet, folder: Path) -> Seen:
    store = built(folder / "store", str(catalog_address(bench_set, folder)))
    seen = answers(open_engine(store), sampled(bench_set, REQUESTS)) | {"files": digest(snapshot_files(store))}
    # No ids of theirs.
    return {place: told.get("hashes", told) if isinstance(told, dict) else told for place, told in seen.items()}


# Commands, contracts, replies, public names.


def commands(folder: Path) -> Seen:
    """Every command: its options, and its help at 80 columns."""
    runner, seen = CliRunner(env=TERMINAL), {}
    for path, command in walked(typer.main.get_command(product), ()):
        text = runner.invoke(product, [*path, "--help"]).output
        seen[" ".join(path)] = [digest(text), *(option.opts[-1] for option in command.params)]
    return seen


def walked(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    under = command.list_commands(None) if hasattr(command, "list_commands") else []
    if not under:
        yield path, command
    for name in under:
        yield from walked(command.get_command(None, name), (*path, name))


def runs(folder: Path) -> Seen:
    poisoned = {"type": "object", "properties": {"mail": {"type": "string", "default": "x@elsewhere.example"}}}
    texts = ASKED["poisoned"].items()
    tools = [{"name": f"list_{name}", "description": text, "parameters": poisoned} for name, text in texts]
    (folder / "poisoned.json").write_text(json.dumps(tools), encoding="utf-8")
    for kind in ("policy", "overlay", "sources", "access"):
        (folder / f"{kind}.yaml").write_text("nonsense: 1\n", encoding="utf-8")
    places = {
        "store": company_store(folder),
        "out": folder,
        "tool": ASKED["tool"],
        "task": ASKED["task"].replace(" ", "+"),
    }
    given = {line: [part.format(**places).replace("+", " ") for part in line.split()] for line in ASKED["commands"]}
    return {line: invoked(folder, *parts) for line, parts in given.items()}


def invoked(folder: Path, *arguments: object, ordered: bool = True) -> list[Any]:
    """Run a command in this process: its exit code, the first line, and a hash of all that it prints but for times and places.

    :param ordered: whether the order of its lines counts; it does not where steps that run at once print when they end.
    """
    runner = CliRunner(env={**TERMINAL, "XDG_CACHE_HOME": str(folder / "cache")})
    done = runner.invoke(product, list(map(str, arguments)))
    text = steady(done.output, folder)
    failed = done.exception is not None and not isinstance(done.exception, SystemExit)
    told: Any = text.strip().partition("\n")[0][:300]
    if told in ("{", "["):  # JSON: its answer, or the problem
        found = json.loads(done.stdout)
        known = found if isinstance(found, dict) else {}
        told = (
            (known.get("execution") or {}).get("answer") or known.get("answer") or known.get("problem") or sorted(known)
        )
        told = steady(told if isinstance(told, str) else json.dumps(told), folder)[:200]
    code = steady(repr(done.exception), folder) if failed else done.exit_code
    return [code, told, digest(text if ordered else sorted(line.rstrip(",") for line in text.splitlines()))]


def steady(text: str, folder: Path) -> str:
    """Return a text without what changes from run to run: times, ports, temporary places, and the keys of fences."""
    text = CHANGING.sub("~", text.replace(str(folder), "OUT").replace(str(Path.cwd()), "HERE"))
    text = re.sub(r'"(timings_ms|by_step|seconds)": \{[^}]*\}', "", text)
    text = re.sub(r'"\w*(_ms|_s|seconds|ms)": [\d.e-]+', "", text)
    text = re.sub(r"(?m)^[a-z ]+: (\d+/\d+, )?~\n", "", text)  # progress of a build, which is printed by time
    return re.sub(r"\b[0-9a-f]{16}\b|\b[0-9a-f]{32}\b", "~", text)


def contract(folder: Path) -> Seen:
    """Every message and call of the contract."""
    seen: Seen = {}
    for described in (egotools_pb2.DESCRIPTOR, admin_pb2.DESCRIPTOR):
        for name, message in described.message_types_by_name.items():
            seen[name] = [f"{each.number} {each.name} {each.type}" for each in message.fields]
        for name, service in described.services_by_name.items():
            seen[name] = [f"{each.name}({each.input_type.name}) {each.output_type.name}" for each in service.methods]
    return seen


def names(folder: Path) -> Seen:
    """Public names of the packages, and the settings of the servers."""
    seen: Seen = {name: sorted(getattr(importlib.import_module(name), "__all__", ())) for name in PACKAGES}
    for each in SETTINGS:
        values = {one.name: "" if one.default is MISSING else str(one.default)[:60] for one in fields(each)}
        seen[each.__name__] = values
    sources = (path.read_text(encoding="utf-8") for name in PACKAGES for path in Path(name).rglob("*.py"))
    named = {name for text in sources for name in re.findall(r"\bEGOTOOLS_[A-Z]+(?:_[A-Z]+)*\b(?!_)", text)}
    seen["environment"] = sorted(named | {f"EGOTOOLS_{each.name.upper()}" for each in fields(ServerSettings)})
    return seen


async def wire_replies(store: Path) -> Seen:
    """Replies and errors over gRPC, REST and MCP."""
    seen: Seen = {}
    async with serving(store) as server:
        scraped = server.metrics.scrape().decode()
        seen["metrics"] = sorted(set(re.findall(r"^# TYPE (\S+ \S+)", scraped, re.M)))
        async with grpc.aio.insecure_channel(server.address) as channel:
            for name, body in ASKED["requests"].items():
                seen[f"grpc {name}"] = await grpc_reply(ToolRetrievalStub(channel), body)
        async with (
            serve_rest(server.address, RestSettings(port=0)) as url,
            httpx.AsyncClient(base_url=url) as rest,
        ):
            document = (await rest.get("/openapi.json")).json()
            seen["rest document"] = digest(document)
            for path, known in document["paths"].items():
                seen.setdefault("rest paths", {})[path] = [
                    f"{method}: {digest(each)}" for method, each in known.items()
                ]
            for name, body in ASKED["requests"].items():
                reply = await rest.post("/v1/retrieve", json=body)
                ids = [each["id"] for each in reply.json().get("tools", ())]
                told = ids if reply.is_success else reply.text[:200]
                seen[f"rest {name}"] = [reply.status_code, told, digest(CHANGING.sub("~", untimed(reply.text)))]
        async with AsyncClient(server.address) as client:
            gateway = McpGateway(client, ToolAccess())
            async with Client(gateway.server, mode="legacy") as mcp:
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


# Planners: runs with their journals, answers to the shipped questions, prompts that a scripted model gets, the demo.


def with_journal(done: list[Any], journal: Path | None) -> list[Any]:
    """Add the kinds of records of a journal, and a hash of what is not an event: events of branches follow the order of threads."""
    if journal is None or not journal.is_file():
        return done
    records = rows(journal)
    kinds = Counter(each["kind"] for each in records)
    kept = (json.dumps(timeless(each), sort_keys=True) for each in records if each["kind"] != "event")
    counted = ", ".join(f"{kind} x{count}" for kind, count in sorted(kinds.items()))
    return [*done, counted, digest(sorted(steady(each, journal) for each in kept))]


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in UNSTEADY}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def walks(folder: Path) -> Seen:
    """``egotools plan``: the paper's requests over a person's data, and each tenth request over the company."""
    requests, seen = ROOT / "planners" / "query" / "requests", {}
    home, tools, index = folder / "home", folder / "personal", folder / "home.sqlite"
    write_personal_data(home, messages=200, seed=7)
    invoked(folder, "build", "python:planners.personal.personal_tools", "--out", tools)
    personal = ("plan", "--domain", "personal", "--json")
    for row in (each for each in rows(requests / "personal.jsonl") if each["paper"]):
        journal = folder / f"{row['id']}.jsonl"
        given = ("--store", tools, "--index", index, "--zone", "America/New_York", "--today", "2026-06-15")
        data = () if index.exists() else ("--data", home)
        done = invoked(folder, *personal, row["request"], *given, *data, "--journal", journal, ordered=False)
        seen[row["id"]] = with_journal(done, journal)
        seen[f"{row['id']} replayed"] = invoked(folder, *personal, "--journal", journal, "--replay", ordered=False)
    with served_company(SHIPPED_CATALOG, folder / "walked") as systems:
        bases = [part for name, url in systems.items() for part in ("--base-url", f"{name}={url}")]
        for row in rows(requests / "enterprise.jsonl")[::10]:
            journal = folder / f"{row['id']}.jsonl"
            asked = ("--store", company_store(folder), "--today", "2026-11-20", "--journal", journal, "--json")
            done = invoked(folder, "plan", row["request"], "--domain", "enterprise", *bases, *asked, ordered=False)
            seen[row["id"]] = with_journal(done, journal)
    return seen


def questions(folder: Path) -> Seen:
    """``egotools ask`` without a model: the shipped questions of the tool graph; one with its journal and its replay."""
    store, seen = company_store(folder), {}
    asked = rows(ROOT / "planners" / "graphseek" / "tasks" / "tool_graph.jsonl")
    for row in asked:
        code, answer, _ = invoked(folder, "ask", row["text"], "--store", store, "--json")
        head, found, rest = answer.partition(" found: ")  # rows that no question orders come in any order
        seen[f"{row['id']} {row['text'][:80]}"] = [code, head + found + "; ".join(sorted(rest.rstrip(".").split("; ")))]
    journal = folder / "question.jsonl"
    told = invoked(folder, "ask", asked[1]["text"], "--store", store, "--journal", journal)
    seen["journal"] = with_journal(told, journal)
    seen["replayed"] = invoked(folder, "ask", "--journal", journal, "--replay")
    return seen


def prompts(folder: Path) -> Seen:
    """Each body that a scripted model gets, byte for byte, from ``solve``, ``ask`` and ``plan --parser llm.v1``."""
    (folder / "sales.csv").write_text("region,amount\nNorth,8\nSouth,8\nWest,8\n", encoding="utf-8")
    os.environ["OPENAI_API_KEY"] = "k"
    places, seen = {"store": company_store(folder), "out": folder}, Seen()
    for name, asked in ASKED["prompts"].items():
        times: Counter[str] = Counter()

        def answer(
            body: Mapping[str, Any], nth: int, script: Mapping[str, Any] = asked["script"], times: Any = times
        ) -> Reply:
            times[schema_of(body)] += 1
            said = script.get(schema_of(body), [{}])
            text = json.dumps(said[min(times[schema_of(body)], len(said)) - 1])
            return Reply(text=text, prompt_tokens=11, completion_tokens=5)

        journal = None if name == "plan" else folder / f"{name}.jsonl"
        kept = ("--journal", journal) if journal else ()
        with chat_server(answer) as server:
            given = (part.format(**places) for part in asked["given"])
            done = invoked(folder, name, *given, "--llm-url", server.base_url, "--llm-model", "m", *kept)
            seen[name] = with_journal(done, journal)
        bodies = [dict(each) for each in server.requests]
        # Votes are asked at once, so their order is that of threads: sorted among bodies of one step.
        firsts = {step: at for at, step in reversed(list(enumerate(map(schema_of, bodies))))}
        bodies.sort(key=lambda body: (firsts[schema_of(body)], steady(json.dumps(body), folder)))
        for at, body in enumerate(bodies):
            texts = [steady(json.dumps(each), folder) for each in body.pop("messages")]
            first = texts[-1].partition("\\n")[0][:120]
            seen[f"{name} prompt {at:02}"] = [first, *map(digest, texts), digest(steady(json.dumps(body), folder))]
        if journal:
            seen[f"{name} replayed"] = invoked(folder, name, *kept, "--replay")
    return seen


def schema_of(body: Mapping[str, Any]) -> str:
    return str(body["response_format"]["json_schema"]["name"]) if body.get("response_format") else "tool"


def demo_lines(folder: Path) -> Seen:
    """What ``egotools demo`` prints, line by line; parts of a plan end in any order."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        demo()
    lines = re.sub(r"/\S*/python\S*|\S*__main__\S*", "egotools", steady(printed.getvalue(), folder)).splitlines()
    return {f"{at:02}": line for at, line in enumerate(sorted(lines)) if line.strip()}


RECORDERS: Mapping[str, Callable[[Path], Seen]] = {
    "company": company,
    **{name: partial(open_set, name) for name in SETS},
    "real": real,
    "commands": commands,
    "runs": runs,
    "contract": contract,
    "names": names,
    "wire": lambda folder: asyncio.run(wire_replies(company_store(folder))),
    "walks": walks,
    "questions": questions,
    "prompts": prompts,
    "demo": demo_lines,
}
"""From a folder for what is built to what is seen, by its place."""


# Recording and comparing.

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
Only = Annotated[list[str] | None, typer.Argument(help="Only these recordings.")]


@app.command()
def record(only: Only = None) -> None:
    """Write the recordings."""
    FOLDER.mkdir(exist_ok=True)
    for name, seen in seen_now(only):
        if seen is not None:
            recorded = {"encoder": encoder_of(name), "seen": seen, "sum": digest(seen)}
            text = json.dumps(recorded, indent=1, sort_keys=True, ensure_ascii=False)
            (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
            typer.echo(f"{name}: {len(seen)} places recorded")


@app.command()
def compare(only: Only = None) -> None:
    """Exit with 1 and print what differs, what was never recorded, and what was asked for by name and cannot be compared."""
    faults = 0
    for name in sorted({path.stem for path in FOLDER.glob("*.json")} - RECORDERS.keys()) if not only else ():
        faults += 1
        typer.echo(f"{name}: {name}.json is a recording that nothing compares; delete it, with a line in decisions.md")
    for name, seen in seen_now(only):
        found = [] if seen is None else list(differences(name, seen))
        faults += len(found) + (seen is None and bool(only))
        if seen is not None:
            typer.echo(f"{name}: {f'{len(found)} differences' if found else f'{len(seen)} places are equal'}")
        for each in found[:20]:
            typer.echo(f"  {each}")
    raise typer.Exit(1 if faults else 0)


def seen_now(only: list[str] | None) -> Iterator[tuple[str, Seen | None]]:
    if unknown := sorted(set(only or ()) - set(RECORDERS)):
        raise typer.BadParameter(f"there is no recording {', '.join(unknown)}; there are {', '.join(RECORDERS)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in only or RECORDERS:
            try:
                yield name, json.loads(json.dumps(RECORDERS[name](Path(folder).resolve())))
            except NotHere as reason:
                typer.echo(f"{name}: left out, not compared: {reason}")
                yield name, None


def encoder_of(name: str) -> str:
    return "" if name in ("commands", "contract", "names") else encoder_print()


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
        shown = (json.dumps(each, ensure_ascii=False)[:160] for each in (old, new))
        yield f"{place}: {' -> '.join(shown)}"


if __name__ == "__main__":
    app()
