"""The answer to a call that cannot be done."""

from __future__ import annotations

__all__ = ["Refusal", "conflict", "no_record", "wrong"]


class Refusal(Exception):
    """A call that is refused.

    :param status: of the HTTP answer; ``code`` and ``message`` are the members of its body, a Problem of ``common.yaml``.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def wrong(where: str, message: str) -> Refusal:
    """A value that is not what the document says."""
    return Refusal(400, "INVALID", f"{where}: {message}")


def no_record(key: str, value: object) -> Refusal:
    """A record that is not there."""
    return Refusal(404, "NOT_FOUND", f"{key}: there is no record {str(value)[:80]!r}")


def conflict(message: str) -> Refusal:
    """A call that the state of a record does not allow."""
    return Refusal(409, "CONFLICT", message)
