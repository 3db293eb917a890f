"""A real Neo4j in a process of its own, for tests; ``neo4j_engine/fetch.sh`` must have fetched it."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

_ENGINE = Path(__file__).resolve().parents[3] / "build" / "neo4j-engine"
# Half of the memory that Neo4j would take by itself; the flags halve the seconds of its start.
_JAVA = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


@contextlib.contextmanager
def running_neo4j(folder: Path) -> Iterator[str]:
    """Start it, and give its address; the test skips where it is not there."""
    class_path = _ENGINE / "classpath.txt"
    if shutil.which("java") is None or not class_path.is_file():
        pytest.skip("no Neo4j here: tests/planners/stores/neo4j_engine/fetch.sh fetches it (Java 17, Maven)")
    folder.mkdir(parents=True, exist_ok=True)
    command = [*_JAVA, "-cp", f"{_ENGINE}:{class_path.read_text(encoding='utf-8').strip()}", "Neo4jEngine", str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            address = next((line.split()[1] for line in process.stdout if line.startswith("BOLT ")), None)
            assert address is not None, "Neo4j ended before it was ready"
            yield address.rstrip("/")
        finally:
            process.kill()
