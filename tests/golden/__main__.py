"""Record what users see, or compare it with what was recorded: JSON from a place to what is seen there, long values as hashes.

What is asked, and what changes from run to run, stands in ``questions.yaml``. Data that is not here (the open sets, the real documents) is named.
"""

import asyncio
import difflib
import hashlib
import importlib
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, asdict, fields
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer
import yaml
from typer.testing import CliRunner

from benchmarks.personal import write_personal_data
from benchmarks.sets import bench_sets, catalog_address, real_sets, reduced, sampled
from egotools.v1 import admin_pb2, egotools_pb2
from eval.systems import make_ablations
from examples.company.mock_company import served_company
from examples.company.shipped_documents import SHIPPED_CATALOG, SHIPPED_REQUESTS
from inference import DEFAULT_ENCODER, load_encoder
from retrieval.engine import open_engine
from retrieval.query.request import Request
from services.cli.app import app
from services.jobs.build import build_snapshot
from services.rest.rest_server import RestSettings
from services.server.settings import ServerSettings
from tests.harness.chat import chat_server, said_by_step, step_of
from tests.harness.commands import every_command, json_lines
from tests.harness.servers import all_doors, grpc_json

Seen: TypeAlias = dict[str, Any]
HERE = Path(__file__).resolve().parent
FOLDER, ROOT = HERE / "recordings", HERE.parents[1]
TEMPORARY = tempfile.TemporaryDirectory()
OUT = Path(TEMPORARY.name).resolve()  # what is built, and what commands write
ASKED: Mapping[str, Any] = yaml.safe_load((HERE / "questions.yaml").read_text(encoding="utf-8"))


def digest(value: Any) -> str:
    """A short hash of a text, of bytes, or of the JSON form of anything else."""
    data = value if isinstance(value, str | bytes) else json.dumps(value, sort_keys=True)
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:16]


def steady(text: str, kind: str = "printed") -> str:
    """A text without the places of this machine, and without what changes from run to run."""
    text = text.replace(str(OUT), "OUT").replace(str(ROOT), "HERE")
    for pattern, put in ASKED["changing"][kind].items():
        text = re.sub(pattern, put, text)
    return text


@cache
def built(catalog: Path = SHIPPED_CATALOG, name: str = "company") -> Path:
    """A store of a catalogue, which a snapshot names as it was given."""
    build_snapshot([os.path.relpath(catalog)], OUT / name, encoder=load_encoder(DEFAULT_ENCODER))
    return OUT / name


def answers(store: Path, asked: list[dict[str, Any]], ways: Iterable[str]) -> Seen:
    """The files of a snapshot; of each request, asked in each way, the first ids, and a hash of each part of the answer but times."""
    engine = open_engine(store)
    snapshot, folder = engine.snapshot, store / "snapshots" / engine.snapshot.id
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    seen: Seen = {"files": {path.relative_to(folder).as_posix(): digest(path.read_bytes()) for path in files}}
    seen |= {"snapshot": snapshot.id, "tools": snapshot.tool_count, "edges": snapshot.manifest.counts.edges}
    retrievers = {name: engine.retriever(name) for name in ("default", "rrf", "paper")}
    retrievers["no-graph"] = make_ablations(snapshot, engine.encoder)["default-no-graph"]
    retrievers["restricted"] = engine.restricted(ASKED["restricted"] if "restricted" in ways else {}).retriever(
        "default"
    )
    for row, way in product(asked, ways):
        needs = [part.strip()[:500] for part in row["query"].split(" and ") if any(map(str.isalpha, part))][:32]
        told = {"query": row["query"], **ASKED["ways"][way]} | ({"needs": needs} if "needs" in way else {})
        response = retrievers.get(way, retrievers["default"]).retrieve(Request(k=30, **told))
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
        texts = {name: json.dumps(part, sort_keys=True, default=dict) for name, part in parts.items() if part}
        hashes = " ".join(f"{name} {digest(text)[:8]}" for name, text in texts.items())
        seen[f"{row['id']} {way}"] = {"first": " ".join(parts["ids"][:5]), "hashes": hashes}
    return seen


def measured(name: str) -> Seen | str:
    """An open set, or the real documents: answers without ids, which are not ours; or the reason why there are none."""
    known = {each.name: each for each in (*bench_sets(), *real_sets())}
    if name not in known:
        return "its documents are not here"
    found = reduced(known[name], OUT / name, queries=40, tools=1_000)
    store = built(catalog_address(found, OUT / name), f"{name}/store")
    seen = answers(store, sampled(found, 40), ("default", "rrf", "paper", "no-graph"))
    seen["files"] = digest(seen["files"])
    return {place: told.get("hashes", told) if isinstance(told, dict) else told for place, told in seen.items()}


def invoked(line: str, *, journal: str = "", ordered: bool = True, **places: object) -> list[Any]:
    """Run a command in this process, braces filled in and + for a blank: its exit code, first line, and a hash of all that it prints,
    in any order where steps run at once; of its journal, the kinds of records, and a hash of those that do not follow threads.
    """
    places |= {"store": built(), "out": OUT, **ASKED["places"]}
    given = [part.replace("+", " ").format(**places) for part in line.split()]
    given += ["--journal", str(OUT / journal)] if journal else []
    done = CliRunner(env={**ASKED["terminal"], "XDG_CACHE_HOME": str(OUT / "cache")}).invoke(app, given)
    text = steady(done.output)
    told: Any = text.strip().partition("\n")[0][:300]
    if told in ("{", "["):  # JSON: its answer, or the problem
        known = found if isinstance(found := json.loads(done.stdout), dict) else {}
        told = (known.get("execution") or known).get("answer") or known.get("problem") or sorted(known)
        told = steady(told if isinstance(told, str) else json.dumps(told))[:200]
    code = done.exit_code if isinstance(done.exception, SystemExit | None) else steady(repr(done.exception))
    seen = [code, told, digest(text if ordered else sorted(each.rstrip(",") for each in text.splitlines()))]
    if journal and "--replay" not in line:
        records = json_lines(OUT / journal, without=ASKED["unsteady"])
        kinds = sorted(Counter(each["kind"] for each in records).items())
        kept = (steady(json.dumps(each, sort_keys=True)) for each in records if each["kind"] != "event")
        seen += [", ".join(f"{kind} x{count}" for kind, count in kinds), digest(sorted(kept))]
    return seen


def walks() -> Seen:
    """``egotools plan``: the paper's requests over a person's data, and each tenth request over the company."""
    requests, lines, seen = ROOT / "planners" / "query" / "requests", ASKED["walks"], Seen()
    chosen = [row for row in json_lines(requests / "personal.jsonl") if row["paper"]]
    chosen += json_lines(requests / "enterprise.jsonl")[::10]
    write_personal_data(OUT / "home", messages=200, seed=7)
    invoked(lines["build"])
    with served_company(SHIPPED_CATALOG, OUT / "walked") as systems:
        bases = "".join(f" --base-url {name}={url}" for name, url in systems.items())
        for row in chosen:
            line = lines["personal"] if row["paper"] else lines["enterprise"] + bases
            seen[row["id"]] = invoked(line, journal=row["id"], ordered=False, request=row["request"])
            if row["paper"]:
                seen[f"{row['id']} replayed"] = invoked(lines["replay"], journal=row["id"], ordered=False)
    return seen


def questions() -> Seen:
    """``egotools ask`` without a model: the shipped questions of the tool graph; one with its journal and its replay."""
    line, seen = "ask {text} --store {store}", Seen()
    asked = json_lines(ROOT / "planners" / "graphseek" / "tasks" / "tool_graph.jsonl")
    for row in asked:
        code, answer, _ = invoked(f"{line} --json", text=row["text"])
        head, found, rest = answer.partition(" found: ")  # rows that no question orders come in any order
        seen[f"{row['id']} {row['text'][:80]}"] = [code, head + found + "; ".join(sorted(rest.rstrip(".").split("; ")))]
    seen["journal"] = invoked(line, text=asked[1]["text"], journal="question")
    seen["replayed"] = invoked("ask --replay", journal="question")
    return seen


def prompts() -> Seen:
    """Each body that a scripted model gets, byte for byte, from ``solve``, ``ask`` and ``plan --parser llm.v1``."""
    os.environ["OPENAI_API_KEY"], seen = "k", Seen()
    for name, asked in ASKED["prompts"].items():
        with chat_server(said_by_step(asked["script"])) as server:
            seen[name] = invoked(f"{asked['line']} --llm-url {server.base_url}", journal=asked["journal"])
        # Votes are asked at once, so their order is that of threads: sorted among bodies of one step.
        steps = list(map(step_of, server.requests))
        bodies = sorted(server.requests, key=lambda body: (steps.index(step_of(body)), steady(json.dumps(body))))
        for at, body in enumerate(map(dict, bodies)):
            texts = [steady(json.dumps(each)) for each in (*body.pop("messages"), body)]
            seen[f"{name} prompt {at:02}"] = [texts[-2].partition("\\n")[0][:120], *map(digest, texts)]
        if asked["journal"]:
            seen[f"{name} replayed"] = invoked(f"{name} --replay", journal=asked["journal"])
    return seen


def demo() -> Seen:
    """What ``egotools demo`` prints, line by line; parts of a plan end in any order."""
    lines = sorted(steady(CliRunner().invoke(app, ["demo"]).stdout).splitlines())
    return {f"{at:02}": line for at, line in enumerate(lines) if line.strip()}


def commands() -> Seen:
    """Every command: its options, and its help at 80 columns."""
    seen, runner = Seen(), CliRunner(env=ASKED["terminal"])
    for path, command in every_command():
        options = (option.opts[-1] for option in command.params)
        seen[" ".join(path)] = [digest(runner.invoke(app, [*path, "--help"]).output), *options]
    return seen


def contract() -> Seen:
    """Every message and call of the contract."""
    seen = Seen()
    for described in (egotools_pb2.DESCRIPTOR, admin_pb2.DESCRIPTOR):
        for name, message in described.message_types_by_name.items():
            seen[name] = [f"{each.number} {each.name} {each.type}" for each in message.fields]
        for name, service in described.services_by_name.items():
            seen[name] = [f"{each.name}({each.input_type.name}) {each.output_type.name}" for each in service.methods]
    return seen


def names() -> Seen:
    """Public names of the packages, and the settings of the servers."""
    seen: Seen = {name: sorted(getattr(importlib.import_module(name), "__all__", ())) for name in ASKED["packages"]}
    for kind in (ServerSettings, RestSettings):
        defaults = ((one.name, one.default) for one in fields(kind))
        seen[kind.__name__] = {name: "" if value is MISSING else str(value)[:60] for name, value in defaults}
    texts = (path.read_text(encoding="utf-8") for name in ASKED["packages"] for path in (ROOT / name).rglob("*.py"))
    named = {name for text in texts for name in re.findall(r"\bEGOTOOLS_[A-Z]+(?:_[A-Z]+)*\b(?!_)", text)}
    seen["environment"] = sorted(named | {f"EGOTOOLS_{one.name.upper()}" for one in fields(ServerSettings)})
    return seen


async def wire() -> Seen:
    """Replies and errors over gRPC, REST and MCP."""
    async with all_doors(built()) as (server, grpc_stub, rest, mcp):
        seen: Seen = {"metrics": sorted(set(re.findall(r"(?m)^# TYPE (\S+ \S+)", server.metrics.scrape().decode())))}
        document = (await rest.get("/openapi.json")).json()
        seen |= {"rest document": digest(document), "rest paths": {}}
        for path, known in document["paths"].items():
            seen["rest paths"][path] = [f"{verb}: {digest(each)}" for verb, each in known.items()]
        for name, body in ASKED["requests"].items():
            known = await grpc_json(grpc_stub, body)
            ids = [each["id"] for each in known.get("tools", ())]
            seen[f"grpc {name}"] = known.get("error") or [*ids, digest({**known, "timings_ms": {}, "request_id": ""})]
            reply = await rest.post("/v1/retrieve", json=body)
            told = [each["id"] for each in reply.json().get("tools", ())] if reply.is_success else reply.text[:200]
            seen[f"rest {name}"] = [reply.status_code, told, digest(steady(reply.text, "reply"))]
        seen |= {f"mcp {tool.name}": digest(tool.model_dump_json()) for tool in (await mcp.list_tools()).tools}
        for name, arguments in ASKED["mcp"]:
            called = await mcp.call_tool(name, arguments)
            seen[f"mcp {name} {json.dumps(arguments)}"] = digest(steady(called.model_dump_json(), "reply"))
    return seen


#: Name of a recording → what gives what is seen, by its place; or the reason why it is not seen here.
RECORDERS: dict[str, Callable[[], Any]] = {
    "company": lambda: answers(built(), json_lines(SHIPPED_REQUESTS), ASKED["ways"]),
    **{name: partial(measured, name) for name in ASKED["sets"]},
    "runs": lambda: {line: invoked(line) for line in ASKED["commands"]},
    "wire": lambda: asyncio.run(wire()),
    **{each.__name__: each for each in (commands, contract, names, walks, questions, prompts, demo)},
}


def main(what: Literal["record", "compare"], only: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Write recordings, all or only these; or compare, print what differs, was never recorded or cannot be compared, and exit with 1."""
    for name, text in ASKED["files"].items():
        (OUT / name).write_text(text, encoding="utf-8")
    vectors = load_encoder(DEFAULT_ENCODER).encode(["find an employee by name"])  # processors differ in the last bits
    failed = False
    for name in only or sorted({*RECORDERS, *(path.stem for path in FOLDER.glob("*.json"))}):
        seen = RECORDERS.get(name, lambda: f"there are {', '.join(RECORDERS)}; a file that none of them writes goes")()
        if isinstance(seen, str):
            typer.echo(f"{name}: left out, not compared: {seen}")
            failed |= bool(only) or name not in RECORDERS
            continue
        encoder = "" if name in ("commands", "contract", "names") else digest(vectors.tobytes())
        recorded = {"encoder": encoder, "seen": seen, "sum": digest(seen)}
        text = json.dumps(recorded, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        if what == "record":
            (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
        found = differences(FOLDER / f"{name}.json", text, encoder)
        typer.echo("\n  ".join([f"{name}: differs" if found else f"{name}: {len(seen)} places are equal", *found[:40]]))
        failed |= bool(found)
    raise typer.Exit(int(failed))


def differences(path: Path, now: str, encoder: str) -> list[str]:
    """The lines in which a recording differs from what is seen now; or the one reason why they cannot be compared."""
    try:
        text = path.read_text(encoding="utf-8")
        known = json.loads(text)
        if known["sum"] != digest(known["seen"]):
            raise ValueError("its sum is wrong: it was cut, or changed by hand; take it from git again")
        if known["encoder"] != encoder:
            raise ValueError("it is of a machine whose encoder gives other vectors: record both trees on one machine")
    except (OSError, ValueError, KeyError, TypeError) as error:  # a file that is missing, cut or no recording
        return [f"{path.name} cannot be compared: {type(error).__name__}: {error}"]
    return list(difflib.unified_diff(text.splitlines(), now.splitlines(), "recorded", "seen", n=2, lineterm=""))


if __name__ == "__main__":
    typer.run(main)
