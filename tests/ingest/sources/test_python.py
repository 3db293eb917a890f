"""Python callables by their address; whatever the code of a module does, it is one rejected record, and the build goes on."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.sources import Catalog, read_catalog
from ingest.sources.python.child import read_module
from ontology.errors import CatalogError, DocumentError
from tests.harness.waiting import wait_until

MODULE = '''
from __future__ import annotations
import dataclasses, datetime, enum, typing, uuid
from collections.abc import Sequence
from pydantic import BaseModel, Field

class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"

@dataclasses.dataclass
class Place:
    city: str
    inside: Place | None = None
    zip: typing.Annotated[str, Field(description="Postal code")] = ""

class Report(typing.TypedDict):
    degrees: float
    days: list[Place]

class Inner(BaseModel):
    x: int

class Model(BaseModel):
    inner: Inner

class Opaque: ...

def google(place: Place, unit: Unit = Unit.C, *rest: int, when: datetime.date | None = None, **more: str) -> Report:
    """Tells the weather.

    Even tomorrow's.

    Args:
        place: Where it is
            asked for.
        unit (Unit): The unit: either.
        when: The day.

    Returns:
        dict: What the weather is
        and will be.

    Raises:
        ValueError: never
    """

def numpy(ids: Sequence[uuid.UUID], mode: typing.Literal["fast", "slow"], how: typing.Annotated[Opaque, "Not known"]) -> str:
    """Joins.
    :class:`Text` is made.

    Parameters
    ----------
    ids : sequence of UUID
        The ids
        to join.
    mode
        How.

    Returns
    -------
    str
        One
        text.
    """

async def sphinx(a, b=3, c: "Nowhere" = None) -> None:
    """Does it.

    :param a: first
      of all
    :param int b: second
    :returns: nothing
    """

def model(m: Model) -> list[Model]: ...

class Box:
    def put(self, thing: str) -> bool:
        """Puts."""

def _private(): ...
not_callable = 3
both = [google, numpy]
sum_ = sum
'''


@pytest.fixture
def weather(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "weather_tools_for_test.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "broken_tools_for_test.py").write_text("import nowhere_at_all\n", encoding="utf-8")
    (tmp_path / "exiting_tools_for_test.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    sys.modules.pop("weather_tools_for_test", None)


def read(*names: str) -> Catalog:
    return read_catalog([f"python:weather_tools_for_test{name}" for name in names])


@pytest.mark.usefixtures("weather")
def test_hints_and_a_google_docstring() -> None:
    (tool,) = read(":google").tools
    assert tool.description == "Tells the weather. Even tomorrow's."
    assert [(p.name, p.type, p.required, p.description) for p in tool.parameters] == [
        ("place", "object", True, "Where it is asked for."),
        ("place.city", "string", True, ""),
        ("place.inside", "object", False, ""),
        ("place.zip", "string", False, "Postal code"),
        ("unit", "string", False, "The unit: either."),
        ("when", "string", False, "The day."),
    ]
    assert tool.parameters[4].enum == ("celsius", "fahrenheit")
    assert tool.parameters[5].format == "date"
    assert tool.output_schema is not None and tool.output_schema["title"] == "Report"
    assert [output.name for output in tool.returns][:4] == ["degrees", "days", "days[].city", "days[].inside"]


@pytest.mark.usefixtures("weather")
def test_a_numpy_docstring_and_a_hint_that_json_cannot_express() -> None:
    (tool,) = read(":numpy").tools
    assert tool.description == "Joins. :class:Text is made."
    assert [(p.name, p.type, p.enum, p.description) for p in tool.parameters] == [
        ("ids", "array", (), "The ids to join."),
        ("mode", "string", ("fast", "slow"), "How."),
        ("how", "any", (), "Not known"),
    ]
    assert [(o.name, o.type, o.description) for o in tool.returns] == [("result", "string", "One text.")]


@pytest.mark.usefixtures("weather")
def test_a_sphinx_docstring_without_usable_hints() -> None:
    (tool,) = read(":sphinx").tools
    assert [(p.name, p.type, p.required, p.description) for p in tool.parameters] == [
        ("a", "any", True, "first of all"),
        ("b", "integer", False, "second"),
        ("c", "any", False, ""),
    ]
    assert tool.description == "Does it."


@pytest.mark.usefixtures("weather")
def test_models_methods_and_lists_of_functions() -> None:
    catalog = read(":model", ":Box.put", ":both")
    by_name = {tool.name: tool for tool in catalog.tools}
    assert list(by_name) == ["put", "google", "numpy", "model"]
    assert [p.name for p in by_name["model"].parameters] == ["m", "m.inner", "m.inner.x"]
    assert [o.name for o in by_name["model"].returns] == ["[].inner", "[].inner.x"]
    assert [p.name for p in by_name["put"].parameters] == ["thing"]


@pytest.mark.usefixtures("weather")
@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("python:weather_tools_for_test:nothing", "has no 'nothing'"),
        ("python:weather_tools_for_test:not_callable", "not callable"),
        ("python:broken_tools_for_test", "nowhere_at_all"),
        ("python:exiting_tools_for_test", "SystemExit"),
        ("python:", "cannot be imported"),
        ("python:..:x", "cannot be imported"),
    ],
)
def test_what_cannot_be_imported_is_said(address: str, says: str) -> None:
    with pytest.raises(CatalogError) as caught:
        read_catalog([address])
    assert says in str(caught.value)


GOOD = '"""Good."""\nimport sys\nprint("noise" * 1000)\nsys.stderr.write("more noise")\ndef find(name: str) -> str:\n    """Find a thing."""\n'
BAD = {
    "base_exception": "class Stop(BaseException): pass\nraise Stop('S3CRET')\n",
    "ends_process": "import os\nos._exit(0)\n",
    "ends_process_later": "import os\ndef __getattr__(name):\n    os._exit(0)\n__all__ = ['x']\n",
    "raises_from_attributes": "__all__ = ['x']\ndef __getattr__(name):\n    raise KeyboardInterrupt(name)\n",
    "fakes_the_answer": "import os\nprint('{\"end\": true}', flush=True)\nos._exit(0)\n",
    "crashes": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, code in {"good": GOOD, **BAD}.items():
        (tmp_path / f"{name}_for_child_test.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return tmp_path


def read_children(*names: str) -> Catalog:
    return read_catalog([f"python:{name}_for_child_test" for name in names])


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", sorted(BAD))
def test_a_module_with_hostile_code_is_one_rejected_record(name: str) -> None:
    catalog = read_children(name, "good")
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
    modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (modules / "own" / "ingest").mkdir(parents=True)
    (modules / "own" / "ingest" / "__init__.py").write_text("raise SystemExit", encoding="utf-8")
    code = "import os\ndef find(name: str): ...\nfind.__doc__ = 'Find with ' + os.environ['KEY'] + '.'\n"
    (modules / "own" / "of_the_source.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("OUR_KEY", "S3CRET-of-ours")
    env = {"PYTHONPATH": f"{modules / 'own'}", "KEY": "${OUR_KEY}"}
    source = {"name": "ours", "location": "python:of_the_source", "env": env}
    (modules / "sources.yaml").write_text(f"sources:\n  - {json.dumps(source)}\n", encoding="utf-8")
    catalog = read_catalog([str(modules / "sources.yaml")])
    assert [(tool.id, tool.description) for tool in catalog.tools] == [("ours/find", "Find with ***.")]
    assert catalog.rejected == ()
