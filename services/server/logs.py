"""Structured logs: one JSON object on each line. Records of level INFO or above contain no words of a request."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

from ontology.redaction import redact


def fields(**values: Any) -> dict[str, dict[str, Any]]:
    """Return the argument ``extra=`` of a log call; the values become keys of the JSON line."""
    return {"fields": values}


class JsonFormatter(logging.Formatter):
    """One JSON object for each record: ``time``, ``level``, ``logger``, ``message``, its fields, and a traceback.

    A traceback contains files, lines and error classes, but no error messages: a message may quote the request.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        for name, value in getattr(record, "fields", {}).items():
            line[name] = redact(value) if isinstance(value, str) else value
        if record.exc_info and record.exc_info[1] is not None:
            line["traceback"] = _traceback(record.exc_info[1])
        text = json.dumps(line, ensure_ascii=False, default=str)
        return text.encode("utf-8", "backslashreplace").decode("utf-8")  # a lone surrogate could not be written


def _traceback(error: BaseException | None) -> list[str]:
    shown: list[str] = []
    while error is not None and len(shown) < 1_000:
        shown.append(f"{type(error).__module__}.{type(error).__qualname__}")
        frames = traceback.extract_tb(error.__traceback__)
        shown += [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return shown


class PlainFormatter(JsonFormatter):
    """The same for a person at a terminal: time of day, level, message and fields on a line, a traceback below."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        line = json.loads(super().format(record))
        trace = [f"\n  {each}" for each in line.pop("traceback", ())]
        head = [line.pop("time")[11:19], line.pop("level"), line.pop("message")]
        del line["logger"]
        return " ".join([*head, *(f"{name}={value}" for name, value in line.items())]) + "".join(trace)


def configure_logging(level: str = "INFO", stream: TextIO | None = None) -> None:
    """Write all logs of the process to ``stream`` (default: standard error): plain lines to a terminal, JSON lines elsewhere."""
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    handler.setFormatter(PlainFormatter() if stream.isatty() else JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
