"""What deploy/ has is true of the server: metrics exist, alerts are explained, settings and probes are those of the code."""

import asyncio
import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import grpc
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

import ontology.errors as errors_module
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from ontology.errors import EgotoolsError
from services.cli.app import app
from services.server.calls import reason_of
from services.server.observe.metrics import FALLBACK_KINDS, METHODS, STAGES
from services.server.settings import ENV_PREFIX, ServerSettings
from tests.conftest import ROOT
from tests.deploy.promql import groupings, matchers, metrics
from tests.harness.engines import serving, small_engine, small_settings
from tests.services.server.observe.scraping import fetch

DEPLOY = ROOT / "deploy"
ALERTS = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
DASHBOARD = json.loads((DEPLOY / "grafana" / "egotools.json").read_text(encoding="utf-8"))
PANELS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
SCALED_BY = re.findall(
    r"metric: {name: (\w+)}",
    (DEPLOY / "helm" / "egotools" / "templates" / "availability.yaml").read_text(encoding="utf-8"),
)
EXPRESSIONS = [*(rule["expr"] for rule in ALERTS), *PANELS, *SCALED_BY]
BY_PROMETHEUS = {"job", "instance", "le"}
REASONS = {
    reason_of(error)
    for name in vars(errors_module)
    if isinstance(kind := getattr(errors_module, name), type) and issubclass(kind, EgotoolsError)
    for error in [kind.__new__(kind)]
}


@pytest.fixture(scope="module")
def scraped() -> dict[str, set[str]]:
    """Metric → its labels, of a real scrape of a server that answered, refused and failed."""

    async def scrape() -> str:
        engine = small_engine()
        async with serving(engine, small_settings(metrics_port=0)) as server:
            async with grpc.aio.insecure_channel(server.address) as channel:
                stub = pb_grpc.ToolRetrievalStub(channel)
                await stub.Retrieve(pb.RetrieveRequest(query="customer", auto_k=True))
                await asyncio.gather(stub.GetTool(pb.GetToolRequest(id="no/tool")), return_exceptions=True)
            server.metrics.publication_refused("")
            assert server.metrics_port
            return (await fetch(server.metrics_port, "/metrics"))[2]

    found: dict[str, set[str]] = {"up": {"job", "instance"}}
    for family in text_string_to_metric_families(asyncio.run(scrape())):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_every_metric_and_label_of_an_expression_is_in_a_scrape(
    scraped: dict[str, set[str]], subtests: pytest.Subtests
) -> None:
    for expression in EXPRESSIONS:
        with subtests.test(ascii(expression)):
            names = metrics(expression)
            assert names and names <= set(scraped), names - set(scraped)
            labels = set().union(*(scraped[name] for name in names)) | BY_PROMETHEUS
            assert groupings(expression) <= labels
            for metric, label, _ in matchers(expression):
                assert label in scraped[metric] | BY_PROMETHEUS, f"{metric} has no label {label}"


def test_every_value_that_an_expression_selects_is_one_that_the_server_gives() -> None:
    known = {
        "method": METHODS,
        "code": {code.name for code in grpc.StatusCode},
        "reason": REASONS,
        "kind": set(FALLBACK_KINDS),
        "stage": set(STAGES),
        "job": {"egotools"},
    }
    for expression in EXPRESSIONS:
        for _, label, value in matchers(expression):
            if label != "instance":
                assert set(value.split("|")) <= known[label], f"{label}={value}"


# -- settings ----------------------------------------------------------------------------------------------------------


def settings_of(environ: dict[str, str]) -> ServerSettings:
    """The settings of an environment, in which every name is one of the server."""
    known = {ENV_PREFIX + entry.name.upper() for entry in fields(ServerSettings)}
    unknown = {name for name in environ if name.startswith(ENV_PREFIX)} - known
    assert unknown == set()
    return ServerSettings.from_env(environ)


def serve_options(words: list[str]) -> None:
    """Fail where ``egotools serve`` does not have an option."""
    shown = CliRunner().invoke(app, [words[0], "--help-all"]).output
    assert words[0] == "serve" and all(word in shown for word in words if word.startswith("--"))


def test_the_unit_starts_the_server_with_settings_that_exist() -> None:
    unit = configparser.RawConfigParser(strict=False, comment_prefixes=("#",))
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "systemd" / "egotools.service", encoding="utf-8")
    service = dict(unit["Service"])
    lines = (DEPLOY / "systemd" / "egotools.env").read_text(encoding="utf-8").splitlines()
    settings = settings_of(dict(line.split("=", 1) for line in lines if line and not line.startswith("#")))
    program, *words = shlex.split(service["ExecStart"])
    assert program.endswith("/.venv/bin/egotools")
    serve_options(words)
    assert float(service["TimeoutStopSec"]) > settings.grace_s + settings.drain_s
    assert settings.audit_log is not None and Path("/var/log", service["LogsDirectory"]) in settings.audit_log.parents
    assert words[words.index("--store") + 1].startswith(f"/var/lib/{service['StateDirectory']}/")
    assert (service["User"], service["ProtectSystem"], service["NoNewPrivileges"]) == ("egotools", "strict", "yes")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_reads_the_unit_and_finds_it_confined(tmp_path: Path) -> None:
    unit = (DEPLOY / "systemd" / "egotools.service").read_text(encoding="utf-8")
    here = tmp_path / "egotools.service"
    here.write_text(unit.replace("/opt/egotools/.venv/bin/egotools", sys.executable), encoding="utf-8")

    def analyzed(*words: str) -> tuple[int, str]:
        done = subprocess.run(["systemd-analyze", *words, here], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    assert analyzed("verify", "--man=no") == (0, "")
    # Of 100; a unit without limits has 96.
    code, said = analyzed("security", "--offline=yes", "--threshold=15", "--no-pager")
    assert code == 0, said
