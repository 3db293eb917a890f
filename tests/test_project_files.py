"""What the project is installed from: every list of requirements is locked with hashes."""

import re
import tomllib

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_requirement_file_is_locked_with_hashes() -> None:
    of_agents = {
        "langchain",
        "llamaindex",
        "openai-agents",
        "pydantic-ai",
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
