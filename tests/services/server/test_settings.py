"""Settings from the environment, thread pins, and the JSON log line."""

from __future__ import annotations

import io
import json
import logging
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import InvalidArgumentError
from services.server.logs import JsonFormatter
from services.server.logs import fields as log_fields
from services.server.settings import ServerSettings
from services.threads import THREAD_VARIABLES, pin_threads


@pytest.mark.parametrize("field", fields(ServerSettings), ids=lambda field: field.name)
def test_the_environment_says_every_field(field: Field[Any]) -> None:
    kind, variable = str(field.type).partition(" ")[0], f"EGOTOOLS_{field.name.upper()}"
    value: Any = {"bool": True, "Path": Path("/a/file")}.get(kind, "text")
    value = field.metadata.get("range", field.metadata.get("choices", [value]))[-1]
    text = "Yes" if value is True else str(value)
    assert getattr(ServerSettings.from_env({variable: f" {text} "}), field.name) == value
    given = {field.name: value}
    assert ServerSettings.from_env({variable: ""}, **given) == ServerSettings(**given)


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
        ("EGOTOOLS_LOG_QUERIES_SAMPLE", "1", "it was removed"),
        ("EGOTOOLS_REFLECTION", "maybe", "there is no reflection 'maybe'"),
        ("EGOTOOLS_INSECURE", "maybe", "'maybe' is neither true nor false"),
        ("EGOTOOLS_JWT_LEEWAY_S", "301", "jwt_leeway_s must be from 0 to 300, not 301.0"),
        ("EGOTOOLS_LOG_LEVEL", "loud", "there is no log_level 'LOUD'"),
        ("EGOTOOLS_PROCESSES", "4", "it was removed"),
        ("EGOTOOLS_QUERY_STEPS", "rewrite,choose", "it was removed"),
        ("EGOTOOLS_AUDIT_LOG_BYTES", "65536", "it was removed"),
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
