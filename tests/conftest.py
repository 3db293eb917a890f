"""What all tests share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux accounts to processes")

# No test depends on the speed of the machine, and CI draws the same examples every time.
settings.register_profile(
    "egotools",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    derandomize="CI" in os.environ,
)
settings.load_profile("egotools")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with public measuring data beside the checkout; the test skips where there is none."""
    folder = ROOT.parent / "shared"
    if not (folder / "bench").is_dir():
        pytest.skip("no ../shared beside this checkout: the public measuring data is not here")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that several processes end at about the same time."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
