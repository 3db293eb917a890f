"""Recordings of planners: runs with their journals, answers to the shipped questions, prompts that a scripted model gets, the demo."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.personal import write_personal_data
from examples.company.mock_company import served_company
from examples.company.shipped_documents import SHIPPED_CATALOG
from tests.golden.answers import Recorder, company_store, digest
from tests.golden.surfaces import invoke, steady

__all__ = ["PLANNED"]

_ROOT = Path(__file__).resolve().parents[2]
_WALKS = _ROOT / "planners" / "query" / "requests"
_QUESTIONS = _ROOT / "planners" / "graphseek" / "tasks" / "tool_graph.jsonl"
_TIMED = {
    "at",
    "sum",
    "seconds",
    "ms",
    "took_s",
    "timings_ms",
    "journal",
    "request_id",
    "elapsed_ms",
    "written",
    "n",
    "key",
    "fence_key",
    "prompt",
}
_SOLVED: Mapping[str, Any] = {
    "next_step": [
        {"query_type": "INSERT", "content": "read the text and the tables in a file: sales.csv"},
        {
            "query_type": "RETRIEVE",
            "content": "result = [n['amount'] for _, n in G.nodes(data=True) if n['label'] == 'Zsale']",
        },
    ],
    "tool_calls": [{"calls": [{"tool": "kgot/inspect_file", "arguments": {"file": "sales.csv"}}]}],
    "write_graph": [{"nodes": [{"label": "Zsale", "key": {"amount": 8}, "properties": {}}], "edges": []}],
    "maths_needed": [{"needed": False}],
    "final_answer": [{"answer": "8"}],
}
_ASKED: Mapping[str, Any] = {
    "turn": [
        {"calls": [{"operator": "get_nodes", "arguments": {"node_type": "System"}}]},
        {"answer": "These are the systems.", "of": ["t1"]},
    ]
}


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def _told(done: list[Any], journal: Path | None = None) -> list[Any]:
    """Exit code, first line and hash of a run; of its journal the kinds of records, and a hash of what is not an event.

    Events of branches that run at once follow the order of threads.
    """
    if journal is None or not journal.is_file():
        return done
    records = _rows(journal)
    kinds = [each["kind"] for each in records]
    runs = [f"{kind} x{kinds.count(kind)}" for kind in sorted(set(kinds))]
    return [
        *done,
        ", ".join(runs),
        digest(
            sorted(
                steady(json.dumps(each, sort_keys=True), journal)
                for each in _untimed(records)
                if each["kind"] != "event"
            )
        ),
    ]


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _untimed(each) for key, each in value.items() if key not in _TIMED and key not in _PAYLOADS}
    return [_untimed(each) for each in value] if isinstance(value, list) else value


_PAYLOADS = {"result", "answer", "told"}
"""Hashes of payloads, which have times in them; what they say stands in the output."""


def _walks(folder: Path) -> dict[str, Any]:
    """``egotools plan``: the paper's requests over a person's data, and each tenth request over the company."""
    seen: dict[str, Any] = {}
    home, tools, index = folder / "home", folder / "personal", folder / "home.sqlite"
    write_personal_data(home, messages=200, seed=7)
    invoke(folder, "build", "python:planners.personal.personal_tools", "--out", tools)
    for row in _rows(_WALKS / "personal.jsonl"):
        if row["paper"]:
            journal = folder / f"{row['id']}.jsonl"
            given = ("--store", tools, "--index", index, "--zone", "America/New_York", "--today", "2026-06-15")
            data = () if index.exists() else ("--data", home)
            done = invoke(
                folder,
                "plan",
                row["request"],
                "--domain",
                "personal",
                *given,
                *data,
                "--journal",
                journal,
                "--json",
                ordered=False,
            )
            seen[row["id"]] = _told(done, journal)
            seen[f"{row['id']} replayed"] = invoke(
                folder, "plan", "--domain", "personal", "--journal", journal, "--replay", "--json", ordered=False
            )
    with served_company(SHIPPED_CATALOG, folder / "walked") as systems:
        bases = [part for name, url in systems.items() for part in ("--base-url", f"{name}={url}")]
        for row in _rows(_WALKS / "enterprise.jsonl")[::10]:
            journal = folder / f"{row['id']}.jsonl"
            asked = ("--store", company_store(folder), "--today", "2026-11-20", "--journal", journal, "--json")
            seen[row["id"]] = _told(
                invoke(folder, "plan", row["request"], "--domain", "enterprise", *bases, *asked, ordered=False), journal
            )
    return seen


def _questions(folder: Path) -> dict[str, Any]:
    """``egotools ask`` without a model: the shipped questions of the tool graph; one with its journal and its replay."""
    store, seen = company_store(folder), {}
    for row in _rows(_QUESTIONS):
        code, answer, _ = invoke(folder, "ask", row["text"], "--store", store, "--json")
        head, found, rest = answer.partition(" found: ")  # rows that no question orders come in any order
        seen[f"{row['id']} {row['text'][:80]}"] = [code, head + found + "; ".join(sorted(rest.rstrip(".").split("; ")))]
    journal = folder / "question.jsonl"
    text = _rows(_QUESTIONS)[1]["text"]
    seen["journal"] = _told(invoke(folder, "ask", text, "--store", store, "--journal", journal), journal)
    seen["replayed"] = invoke(folder, "ask", "--journal", journal, "--replay")
    return seen


def _prompts(folder: Path) -> dict[str, Any]:
    """Each body that a scripted model gets, byte for byte, from ``solve``, ``ask`` and ``plan --parser llm.v1``."""
    sales = folder / "sales.csv"
    sales.write_text("region,amount\nNorth,8\nSouth,8\nWest,8\n", encoding="utf-8")
    store = company_store(folder)
    commands: Mapping[str, tuple[Mapping[str, Any], Sequence[Any]]] = {
        "solve": (_SOLVED, ("What is the amount of the sale?", "--file", sales, "--votes", 1, "--tools-cache", folder)),
        "ask": (_ASKED, ("Which systems are there?", "--store", store)),
        "plan": (
            {},
            (
                "Which suppliers are blocked?",
                *("--domain", "enterprise", "--parser", "llm.v1", "--store", store, "--today", "2026-11-20"),
                "--dry-run",
            ),
        ),
    }
    seen: dict[str, Any] = {}
    for name, (script, given) in commands.items():
        with _model(script) as (url, bodies):
            journal = () if name == "plan" else ("--journal", folder / f"{name}.jsonl")
            done = invoke(folder, name, *given, "--llm-url", f"{url}/v1", "--llm-model", "m", *journal)
            seen[name] = _told(done, Path(journal[1]) if journal else None)
        # Votes are asked at once, so their order is that of threads: sorted among bodies of one step.
        firsts = {step: at for at, step in reversed(list(enumerate(map(_step, bodies))))}
        bodies.sort(key=lambda body: (firsts[_step(body)], steady(json.dumps(body), folder)))
        for at, body in enumerate(bodies):
            texts = [steady(json.dumps(each), folder) for each in body.pop("messages")]
            first = texts[-1].partition("\\n")[0][:120]
            seen[f"{name} prompt {at:02}"] = [first, *map(digest, texts), digest(steady(json.dumps(body), folder))]
        if journal:
            seen[f"{name} replayed"] = invoke(folder, name, *journal, "--replay")
    return seen


@contextmanager
def _model(script: Mapping[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve a model that answers each schema by its name, the next of its list, whose last item stays; yields URL and what it was sent."""
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            step = _step(bodies[-1])
            answers = script.get(step, [{}])
            nth = min(sum(_step(each) == step for each in bodies), len(answers)) - 1
            message = {"role": "assistant", "content": json.dumps(answers[nth])}
            usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            told = json.dumps(
                {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "m",
                    "choices": choices,
                    "usage": usage,
                }
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    kept = {name: os.environ.get(name) for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL")}
    os.environ["OPENAI_API_KEY"] = "k"
    os.environ.pop("OPENAI_BASE_URL", None)
    try:
        yield f"http://127.0.0.1:{server.server_port}", bodies
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        server.shutdown()
        thread.join()
        server.server_close()


def _step(body: Mapping[str, Any]) -> str:
    return str(body["response_format"]["json_schema"]["name"]) if body.get("response_format") else "tool"


def _demo(folder: Path) -> dict[str, Any]:
    """What ``egotools demo`` prints, line by line."""
    import contextlib
    import io

    from services.cli.demo import demo

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        demo()
    lines = re.sub(r"/\S*/python\S*|\S*__main__\S*", "egotools", steady(printed.getvalue(), folder)).splitlines()
    return {
        f"{at:02}": line for at, line in enumerate(sorted(lines)) if line.strip()
    }  # parts of a plan end in any order


PLANNED: Mapping[str, Recorder] = {"walks": _walks, "questions": _questions, "prompts": _prompts, "demo": _demo}
