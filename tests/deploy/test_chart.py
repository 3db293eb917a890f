"""The chart's renderings are those of its templates, are objects of Kubernetes, and have settings and probes of the server."""

import hashlib
import json
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from services.server.access.authentication import check_settings
from services.server.server import SERVICE_NAME
from services.server.settings import ServerSettings
from tests.conftest import ROOT
from tests.deploy.test_deploy import serve_options, settings_of

HELM = ROOT / "deploy" / "helm"
CHART = HELM / "egotools"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA = jsonschema.Draft7Validator(json.loads((CHART / "values.schema.json").read_text(encoding="utf-8")))
NAMES = ["own-tls", *sorted(path.stem for path in (HELM / "values").iterdir())]


def merged(given: Any, changed: Any) -> Any:
    """The values of a chart with those of a file, as Helm joins them."""
    if isinstance(given, dict) and isinstance(changed, dict):
        return {**given, **{name: merged(given.get(name), value) for name, value in changed.items()}}
    return changed


def changed_values(name: str) -> Any:
    path = HELM / "values" / f"{name}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}


def rendered(name: str) -> dict[tuple[str, str], Any]:
    objects = yaml.safe_load_all((HELM / "rendered" / f"{name}.yaml").read_text(encoding="utf-8"))
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def pod_of(objects: dict[tuple[str, str], Any]) -> Any:
    return objects["Deployment", "egotools"]["spec"]["template"]["spec"]


def server_of(objects: dict[tuple[str, str], Any]) -> tuple[Any, ServerSettings]:
    (container,) = pod_of(objects)["containers"]
    return container, settings_of({entry["name"]: entry["value"] for entry in container["env"]})


@pytest.mark.parametrize("name", NAMES)
def test_a_rendering_is_of_the_templates_and_values_that_are_there(name: str) -> None:
    values = HELM / "values" / f"{name}.yaml"
    sources = [*sorted(path for path in CHART.rglob("*") if path.is_file()), *([values] if values.exists() else [])]
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(HELM)}\n" for path in sources]
    first = (HELM / "rendered" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first.endswith(hashlib.sha256("".join(lines).encode()).hexdigest()), "run scripts/render_chart.sh"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", ["1.27", "1.33", kubernetes_validate.latest_version()])
def test_every_object_is_one_of_kubernetes(name: str, version: str) -> None:
    for each in rendered(name).values():
        kubernetes_validate.validate(each, version, strict=True)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_schema(name: str) -> None:
    SCHEMA.validate(merged(VALUES, changed_values(name)))


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"relicas": 3}, []),
        ({"tls": {"existingSecret": ""}}, ["tls", "existingSecret"]),
        ({"tls": {"certificate": "-----BEGIN"}}, ["tls"]),
        ({"store": {"writable": True}}, ["replicas"]),
        ({"replicas": 1, "store": {"writable": True}, "autoscaling": {"enabled": True}}, ["autoscaling", "enabled"]),
        ({"store": {"existingClaim": ""}}, ["store", "build", "image"]),
        (
            {"store": {"existingClaim": "", "writable": True, "build": {"image": "i", "args": ["a"]}}},
            ["store", "writable"],
        ),
        ({"settings": {"WORKERS": 2}}, ["settings", "WORKERS"]),
        ({"settings": {"egotools_workers": "2"}}, ["settings"]),
    ],
    ids=str,
)
def test_values_that_would_not_work_are_refused(changed: Any, where: list[str]) -> None:
    faults = [list(fault.absolute_path) for fault in SCHEMA.iter_errors(merged(VALUES, changed))]
    assert where in faults


@pytest.mark.parametrize("name", NAMES)
def test_services_budgets_and_policies_select_the_pods(name: str) -> None:
    objects = rendered(name)
    labels = objects["Deployment", "egotools"]["spec"]["template"]["metadata"]["labels"]
    container, settings = server_of(objects)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for service in ("egotools", "egotools-metrics"):
        spec = objects["Service", service]["spec"]
        assert spec["clusterIP"] == "None" and spec["selector"].items() <= labels.items()
        assert all(ports[port["targetPort"]] == port["port"] != settings.admin_port for port in spec["ports"])
    for kind, where in (
        ("PodDisruptionBudget", "selector"),
        ("NetworkPolicy", "podSelector"),
        ("Deployment", "selector"),
    ):
        assert objects[kind, "egotools"]["spec"][where]["matchLabels"].items() <= labels.items()
    policy = objects["NetworkPolicy", "egotools"]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == set(ports)


@pytest.mark.parametrize("name", NAMES)
def test_a_pod_has_no_right_that_it_does_not_need(name: str) -> None:
    objects = rendered(name)
    pod = pod_of(objects)
    assert pod["serviceAccountName"] == "egotools"
    for automount in (pod, objects["ServiceAccount", "egotools"]):
        assert automount["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 10001
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in [*pod["containers"], *pod.get("initContainers", [])]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    assert not {"Secret", "ConfigMap"} & {kind for kind, _ in objects}, "secrets are named, never written"


@pytest.mark.parametrize("name", NAMES)
def test_the_server_has_settings_probes_and_files_that_work_together(name: str) -> None:
    objects = rendered(name)
    pod = pod_of(objects)
    container, settings = server_of(objects)
    check_settings(settings)
    serve_options(container["args"])
    assert settings.insecure == (name == "behind-a-mesh")
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert (settings.port, settings.metrics_port) == (ports["grpc"], ports["metrics"])
    assert (settings.host, settings.metrics_host, settings.admin_host) == ("0.0.0.0", "0.0.0.0", "127.0.0.1")
    assert pod["terminationGracePeriodSeconds"] > settings.grace_s + settings.drain_s
    scheme = "HTTPS" if settings.tls_cert else "HTTP"
    annotations = objects["Service", "egotools-metrics"]["metadata"]["annotations"]
    assert annotations["prometheus.io/scheme"] == scheme.lower()
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        alive = probe == "livenessProbe"
        if settings.tls_cert is None:
            assert container[probe]["grpc"] == {"port": ports["grpc"], **({} if alive else {"service": SERVICE_NAME})}
        else:  # gRPC probes know no TLS
            path = "/livez" if alive else "/readyz"
            assert container[probe]["httpGet"] == {"path": path, "port": "metrics", "scheme": scheme}
    mounted = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert set(mounted.values()) == {volume["name"] for volume in pod["volumes"]}
    files = (settings.audit_log, settings.tls_cert, settings.tls_key, settings.access_policy, settings.tokens_file)
    assert {str(file.parent) for file in files if file is not None} <= set(mounted)
    assert container["args"][container["args"].index("--store") + 1] in mounted


@pytest.mark.parametrize("name", NAMES)
def test_a_store_is_writable_where_the_admin_service_is_and_one_pod_writes(name: str) -> None:
    objects = rendered(name)
    container, settings = server_of(objects)
    (mount,) = [each for each in container["volumeMounts"] if each["mountPath"] == "/store"]
    writable = not mount["readOnly"]
    assert writable == (settings.admin_port is not None) == (name == "writable-store")
    spec = objects["Deployment", "egotools"]["spec"]
    if writable:
        assert (spec["replicas"], spec["strategy"]["rollingUpdate"]["maxSurge"]) == (1, 0), "one pod writes"
