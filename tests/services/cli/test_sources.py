"""The sources file with the command: it is checked, built from, and known to the snapshot."""

from __future__ import annotations

from pathlib import Path

from tests.harness.commands import Run
from tests.ingest.sources.test_sources_file import FAULTY, write


def test_faults_are_listed_by_validate_and_end_a_build(tmp_path: Path, run: Run) -> None:
    path = write(tmp_path, FAULTY)
    code, out, error = run("validate", path)
    assert (code, f"{path}:5" in out, "S3CRET" in out + error) == (5, True, False)
    code, out, error = run("build", path, "--out", tmp_path / "store")
    assert (code, "line 5" in error, "S3CRET" in out + error) == (5, True, False)
    assert not (tmp_path / "store").exists()
