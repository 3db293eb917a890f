"""The compose file is one of the specification, and its services see what they need and no more."""

import json
import re
from typing import Any

import compose_spec
import pytest
import yaml

from services.server.access.authentication import check_settings
from tests.conftest import ROOT
from tests.deploy.test_deploy import DEPLOY, serve_options, settings_of

# As Compose reads it where no variable is set.
TEXT = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", (DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load(TEXT)
SERVICES = COMPOSE["services"]


def mounts(name: str) -> dict[str, Any]:
    return {mount["target"]: mount for mount in SERVICES[name]["volumes"]}


def test_it_is_a_compose_file() -> None:
    read = compose_spec.PyCompose.from_json(json.dumps(COMPOSE))  # refuses keys that the specification does not have
    read.validate_volumes()
    assert set(read.service_names()) == {"serve", "build"}


@pytest.mark.parametrize("name", ["serve", "build"])
def test_a_service_is_made_from_its_target_and_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["build"] == {"context": "..", "dockerfile": "deploy/container/Containerfile", "target": name}
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["user"] == "10001:10001"
    assert service["security_opt"] == ["no-new-privileges:true"] and service["tmpfs"] == ["/tmp"]


def test_the_build_sees_the_documents_read_only_and_the_store() -> None:
    seen = mounts("build")
    assert {target: (mount["type"], mount.get("read_only", False)) for target, mount in seen.items()} == {
        "/documents": ("bind", True),
        "/store": ("volume", False),
    }
    documents = (DEPLOY / seen["/documents"]["source"]).resolve()
    assert documents.is_dir() and documents != ROOT and ROOT in documents.parents
    assert SERVICES["build"]["command"] == ["build", "/documents", "--out", "/store"]
    assert SERVICES["build"]["network_mode"] == "none" and SERVICES["build"]["profiles"] == ["build"]


def test_the_server_is_open_on_loopback_only_and_reads_the_store() -> None:
    service = SERVICES["serve"]
    settings = settings_of(service["environment"])
    check_settings(settings)
    serve_options(service["command"])
    assert settings.insecure and service["ports"] == [f"127.0.0.1:{settings.port}:{settings.port}"]
    assert mounts("serve") == {"/store": {"type": "volume", "source": "store", "target": "/store", "read_only": True}}
    assert service["healthcheck"]["test"] == ["CMD", "egotools", "admin", "health"]
    assert float(service["stop_grace_period"].removesuffix("s")) > settings.grace_s + settings.drain_s
