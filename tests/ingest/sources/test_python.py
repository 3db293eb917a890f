"""Python callables by their address."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.sources import Catalog, read_catalog
from ontology.errors import CatalogError

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
