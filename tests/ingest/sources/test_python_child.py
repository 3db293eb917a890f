"""Whatever the code of a module does, it is one rejected record, and the build goes on."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ingest.sources import Catalog, read_catalog
from ingest.sources.python import child
from ingest.sources.python.child import read_module
from ontology.errors import DocumentError
from ontology.tool import Tool

GOOD = '"""Good."""\nimport sys\nprint("noise" * 1000)\nsys.stderr.write("more noise")\ndef find(name: str) -> str:\n    """Find a thing."""\n'
BAD = {
    "base_exception": "class Stop(BaseException): pass\nraise Stop('S3CRET')\n",
    "ends_process": "import os\nos._exit(0)\n",
    "ends_process_later": "import os\ndef __getattr__(name):\n    os._exit(0)\n__all__ = ['x']\n",
    "raises_from_attributes": "__all__ = ['x']\ndef __getattr__(name):\n    raise KeyboardInterrupt(name)\n",
    "never_ends": "import time\nprint('started', flush=True)\ntime.sleep(600)\n",
    "fakes_the_answer": "import os\nprint('{\"end\": true}', flush=True)\nos._exit(0)\n",
    "crashes": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
}


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, code in {"good": GOOD, **BAD}.items():
        (tmp_path / f"{name}_for_child_test.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return tmp_path


@pytest.fixture
def many_open_files() -> Iterator[None]:
    """More descriptors than ``select()`` takes, as a server with many connections has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2_048:
        pytest.skip(f"a process may open only {hard} files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2_048), hard))
    with ExitStack() as opened:
        null = opened.enter_context(open(os.devnull, "rb"))
        while (copy := os.dup(null.fileno())) < 1_100:
            opened.callback(os.close, copy)
        opened.callback(os.close, copy)
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def read(*names: str) -> Catalog:
    return read_catalog([f"python:{name}_for_child_test" for name in names])


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_module_with_hostile_code_is_one_rejected_record(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "never_ends":
        original = child._run
        monkeypatch.setattr(
            child, "_run", lambda address, _s, env: original(address, 3.0 if name in address else 60.0, env)
        )
    catalog = read(name, "good")
    assert [tool.id for tool in catalog.tools] == ["good_for_child_test/find"]
    assert [(record.subject, record.reason) for record in catalog.rejected] == [
        (f"python:{name}_for_child_test", "not-importable")
    ]
    assert f"{name}_for_child_test" not in sys.modules


def test_a_long_message_of_a_module_is_cut(modules: Path) -> None:
    code = f"raise RuntimeError('begin sk-S3CRETS3CRET ' + 'x' * {6_000_000})\n"
    (modules / "long_for_child_test.py").write_text(code, encoding="utf-8")
    started = time.process_time()
    (record,) = read("long", "good").rejected
    assert record.detail.startswith("the module cannot be imported: RuntimeError: begin *** xxx")
    assert len(record.detail) <= 500
    assert time.process_time() - started < 2


def test_a_module_that_hangs_is_killed_with_what_it_started(modules: Path) -> None:
    code = (
        "import pathlib, subprocess, time\n"
        "held = subprocess.Popen(['sleep', '600'])\n"
        "pathlib.Path('pid').write_text(str(held.pid))\n"
        "time.sleep(600)\n"
    )
    (modules / "starts_for_child_test.py").write_text(code, encoding="utf-8")
    with pytest.raises(DocumentError, match=r"not read within 4 s"):
        list(read_module("python:starts_for_child_test", timeout_s=4))
    pid = int((modules / "pid").read_text())
    for _ in range(100):
        if not _runs(pid):
            break
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_tools_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "MAX_ANSWER_BYTES", 100)
    with pytest.raises(DocumentError, match="larger than 100 bytes"):
        list(read_module("python:good_for_child_test"))


def test_a_tool_arrives_as_it_was_read(modules: Path) -> None:
    (tool,) = read_module("python:good_for_child_test")
    assert isinstance(tool, Tool)
    assert (tool.name, tool.description, [p.name for p in tool.parameters]) == ("find", "Find a thing.", ["name"])
    assert tool.input_schema is not None and tool.input_schema["required"] == ["name"]
    assert tool.call is not None and tool.call.operation == "good_for_child_test:find"
    assert json.loads(json.dumps(tool.to_json()))
    assert str(os.getcwd()) not in sys.path


def test_the_variables_of_a_source_reach_its_module_and_the_path_of_modules_is_one(tmp_path: Path) -> None:
    (tmp_path / "own" / "ingest").mkdir(parents=True)
    (tmp_path / "own" / "ingest" / "__init__.py").write_text("raise SystemExit", encoding="utf-8")
    code = 'import os\ndef find(name: str = os.environ["KIND"]):\n    """Find."""\n'
    (tmp_path / "own" / "of_the_source.py").write_text(code, encoding="utf-8")
    source = {
        "name": "a",
        "location": "python:of_the_source",
        "env": {"PYTHONPATH": f"{tmp_path / 'own'}", "KIND": "x"},
    }
    (tmp_path / "sources.yaml").write_text(f"sources:\n  - {json.dumps(source)}\n", encoding="utf-8")
    catalog = read_catalog([str(tmp_path / "sources.yaml")])
    (tool,) = catalog.tools
    assert tool.parameters[0].default == "x" and catalog.rejected == ()


def test_a_process_with_more_open_files_than_select_takes_reads_a_module(many_open_files: None) -> None:
    catalog = read("good")
    assert ([tool.id for tool in catalog.tools], catalog.rejected) == (["good_for_child_test/find"], ())
