"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with public measuring data beside the checkout; the test skips where there is none."""
    folder = ROOT.parent / "shared"
    if not (folder / "bench").is_dir():
        pytest.skip("no ../shared beside this checkout: the public measuring data is not here")
    return folder
