"""Versions on disk: numbered, unverified until they are marked, and believed only as they were written."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import StorageError
from ontology.files import only_writer
from planners.graphseek.adapt import VERSION, OperatorVersion, VersionFolder
from planners.graphseek.results import ResultColumn

VERSION_1 = OperatorVersion(
    operator="sites",
    dialect="bolt",
    schema="f" * 64,
    template="MATCH (s:Site {name: $of})\nRETURN s AS site",
    parameters={"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"]},
    columns=(ResultColumn(name="site", type="node", node_type="Site"),),
    example={"of": "Zürich"},
)


def _write(folder: Path, name: str, content: Any) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).write_text(text, encoding="utf-8")


def test_files_that_were_damaged_changed_or_made_by_somebody_else_are_left_out(tmp_path: Path) -> None:
    folder = VersionFolder(tmp_path)
    kept = folder.add(VERSION_1)
    whole = json.loads((tmp_path / "sites.1.json").read_text(encoding="utf-8"))
    of_seven = dataclasses.replace(VERSION_1, number=7)
    _write(tmp_path, "sites.2.json", whole)  # a copy under another name
    _write(tmp_path, "sites.3.json", json.dumps(whole)[:-40])
    _write(tmp_path, "sites.4.json", {**whole, "version": {**whole["version"], "number": 4, "template": "MATCH (n)"}})
    _write(tmp_path, "sites.5.json", {"digest": "", "version": {**whole["version"], "run": "import os"}})
    _write(tmp_path, "sites.6.json", "[" * 100_000)
    _write(
        tmp_path,
        "sites.7.json",
        {"digest": of_seven.digest, "version": {**VERSION.dump_python(of_seven), "status": "trusted"}},
    )
    _write(tmp_path, "sites.8.json", '"' + "x" * 300_000 + '"')
    _write(tmp_path, "sites.9.json", [])
    (tmp_path / "sites.10.json").write_bytes(b"\xff\x00")
    (tmp_path / "sites.11.json").mkdir()
    _write(tmp_path, "..sites.json", whole)
    _write(tmp_path, "notes.txt", "mine")
    assert folder.versions() == (kept,)
    told = {problem.split(".json: ")[0]: problem for problem in folder.problems}
    assert sorted(told, key=lambda name: int(name.split(".")[1])) == [f"sites.{number}" for number in range(2, 11)]
    for name, said in (
        ("sites.2", "digest does not fit"),
        ("sites.4", "digest does not fit"),
        ("sites.5", "'run'"),
        ("sites.7", "'status'"),
        ("sites.8", "262,144 bytes"),
    ):
        assert said in told[name], told[name]
    assert folder.add(dataclasses.replace(VERSION_1, dialect="ladybug")).name == "sites.12", "no file is written over"


def test_a_folder_that_another_process_writes_or_that_is_none_is_a_named_error(tmp_path: Path) -> None:
    folder = VersionFolder(tmp_path)
    with only_writer(tmp_path), pytest.raises(StorageError, match="another process"):
        folder.add(VERSION_1)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageError):
        VersionFolder(tmp_path / "file").add(VERSION_1)
