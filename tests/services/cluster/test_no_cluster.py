"""Without a cluster, commands with ``--on`` say what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ontology.errors import InvalidArgumentError
from services.cluster.node_server import NodeServer
from services.cluster.ray_cluster import RECONNECT, on_ray
from services.cluster.serve_on_ray import node_variables, serve_on_ray
from services.server.catalogs_file import CatalogEntry
from services.server.settings import ServerSettings
from tests.harness.commands import Run


def test_another_place_is_refused() -> None:
    assert not on_ray("local")
    with pytest.raises(InvalidArgumentError, match="there is no place 'spark'"):
        on_ray("spark")


def test_any_free_port_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="needs its port again"):
        serve_on_ray(ServerSettings(port=0), store=CatalogEntry(store=tmp_path))


def test_without_the_extra_its_name_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.cluster.ray_cluster.find_spec", lambda name: None)
    code, _, err = run("build", "examples/enterprise/catalog", "--on", "ray", "--json")
    assert code == 9
    assert "requirements/ray.txt" in json.loads(err)["remedy"]


def test_a_node_that_would_end_with_the_head_serves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RECONNECT, raising=False)
    server = NodeServer([], {})
    assert server.state()["ready"] == {}
    assert RECONNECT in server.state()["problem"]
    server.stop()


def test_every_setting_reaches_the_node(tmp_path: Path) -> None:
    told = ServerSettings(
        insecure=True,
        port=50_099,
        processes=2,
        grace_s=1.5,
        metrics_port=9_000,
        host="10.0.0.7",
        tls_key=tmp_path / "key",
    )
    variables = node_variables(told, {"EGOTOOLS_ALLOWED_MODELS": "m", "EGOTOOLS_HOST": "10.0.0.8", "PATH": "/bin"})
    assert variables["EGOTOOLS_ALLOWED_MODELS"] == "m"
    assert "PATH" not in variables
    assert ServerSettings.from_env(variables, host="10.0.0.7") == told
