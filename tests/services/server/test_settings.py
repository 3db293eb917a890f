"""Settings from the environment, thread pins, and the JSON log line."""

from __future__ import annotations

import io
import json
import logging
from dataclasses import fields
from pathlib import Path

import pytest

from ontology.errors import InvalidArgumentError
from services.server.logs import JsonFormatter
from services.server.logs import fields as log_fields
from services.server.settings import ServerSettings
from services.threads import THREAD_VARIABLES, pin_threads


def test_the_environment_says_every_field() -> None:
    environ = {
        "EGOTOOLS_HOST": "0.0.0.0",
        "EGOTOOLS_PORT": "0",
        "EGOTOOLS_WORKERS": "3",
        "EGOTOOLS_QUEUE": "7",
        "EGOTOOLS_GRACE_S": "1.5",
        "EGOTOOLS_DRAIN_S": "2",
        "EGOTOOLS_MAX_MESSAGE_BYTES": "65536",
        "EGOTOOLS_DEFAULT_DEADLINE_S": "4",
        "EGOTOOLS_MAX_BATCH": "8",
        "EGOTOOLS_MAX_CONNECTION_AGE_S": "60",
        "EGOTOOLS_WARM_QUERY": "warm",
        "EGOTOOLS_READY_FILE": "/run/ready",
        "EGOTOOLS_LOG_LEVEL": "debug",
        "EGOTOOLS_WATCH_S": "0.25",
        "EGOTOOLS_ADMIN_HOST": "::1",
        "EGOTOOLS_ADMIN_PORT": "0",
        "EGOTOOLS_RECENT_VECTORS": "100",
        "EGOTOOLS_METRICS_HOST": "0.0.0.0",
        "EGOTOOLS_METRICS_PORT": "9464",
        "EGOTOOLS_OTEL_ENDPOINT": "http://127.0.0.1:4318/v1/traces",
        "EGOTOOLS_LOG_QUERIES_SAMPLE": "0.01",
        "EGOTOOLS_AUDIT_LOG": "/var/log/egotools/audit.jsonl",
        "EGOTOOLS_AUDIT_LOG_BYTES": "65536",
        "EGOTOOLS_MODEL_WAIT_S": "0.5",
        "EGOTOOLS_QUERY_MODEL": "openai:m@http://127.0.0.1:1/v1",
        "EGOTOOLS_QUERY_STEPS": "choose",
        "EGOTOOLS_OUTCOMES_MIB": "12",
        "EGOTOOLS_KEEP_REQUESTS": "none",
        "EGOTOOLS_REPORTS_PER_MINUTE": "30",
        "EGOTOOLS_MAX_DEADLINE_S": "30",
        "EGOTOOLS_MAX_CALL_COST": "100",
        "EGOTOOLS_MAX_INFLIGHT_BYTES": "2097152",
        "EGOTOOLS_MAX_CALLS": "100",
        "EGOTOOLS_MAX_PEER_CALLS": "10",
        "EGOTOOLS_MAX_STREAMS": "20",
        "EGOTOOLS_MAX_CONNECTIONS": "30",
        "EGOTOOLS_REFLECTION": "off",
        "EGOTOOLS_BASELINES": "1",
        "EGOTOOLS_TLS_CERT": "/tls/cert",
        "EGOTOOLS_TLS_KEY": "/tls/key",
        "EGOTOOLS_TLS_CLIENT_CA": "/tls/ca",
        "EGOTOOLS_REQUIRE_CLIENT_CERT": "True",
        "EGOTOOLS_ACCESS_POLICY": "/policy",
        "EGOTOOLS_TOKENS_FILE": "/tokens",
        "EGOTOOLS_JWKS": "https://issuer.example/keys",
        "EGOTOOLS_JWT_ISSUER": "https://issuer.example",
        "EGOTOOLS_JWT_AUDIENCE": "tools",
        "EGOTOOLS_JWT_LEEWAY_S": "5",
        "EGOTOOLS_INSECURE": "1",
    }
    assert set(environ) == {
        f"EGOTOOLS_{entry.name.upper()}" for entry in fields(ServerSettings) if entry.name != "process"
    }
    assert ServerSettings.from_env(environ) == ServerSettings(
        host="0.0.0.0",
        port=0,
        workers=3,
        queue=7,
        grace_s=1.5,
        drain_s=2.0,
        max_message_bytes=65_536,
        default_deadline_s=4.0,
        max_batch=8,
        max_connection_age_s=60.0,
        warm_query="warm",
        ready_file=Path("/run/ready"),
        log_level="DEBUG",
        watch_s=0.25,
        admin_host="::1",
        admin_port=0,
        recent_vectors=100,
        metrics_host="0.0.0.0",
        metrics_port=9464,
        otel_endpoint="http://127.0.0.1:4318/v1/traces",
        log_queries_sample=0.01,
        audit_log=Path("/var/log/egotools/audit.jsonl"),
        audit_log_bytes=65_536,
        model_wait_s=0.5,
        query_model="openai:m@http://127.0.0.1:1/v1",
        query_steps="choose",
        outcomes_mib=12,
        keep_requests="none",
        reports_per_minute=30,
        max_deadline_s=30.0,
        max_call_cost=100,
        max_inflight_bytes=2_097_152,
        max_calls=100,
        max_peer_calls=10,
        max_streams=20,
        max_connections=30,
        reflection="off",
        baselines=True,
        tls_cert=Path("/tls/cert"),
        tls_key=Path("/tls/key"),
        tls_client_ca=Path("/tls/ca"),
        require_client_cert=True,
        access_policy=Path("/policy"),
        tokens_file=Path("/tokens"),
        jwks="https://issuer.example/keys",
        jwt_issuer="https://issuer.example",
        jwt_audience="tools",
        jwt_leeway_s=5.0,
        insecure=True,
    )


@pytest.mark.parametrize(
    ("variable", "text", "problem"),
    [
        ("EGOTOOLS_PORT", "http", "'http' is not a whole number"),
        ("EGOTOOLS_PORT", "70000", "port must be from 0 to 65,535, not 70000"),
        ("EGOTOOLS_WORKERS", "0", "workers must be from 1 to 256, not 0"),
        ("EGOTOOLS_GRACE_S", "soon", "'soon' is not a number"),
        ("EGOTOOLS_GRACE_S", "nan", "grace_s must be from 0 to 3,600, not nan"),
        ("EGOTOOLS_MAX_BATCH", "65", "max_batch must be from 1 to 64, not 65"),
        ("EGOTOOLS_METRICS_PORT", "9464.5", "'9464.5' is not a whole number"),
        ("EGOTOOLS_METRICS_PORT", "-1", "metrics_port must be from 0 to 65,535, not -1"),
        ("EGOTOOLS_LOG_QUERIES_SAMPLE", "1.5", "log_queries_sample must be from 0 to 1, not 1.5"),
        ("EGOTOOLS_REFLECTION", "maybe", "there is no reflection 'maybe'"),
        ("EGOTOOLS_INSECURE", "maybe", "'maybe' is neither true nor false"),
        ("EGOTOOLS_JWT_LEEWAY_S", "301", "jwt_leeway_s must be from 0 to 300, not 301.0"),
        ("EGOTOOLS_LOG_LEVEL", "loud", "there is no log_level 'LOUD'"),
        ("EGOTOOLS_PROCESSES", "4", "it was removed"),
    ],
)
def test_a_wrong_variable_is_named(variable: str, text: str, problem: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        ServerSettings.from_env({variable: text})
    assert (caught.value.subject, caught.value.problem) == (variable, problem)


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


def test_a_log_line_is_json_and_a_traceback_hides_messages() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.Logger("test", logging.INFO)
    logger.addHandler(handler)
    try:
        raise ValueError("planted words")
    except ValueError:
        logger.exception("it %s", "broke", extra=log_fields(k=3, where=Path("x")))
    line = json.loads(stream.getvalue())
    assert (line["message"], line["level"], line["logger"], line["k"], line["where"]) == (
        "it broke",
        "ERROR",
        "test",
        3,
        "x",
    )
    assert line["time"].endswith("+00:00")
    assert line["traceback"][0] == "builtins.ValueError"
    assert "planted" not in stream.getvalue()
