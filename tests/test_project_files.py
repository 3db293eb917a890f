"""Makefile, CI and hooks agree: what is checked before a commit is what CI checks."""

import os
import re
import subprocess
import tomllib

import yaml

from tests.conftest import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def targets() -> set[str]:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    return set(phony.split())


def make(*arguments: str) -> str:
    """What a make of its own prints: not that of a make which runs these tests, whose variables it would inherit."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKELEVEL", "MAKEFLAGS", "MFLAGS")
    }
    made = subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=True, env=environment)
    return made.stdout


def commands(*goals: str) -> str:
    """What make would run for these goals in a checkout whose environment is there."""
    return make("--dry-run", *goals)


def test_make_lists_every_target_with_its_help() -> None:
    shown = make()
    assert {line.split()[0] for line in shown.splitlines()} == targets()
    assert all(len(line.split()) > 2 for line in shown.splitlines())


def test_the_hooks_run_what_make_check_runs() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [repository["repo"] for repository in hooks] == ["local"], "a hook may download nothing"
    entries = {hook["id"]: hook["entry"] for hook in hooks[0]["hooks"]}
    checked = commands("check")
    for hook in ("ruff-check", "ruff-format", "mypy", "stubs"):
        tool = " ".join(word for word in entries[hook].split() if word not in ("--fix", "--force-exclude"))
        assert tool in checked, hook


def test_the_workflow_runs_the_interpreters_that_are_promised() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    matrix = workflow["jobs"]["platforms"]["strategy"]["matrix"]
    assert PROJECT["project"]["requires-python"] == f">={matrix['python'][0]}"
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert all(re.fullmatch(r"\S+@v\d+\.\d+\.\d+", step["uses"]) for step in steps if "uses" in step)


def test_every_requirement_file_is_locked_with_hashes() -> None:
    of_agents = {
        "langchain",
        "llamaindex",
        "openai-agents",
        "pydantic-ai",
        "fastmcp",
        "haystack",
    }  # not installed alone
    extras = {*PROJECT["project"]["optional-dependencies"], "default", *PROJECT["dependency-groups"]} - {"build"}
    extras -= of_agents
    files = {path.stem for path in (ROOT / "requirements").glob("*.txt")}
    assert files == extras
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        pinned = re.split(r"^(?=[a-z0-9][^\s=]*==)", text, flags=re.MULTILINE)[1:]
        assert pinned and [pin.split()[0] for pin in pinned if "--hash=sha256:" not in pin] == [], path.name
        assert "://" not in text, f"{path.name} names the host of an index"
