"""``egotools admin snapshots``, ``rollback`` and ``keys``, paths that are empty, and what a crafted snapshot does to the command."""

import json
from pathlib import Path
from typing import Any

import pytest

from inference import HashingEncoder
from ontology.errors import SnapshotSignatureError
from retrieval.snapshot.publish import current_snapshot
from services.jobs.build import build_snapshot
from tests.harness.commands import Run
from tests.retrieval.snapshot.keys import create_key


def _tools(folder: Path, count: int) -> Path:
    rows = [{"name": f"get_widget_{at}", "description": "Get a widget."} for at in range(count)]
    path = folder / "api.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def _build(folder: Path, count: int, **options: Any) -> str:
    tools = _tools(folder, count)
    return build_snapshot([str(tools)], folder / "store", encoder=HashingEncoder(), **options).snapshot_id


@pytest.fixture
def builds(tmp_path: Path) -> tuple[Path, list[str]]:
    """A store with three snapshots, of one, two and three tools."""
    return tmp_path / "store", [_build(tmp_path, count) for count in (1, 2, 3)]


def test_rolling_back_publishes_the_one_before_and_tells_the_history(run: Run, builds: tuple[Path, list[str]]) -> None:
    store, (a, b, c) = builds
    code, out, _ = run("admin", "rollback", "--store", store, "--json")
    row = json.loads(out)
    assert (code, row["snapshot_id"], row["previous_id"], row["action"]) == (0, b, c, "rollback")
    assert row["history"][0]["snapshot_id"] == b
    code, out, _ = run("admin", "rollback", a, "--store", store)
    assert code == 0
    assert f"Published {a} again" in out
    assert current_snapshot(store).name == a
    for arguments, expected in (((), 7), (("nope",), 7), ((a,), 6), (("",), 2)):
        assert run("admin", "rollback", *arguments, "--store", store)[0] == expected
    assert current_snapshot(store).name == a


def test_a_snapshot_is_signed_from_the_build_on(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    public, _ = create_key(tmp_path / "key")
    code, _, err = run("admin", "keys", "create", tmp_path / "other")
    assert code == 2 and "openssl genpkey" in " ".join(err.split())
    tools = _tools(tmp_path, 2)
    build = ("build", tools, "--out", tmp_path / "store", "--encoder", "hashing.v1")
    unsigned = json.loads(run(*build, "--json")[1])["snapshot_id"]
    monkeypatch.setenv("EGOTOOLS_TRUSTED_KEYS", str(public))
    search = ("search", "get a widget", "--store", tmp_path / "store")
    for command in (search, ("validate", tmp_path / "store"), ("show", "x", "--store", tmp_path / "store")):
        code, _, err = run(*command)
        assert code == SnapshotSignatureError.exit_code
        assert "not signed" in err
    signed = json.loads(run(*build, "--signing-key", tmp_path / "key", "--json")[1])
    assert signed["snapshot_id"] == unsigned, "of unchanged files"
    assert run(*search)[0] == 0
    tools.write_text(tools.read_text(encoding="utf-8").replace("a widget", "one widget"), encoding="utf-8")
    run(*build, "--signing-key", tmp_path / "key")
    assert run(*search)[0] == 0
    assert not [path for path in (tmp_path / "store").rglob("*") if path.is_file() and b"PRIVATE" in path.read_bytes()]
