"""A store of a small catalogue whose tools are changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.reliability.changing import built


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with twelve tools; copy it before it is changed."""
    store = tmp_path_factory.mktemp("changing") / "store"
    built(store)
    return store


@pytest.fixture
def store(base: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    subprocess.run(["cp", "-r", base, tmp_path / "store"], check=True)
    return tmp_path / "store"
