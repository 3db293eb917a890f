"""The sources file with the command: it is checked, built from, and known to the snapshot."""

from __future__ import annotations

import json
from pathlib import Path

from retrieval.snapshot.reader import open_snapshot
from tests.harness.commands import Run
from tests.ingest.sources.test_sources_file import API, FAULTY, write


def test_faults_are_listed_by_validate_and_end_a_build(tmp_path: Path, run: Run) -> None:
    path = write(tmp_path, FAULTY)
    code, out, error = run("validate", path)
    assert (code, f"{path}:5" in out, "S3CRET" in out + error) == (5, True, False)
    code, out, error = run("build", path, "--out", tmp_path / "store")
    assert (code, "line 5" in error, "S3CRET" in out + error) == (5, True, False)
    assert not (tmp_path / "store").exists()


def test_a_file_without_faults_is_valid_although_its_variables_are_not_set(tmp_path: Path, run: Run) -> None:
    text = "sources:\n  - {name: a, location: 'https://host/${NO_SUCH_VARIABLE}.json'}\n"
    code, out, _ = run("validate", write(tmp_path, text), "--json")
    assert (code, json.loads(out)["sources"]) == (0, {"files": 1, "faults": 0})


def test_the_snapshot_and_the_report_know_the_sources(tmp_path: Path, run: Run) -> None:
    (tmp_path / "api.json").write_text(json.dumps(API), encoding="utf-8")
    path = write(
        tmp_path,
        "sources:\n  - {name: billing, location: api.json, owner: finance, aliases: [acme], refresh: 1d,"
        " description: Invoices.}\n",
    )
    code, out, error = run("build", path, "--out", tmp_path / "store", "--encoder", "hashing.v1", "--json")
    assert code == 0, error
    manifest = open_snapshot(tmp_path / "store").manifest
    assert manifest.sources is not None
    (source,) = manifest.sources
    assert (source.name, source.owner, source.aliases, source.refresh_s, source.tools, source.namespaces) == (
        "billing",
        "finance",
        ("acme",),
        86_400,
        3,
        ("billing",),
    )
    assert json.loads(out)["sources"][0]["description"] == "Invoices."
    code, out, _ = run("search", "list invoices", "--store", tmp_path / "store", "--filter", "owner=finance", "--json")
    assert json.loads(out)["tools"][0]["id"] == "billing/listInvoices"
