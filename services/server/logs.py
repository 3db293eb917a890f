"""Structured logs: one JSON object on each line. Records of level INFO or above contain no words of a request."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

from ontology.redaction import redact

__all__ = ["JsonFormatter", "configure_logging", "fields"]


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
        extra = getattr(record, "fields", None)
        if isinstance(extra, dict):
            line.update({name: redact(value) if isinstance(value, str) else value for name, value in extra.items()})
        if record.exc_info and record.exc_info[0] is not None:
            line["traceback"] = _traceback(record.exc_info)
        text = json.dumps(line, ensure_ascii=False, default=str)
        return text.encode("utf-8", "backslashreplace").decode("utf-8")  # a lone surrogate could not be written


def _traceback(exc_info: Any) -> list[str]:
    shown: list[str] = []
    error: BaseException | None = exc_info[1]
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        shown.append(f"{type(error).__module__}.{type(error).__qualname__}")
        shown.extend(
            f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)
        )
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return shown


def configure_logging(level: str = "INFO", stream: TextIO | None = None) -> None:
    """Write all logs of the process as JSON lines to ``stream`` (default: standard error)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
