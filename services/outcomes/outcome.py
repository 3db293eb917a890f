"""An outcome: which tools were used for one request, and whether that succeeded. One row of the log."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Outcome", "OutputSeen", "outcome_from_line", "outcome_key", "outcome_line"]

_HEAD, _MIDDLE, _TAIL = b'{"crc":"', b'","outcome":', b"}\n"
_CRC_DIGITS = 8
_KEY = b'{"key":"'  # the first field of an outcome, because its fields are sorted


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSeen:
    """An output that a tool returned: its name and JSON type, never its value; and the input that took it, if one did."""

    tool: str
    name: str
    type: str
    taken_by: str = ""
    taken_as: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is kept of a report.

    :param key: of the request, unique; a report with a known key is the same report.
    :param time: when the request was answered, seconds since 1970.
    :param snapshot: the snapshot that answered, as in its request id.
    :param reporter: pseudonym of who reported it, hexadecimal.
    :param used: ids of the tools that were called, in order.
    :param succeeded: None where it is not known.
    :param terms: words of the request that the catalogue has too, sorted; empty where none is kept.
    :param query: text of the request; empty unless the operator has it kept.
    """

    key: str
    time: int
    snapshot: str
    reporter: str
    used: tuple[str, ...]
    succeeded: bool | None = None
    outputs: tuple[OutputSeen, ...] = ()
    terms: tuple[str, ...] = ()
    query: str = ""


def outcome_line(outcome: Outcome) -> bytes:
    """The row as a line: a JSON object of the outcome and the CRC-32 of its text."""
    text = json.dumps(asdict(outcome), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return f'{{"crc":"{zlib.crc32(text.encode()):08x}","outcome":{text}}}\n'.encode()


def outcome_from_line(line: bytes) -> Outcome:
    """The outcome of a line.

    :raises ValueError: when the line is torn or altered.
    """
    text = _text(line)
    try:
        row: dict[str, Any] = json.loads(text)
        return Outcome(
            **{
                **row,
                "used": tuple(row["used"]),
                "terms": tuple(row["terms"]),
                "outputs": tuple(OutputSeen(**each) for each in row["outputs"]),
            }
        )
    except (TypeError, KeyError) as error:
        raise ValueError("the line is no outcome") from error


def outcome_key(line: bytes) -> str:
    """The key of the outcome of a line, without reading the rest of it.

    :raises ValueError: when the line is torn or altered.
    """
    text = _text(line)
    if not text.startswith(_KEY):
        raise ValueError("the line is no outcome")
    return text[len(_KEY) : text.index(b'"', len(_KEY))].decode()


def _text(line: bytes) -> bytes:
    digits_end = len(_HEAD) + _CRC_DIGITS
    text = line[digits_end + len(_MIDDLE) : -len(_TAIL)]
    if (
        not line.startswith(_HEAD)
        or not line.endswith(_TAIL)
        or line[len(_HEAD) : digits_end] != b"%08x" % zlib.crc32(text)
    ):
        raise ValueError("the line is torn or altered")
    return text
