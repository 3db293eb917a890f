"""The documents are true: their code runs, their commands exist, their tables are what the code gives."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from datagen import SyntheticRequest, ToolPath
from datagen.writing import Writer
from ontology import check_ontology, load_ontology
from services.cli.app import app
from services.jobs.build import build_snapshot
from services.server.server import Server
from tests.conftest import ROOT
from tests.docs.pages import blocks, page

README, EXTENDING = page("README.md"), page("docs/extending.md")
_LINK = re.compile(r"\]\((?!https?://)([^)#]+)")


def test_every_link_leads_somewhere(subtests: pytest.Subtests) -> None:
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]):
        with subtests.test(path.name):
            links = _LINK.findall(path.read_text(encoding="utf-8"))
            assert [link for link in links if not (path.parent / link).exists()] == []


def _printed_commands() -> list[str]:
    """Each ``egotools`` line of a block that a reader may paste, of every page."""
    pages = [README, *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md")))]
    lines = [
        line for text in pages for block in blocks(text, "bash") for line in block.replace("\\\n", " ").splitlines()
    ]
    found = [re.search(r"(?:^|/bin/)egotools (.*)", line.split(" #")[0]) for line in lines]
    return sorted({match[1].strip() for match in found if match})


def test_every_printed_command_is_understood() -> None:
    root = typer.main.get_command(app)
    unknown = []
    for line in _printed_commands():
        command: Any = root
        for word in re.split(r"\s[|>&]", line)[0].split():
            below = command.get_command(None, word) if hasattr(command, "get_command") else None
            command = below or command
        if hasattr(command, "get_command") and "run" in command.list_commands(None):
            command = command.get_command(None, "run")  # it may be left out
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        given = [word.split("=")[0] for word in line.split() if word[:2] == "--"]
        unknown += [f"{option} of {line}" for option in given if option not in {*known, "--help", "--version"}]
    assert unknown == []


def test_the_client_example_of_the_readme_runs(hr_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks(README, "python")
    names: dict[str, Any] = {}
    exec(example.replace("127.0.0.1:50051", hr_server.address), names)
    assert "hr/" in capsys.readouterr().out
    assert len(names["schemas"]) == 5
    assert all(schema["type"] == "function" for schema in names["schemas"])


def _extension(name: str) -> Any:
    for block in blocks(EXTENDING, "python"):
        if f"class {name}" in block:
            names: dict[str, Any] = {}
            exec(block, names)
            return names[name]
    raise AssertionError(name)


def test_the_extractor_and_encoder_examples_build_a_snapshot(tmp_path: Path) -> None:
    ontology = load_ontology()
    report = build_snapshot(
        [str(ROOT / "examples/enterprise/catalog/projects.csv")],
        tmp_path,
        encoder=_extension("LengthEncoder")(),
        extractor=_extension("StructureExtractor")(ontology),
        ontology=ontology,
    )
    assert report.triples.kept["has_parameter"] > 20
    assert "acts_on" not in report.triples.kept


def test_the_example_of_a_writer_writes() -> None:
    writer: Writer = _extension("PlainWriter")()
    made = writer.write(ToolPath(tools=("hr/tip",)), "single-intent", id="r", seed=0)
    assert isinstance(made, SyntheticRequest)
    assert (made.id, made.text, made.generator) == ("r", "Use hr/tip", "plain.v1")


def test_the_ontology_example_is_sound(tmp_path: Path) -> None:
    (text,) = blocks(EXTENDING, "yaml")
    path = tmp_path / "shipping.yaml"
    path.write_text(text, encoding="utf-8")
    ontology, faults = check_ontology(path)
    assert faults == []
    assert ontology is not None
    assert ontology.allows("vessel", "sails_to", "location")
    assert ontology.metadata_predicates["ship"] == "has_vessel"
    assert yaml.safe_load(text)["extends"] == "default"


def test_the_example_of_a_measured_system_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = blocks(page("docs/measuring.md"), "python")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["CompleteRecall@3", "CompleteRecall@5", "CompleteRecall@10"]
    assert (tmp_path / "report" / "runs" / "by-name.jsonl").exists()


@pytest.mark.slow
def test_the_worked_example_is_what_the_code_gives() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.worked_example", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
