"""Settings from the environment, the catalogues file, thread pins, and the JSON log line."""

import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import InvalidArgumentError
from services.server.calls import JsonFormatter
from services.server.calls import fields as log_fields
from services.server.settings import CatalogEntry, ServerSettings, read_catalogs
from services.threads import THREAD_VARIABLES, pin_threads

VALUES: dict[str, Any] = {
    "port": 70,
    "workers": 3,
    "grace_s": 1.5,
    "baselines": True,
    "ready_file": Path("/a/file"),
    "metrics_port": 0,
    "reflection": "off",
    "query_model": "text",
    "log_level": "DEBUG",
}


@pytest.mark.parametrize("name", VALUES)
def test_the_environment_says_a_field(name: str) -> None:
    variable, text = f"EGOTOOLS_{name.upper()}", {"baselines": "Yes", "log_level": "debug"}.get(name, str(VALUES[name]))
    assert getattr(ServerSettings.from_env({variable: f" {text} "}), name) == VALUES[name]
    given = {name: VALUES[name]}
    assert ServerSettings.from_env({variable: ""}, **given) == ServerSettings(**given)


@pytest.mark.parametrize(
    ("variable", "text", "problem"),
    [
        ("EGOTOOLS_PORT", "http", "'http': Input should be a valid integer"),
        ("EGOTOOLS_PORT", "70000", "'70000': Input should be less than or equal to 65535"),
        ("EGOTOOLS_WORKERS", "0", "'0': Input should be greater than or equal to 1"),
        ("EGOTOOLS_GRACE_S", "nan", "'nan': Input should be a finite number"),
        ("EGOTOOLS_METRICS_PORT", "9464.5", "'9464.5': Input should be a valid integer"),
        ("EGOTOOLS_REFLECTION", "maybe", "'maybe': Input should be 'loopback', 'off' or 'on'"),
        ("EGOTOOLS_INSECURE", "maybe", "'maybe': Input should be a valid boolean"),
        ("EGOTOOLS_LOG_LEVEL", "loud", "'LOUD': Input should be 'DEBUG'"),
        ("EGOTOOLS_LOG_QUERIES_SAMPLE", "1", "it was removed"),
        ("EGOTOOLS_PROCESSES", "4", "it was removed"),
        ("EGOTOOLS_QUERY_STEPS", "rewrite,choose", "it was removed"),
        ("EGOTOOLS_AUDIT_LOG_BYTES", "65536", "it was removed"),
        ("EGOTOOLS_OTEL_ENDPOINT", "http://127.0.0.1:4318/v1/traces", "it was removed"),
    ],
)
def test_a_wrong_variable_is_named(variable: str, text: str, problem: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        ServerSettings.from_env({variable: text})
    assert caught.value.subject == variable and caught.value.problem.startswith(problem)


def test_threads_are_pinned_to_one_unless_the_operator_said_otherwise() -> None:
    environ = {"OMP_NUM_THREADS": "4"}
    pins = pin_threads(environ)
    assert pins == environ and tuple(pins) == THREAD_VARIABLES
    assert (pins["OMP_NUM_THREADS"], pins["OPENBLAS_NUM_THREADS"], pins["TOKENIZERS_PARALLELISM"]) == (
        "4",
        "1",
        "false",
    )


def test_a_log_line_has_no_known_secret_and_can_always_be_written() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.Logger("test", logging.INFO)
    logger.addHandler(handler)
    said = log_fields(model="openai:m@http://user:hunter22@host/v1", half="\ud83d", key="sk-planted0123456789")
    logger.info("loaded with token=x --api-key sk-planted0123456789", extra=said)
    stream.flush()
    text = stream.buffer.getvalue().decode("utf-8")
    line = json.loads(text)
    assert "hunter22" not in text and "planted" not in text
    assert (line["half"], line["model"]) == ("\ud83d", "openai:m@http://host/v1")


def test_a_misspelt_variable_is_told_and_a_clusters_own_is_not(caplog: pytest.LogCaptureFixture) -> None:
    cluster = {"EGOTOOLS_SERVICE_HOST": "10.0.0.1", "EGOTOOLS_PORT_50051_TCP": "tcp://10.0.0.1:50051"}
    ServerSettings.from_env({"EGOTOOLS_WORKRES": "3", "EGOTOOLS_STORE": "x", **cluster})
    assert [each.getMessage() for each in caplog.records] == [
        "EGOTOOLS_WORKRES is no setting, is EGOTOOLS_WORKERS meant?"
    ]


# -- the catalogues file ------------------------------------------------------------------------------------------------

WHOLE = """
catalogs:
  acme:
    store: stores/acme
    reranker: http:http://127.0.0.1/rerank
    allowed_models: ["openai:m@http://127.0.0.1/v1"]
    required: false
  umbrella.eu-1:
    store: /srv/umbrella
"""


def test_it_names_the_store_of_each_tenant(tmp_path: Path) -> None:
    file = tmp_path / "catalogs.yaml"
    file.write_text(WHOLE, encoding="utf-8")
    found = read_catalogs(file)
    assert found["acme"] == CatalogEntry(
        store=tmp_path / "stores/acme",
        reranker="http:http://127.0.0.1/rerank",
        allowed_models=("openai:m@http://127.0.0.1/v1",),
        required=False,
    )
    assert found["umbrella.eu-1"] == CatalogEntry(store=Path("/srv/umbrella"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "valid dictionary"),
        ("catalogs: {}", "at least 1 item"),
        ("catalogs: {acme: {}}", "'catalogs.acme.store' is missing"),
        ("catalogs: {acme: {store: ''}}", "name a folder"),
        ("catalogs: {acme: {store: }}", "name a folder"),
        ("catalogs: {acme: {store: a, storre: b}}", "storre"),
        ("catalogs: {'': {store: a}}", "pattern"),
        ("catalogs: {'../x': {store: a}}", "pattern"),
        ("catalogs: {acme: {store: a}, other: {store: ./a}}", "'acme' and 'other' have the same store"),
        ("catalogs: {acme: {store: a}, acme: {store: b}}", "'acme' stands twice"),
        ("catalogs: {acme: {store: a}}\ncatalogs: {b: {store: b}}", "'catalogs' stands twice"),
        ("catalogs: [", "no YAML"),
        ("\x00", "no YAML"),
        ("tenants: {acme: {store: a}}", "catalogs"),
        ("catalogs: {acme: {store: a, required: perhaps}}", "required"),
        ("? {a: b}\n: c", "no YAML"),
    ],
)
def test_another_form_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "catalogs.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=problem) as caught:
        read_catalogs(file)
    assert caught.value.subject == str(file) and "store" in caught.value.remedy
