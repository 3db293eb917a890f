"""The overlay file: every fault with its line, and what is kept of it."""

from pathlib import Path

import pytest

from ingest.overlay.overlay_file import check_overlay, is_overlay_file

FAULTY = """\
systems:
  Tracker: [bugs]
namespaces:
  tracker:
    synonyms: {bug: issue}
    colour: red
    context_parameters: workspace
    tools:
      list_bugs:
        hidden: perhaps
        boost: 2
        description:
        append_description: "ask with password=S3CRETS3CRET1"
        descripton: typing error
        requests: [find my bugs]
        parameters:
          q: text
        depends_on:
          - find_people
          - {parameter: member}
      list_bugs: {hidden: true}
  other:
    context_parameters: [project]
    not_context_parameters: [project]
"""


def write(folder: Path, text: str, name: str = "overlay.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_fault_has_its_line(tmp_path: Path) -> None:
    overlay, faults = check_overlay(write(tmp_path, FAULTY))
    assert overlay is None
    found = [(fault.line, fault.problem) for fault in faults]
    expected = [
        (1, "systems is gone"),
        (5, "synonyms is gone"),
        (6, "unknown key 'colour'"),
        (7, "context_parameters must be a list"),
        (10, "hidden must be true or false"),
        (11, "boost must be a number from -1 to 1"),
        (12, "description is empty"),
        (13, "looks like a secret"),
        (14, "unknown key 'descripton'"),
        (15, "unknown key 'requests'"),
        (17, "parameters.q must be a mapping"),
        (20, "an item of depends_on has no tool"),
        (21, "has the key 'list_bugs' twice"),
        (24, "'project' is also in context_parameters"),
    ]
    assert [line for line, _ in found] == [line for line, _ in expected]
    assert [text for (_, problem), (_, text) in zip(found, expected, strict=True) if text not in problem] == []
    assert "S3CRET" not in str(faults)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.yaml", "namespaces: {}\n", True),
        ("a.yml", "# words\nsystems: {}\n", True),
        ("a.yaml", "openapi: 3.0.0\nx:\n  namespaces: 1\n", False),
        ("a.json", "namespaces: {}\n", False),
    ],
)
def test_an_overlay_file_is_known_by_its_top_level_keys(tmp_path: Path, name: str, text: str, expected: bool) -> None:
    assert is_overlay_file(write(tmp_path, text, name)) is expected


@pytest.mark.parametrize(
    ("boost", "is_fault"), [("-1", False), ("1", False), ("-1.01", True), ("1.01", True), (".nan", True)]
)
def test_a_boost_has_two_bounds(tmp_path: Path, boost: str, is_fault: bool) -> None:
    overlay, faults = check_overlay(write(tmp_path, f"namespaces: {{desk: {{tools: {{a: {{boost: {boost}}}}}}}}}"))
    assert (overlay is None) == bool(faults) == is_fault
    assert [fault.problem for fault in faults] == ["a.boost must be a number from -1 to 1"] * is_fault
