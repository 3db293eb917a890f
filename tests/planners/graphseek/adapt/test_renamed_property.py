"""A property is renamed under a running service: the model's version serves the run that made it, and all runs once it is approved."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from planners.graphseek.adapt import VersionFolder
from planners.graphseek.turn import Faulted, ModelAsked, OperatorAdapted, ResultKept
from planners.stores.ladybug import open_ladybug_reader
from tests.planners.graphseek.adapt.renamed_graph import (
    CALL,
    GIVES_UP,
    RIGHT,
    TOLD,
    WRONG,
    Service,
    proposal,
    rename_property,
)
from tests.planners.graphseek.agent.http_run import calls
from tests.planners.graphseek.agent.small_ev import write_small_ev

REGION = calls(("traverse", {"start": {"handle": "t2"}, "relationship_types": ["LOCATED_IN"]}))


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, loop: asyncio.Runner) -> Iterator[Service]:
    """A service that answered the question before the property was renamed."""
    folder = tmp_path_factory.mktemp("service")
    write_small_ev(folder / "ev.lbug")
    context = open_ladybug_reader(folder / "ev.lbug")
    service = Service(loop.run(context.__aenter__()), folder)
    service.accepted = loop.run(service.graph.schema()).fingerprint
    before = loop.run(service.ask(CALL, TOLD, versions=(proposal(),)))
    assert (before.run.end.outcome, before.asked) == ("answered", [])
    rename_property(folder / "ev.lbug")
    yield service
    loop.run(context.__aexit__(None, None, None))


@pytest.fixture
def service(opened: Service, tmp_path: Path) -> Service:
    """The same service, with a folder of versions of its own."""
    return Service(opened.graph, tmp_path, opened.accepted)


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run the command, and return what it printed."""
    from services.cli.app import app

    app([*map(str, arguments)], standalone_mode=False)
    return capsys.readouterr().out


def test_a_version_serves_its_run_then_all_once_it_is_approved_and_none_when_it_is_taken_back(
    service: Service, loop: asyncio.Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = loop.run(service.ask(CALL, GIVES_UP))
    (fault,) = fails.of(Faulted)
    assert (fault.kind, fails.run.end.outcome) == ("unknown name", "asked back"), "no model proposes anything"

    made = loop.run(service.ask(CALL, CALL, REGION, TOLD, versions=(proposal(WRONG), proposal())))
    assert (made.run.end.outcome, len(made.asked)) == ("answered", 2), made.events
    assert "Cannot find property name" in made.asked[1]["messages"][-1]["content"], "the engine says it"
    (adapted,) = made.of(OperatorAdapted)
    assert (adapted.version, adapted.problem) == ("sites_of_module.1", "")
    assert "make the call again" in made.run.records[0].outcomes[0].hint  # type: ignore[union-attr]
    kept, region = made.of(ResultKept)
    assert "Northern Europe" in region.summary, "its nodes are those that other operators take"
    assert kept.notes == ("By version sites_of_module.1, which is unverified.",)
    assert made.run.model_calls == len(made.of(ModelAsked)) == 6

    other = loop.run(service.ask(CALL, CALL, GIVES_UP))
    assert [each.kind for each in other.of(Faulted)] == ["unknown name", "repeated"], (
        "unverified: it serves no other run"
    )

    folder = ("--folder", service.versions)
    assert "sites_of_module.1  unverified" in command(capsys, "admin", "operators", "list", *folder)
    assert RIGHT in command(capsys, "admin", "operators", "show", "sites_of_module.1", *folder)
    assert "Approved" in command(capsys, "admin", "operators", "approve", "sites_of_module.1", *folder)
    serves = loop.run(service.ask(CALL, TOLD))
    assert (serves.run.end.outcome, serves.of(Faulted)) == ("answered", [])

    assert "as it is shipped serves" in command(capsys, "admin", "operators", "rollback", "sites_of_module", *folder)
    (fault,) = loop.run(service.ask(CALL, GIVES_UP)).of(Faulted)
    assert fault.kind == "unknown name"


def test_an_approved_version_is_for_its_schema_alone_and_is_checked_again(
    service: Service, loop: asyncio.Runner, caplog: pytest.LogCaptureFixture
) -> None:
    loop.run(service.ask(CALL, CALL, TOLD, versions=(proposal(),)))
    versions = VersionFolder(service.versions)
    versions.mark("sites_of_module.1", "approved")
    file = service.versions / "sites_of_module.1.json"
    as_approved = file.read_text(encoding="utf-8")
    for change, said in (
        ({"schema": service.accepted}, ""),
        ({"template": f"{RIGHT} LIMIT 1"}, "its digest does not fit"),
        ({"template": "MATCH (m:BatteryModule {title: $module_name}) DETACH DELETE m"}, "DETACH changes the graph"),
    ):
        given = json.loads(file.read_text(encoding="utf-8"))
        changed = {**given["version"], **change}
        digest = given["digest"] if "digest" in said else _digest(changed)
        (service.versions / "sites_of_module.1.json").write_text(json.dumps({"digest": digest, "version": changed}))
        caplog.clear()
        ran = loop.run(service.ask(CALL, GIVES_UP))
        assert [each.kind for each in ran.of(Faulted)] == ["unknown name"], change
        assert said in caplog.text and bool(said) == bool(caplog.text)
        file.write_text(as_approved, encoding="utf-8")


def _digest(version: dict[str, object]) -> str:
    from planners.graphseek.adapt import VERSION

    return VERSION.validate_json(json.dumps(version)).digest


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (proposal("MATCH (m:BatteryModule) RETURN m AS factory_site"), "does not use $module_name"),
        (proposal(f"{RIGHT} LIMIT $most"), "$most is no argument"),
        (
            proposal(RIGHT.replace("AS factory_site", "AS site")),
            "the column factory_site (a node of type FactorySite) is missing",
        ),
        (proposal(RIGHT.replace("s AS", "m AS")), "(a node of type BatteryModule)"),
        (proposal(RIGHT.replace("s AS", "s.key AS")), "factory_site (string), and must be"),
        (proposal(f"{RIGHT} LIMIT 0"), "gives no rows"),
    ],
)
def test_what_breaks_the_contract_or_the_limits_is_refused(
    service: Service, loop: asyncio.Runner, answer: dict[str, object], fault: str
) -> None:
    ran = loop.run(service.ask(CALL, GIVES_UP, versions=(answer,)))
    (adapted,) = ran.of(OperatorAdapted)
    assert adapted.version == "" and fault in adapted.problem, adapted.problem
