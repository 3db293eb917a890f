"""The error of a command for one of the client's."""

from __future__ import annotations

from egotools.client_errors import ClientError
from ontology.errors import EgotoolsError, error_from_status
from ontology.redaction import redacted_url

__all__ = ["command_error"]


def command_error(error: ClientError, address: str = "") -> EgotoolsError:
    """Return the error with the exit code that belongs to the status of a call.

    :param address: of the server; it is the subject where the error has none, and is shown without a password.
    """
    shown = redacted_url(address) if address else ""
    message = error.message.replace(address, shown) if address else error.message
    return error_from_status(error.code, message, subject=error.subject or shown, remedy=error.remedy)
