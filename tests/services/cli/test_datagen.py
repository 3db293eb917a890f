"""``egotools datagen``: what it writes, that the same comes again, that nothing made is lost, and what bad input gets."""

from pathlib import Path

from inference.chat import Message
from tests.datagen.author import Author
from tests.harness.chat import Body, Reply, chat_server
from tests.harness.commands import Run, json_lines


def results(folder: Path) -> dict[str, bytes]:
    """Every file that a run leaves, by its place in the folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def test_a_model_writes_and_reads_back_within_its_calls_and_the_rest_comes_with_the_next_run(
    run: Run, store: Path, tmp_path: Path
) -> None:
    author = Author()

    def script(request: Body, _number: int) -> Reply:
        return Reply(text=author([Message(one["role"], one["content"]) for one in request["messages"]]))

    with chat_server(script) as server:
        model = ("--generator", "llm", "--llm-url", server.base_url, "--llm-model", "m", "--per-class", 2)
        code, _, err = run("datagen", store, "--out", tmp_path / "out", *model, "--max-calls", 12)
        assert code == 11 and "the same command again" in " ".join(err.split())
        few = json_lines(tmp_path / "out" / "queries.jsonl")
        assert "stopped:" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
        code, _, err = run("datagen", store, "--out", tmp_path / "out", *model)
        assert code == 0, err
        hits, whole = server.hits, results(tmp_path / "out")
        assert run("datagen", store, "--out", tmp_path / "out", *model)[0] == 0
        assert server.hits == hits, "the same again asks the model nothing"
    assert results(tmp_path / "out") == whole
    made = json_lines(tmp_path / "out" / "queries.jsonl")
    assert len(few) < len(made) == 12 and all(row["generator"] == "llm.v2" and row["needs"] for row in made)
    needs = ("eval", store, "--queries", tmp_path / "out" / "queries.jsonl", "--needs")
    assert run(*needs, "--out", tmp_path / "report", "--systems", "semantic@needs")[0] == 0
