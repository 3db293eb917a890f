"""Whatever the code of a module does, it is one rejected record, and the build goes on."""

import json
import sys
from pathlib import Path

import pytest

from ingest.sources import Catalog, read_catalog
from ingest.sources.python.child import read_module
from ontology.errors import DocumentError
from tests.harness.waiting import wait_until

GOOD = '"""Good."""\nimport sys\nprint("noise" * 1000)\nsys.stderr.write("more noise")\ndef find(name: str) -> str:\n    """Find a thing."""\n'
BAD = {
    "base_exception": "class Stop(BaseException): pass\nraise Stop('S3CRET')\n",
    "ends_process": "import os\nos._exit(0)\n",
    "ends_process_later": "import os\ndef __getattr__(name):\n    os._exit(0)\n__all__ = ['x']\n",
    "raises_from_attributes": "__all__ = ['x']\ndef __getattr__(name):\n    raise KeyboardInterrupt(name)\n",
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


def read(*names: str) -> Catalog:
    return read_catalog([f"python:{name}_for_child_test" for name in names])


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_module_with_hostile_code_is_one_rejected_record(name: str) -> None:
    catalog = read(name, "good")
    assert [tool.id for tool in catalog.tools] == ["good_for_child_test/find"]
    assert [(record.subject, record.reason) for record in catalog.rejected] == [
        (f"python:{name}_for_child_test", "not-importable")
    ]
    assert f"{name}_for_child_test" not in sys.modules


def test_a_module_that_hangs_is_killed_with_what_it_started(modules: Path) -> None:
    code = (
        "import pathlib, subprocess, time\n"
        "held = subprocess.Popen(['sleep', '600'])\n"
        "pathlib.Path('pid').write_text(str(held.pid))\n"
        "time.sleep(600)\n"
    )
    (modules / "starts_for_child_test.py").write_text(code, encoding="utf-8")
    with pytest.raises(DocumentError, match=r"not read within 15 s"):
        list(read_module("python:starts_for_child_test", timeout_s=15))
    pid = int((modules / "pid").read_text())
    wait_until(lambda: not _runs(pid))


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_variables_of_a_source_reach_its_module_and_no_text_and_the_path_of_modules_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own" / "ingest").mkdir(parents=True)
    (tmp_path / "own" / "ingest" / "__init__.py").write_text("raise SystemExit", encoding="utf-8")
    code = "import os\ndef find(name: str): ...\nfind.__doc__ = 'Find with ' + os.environ['KEY'] + '.'\n"
    (tmp_path / "own" / "of_the_source.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("OUR_KEY", "S3CRET-of-ours")
    env = {"PYTHONPATH": f"{tmp_path / 'own'}", "KEY": "${OUR_KEY}"}
    source = {"name": "ours", "location": "python:of_the_source", "env": env}
    (tmp_path / "sources.yaml").write_text(f"sources:\n  - {json.dumps(source)}\n", encoding="utf-8")
    catalog = read_catalog([str(tmp_path / "sources.yaml")])
    assert [(tool.id, tool.description) for tool in catalog.tools] == [("ours/find", "Find with ***.")]
    assert catalog.rejected == ()
