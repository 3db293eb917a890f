"""Errors as the page shows them: what, where, what to do."""

from __future__ import annotations

import logging
import uuid
from typing import Any

from egotools.client_errors import ClientError, UnavailableError
from ontology.errors import EgotoolsError
from services.server.logs import fields

__all__ = ["error_json"]

_LOG = logging.getLogger("egotools.web")


def error_json(error: Exception) -> dict[str, Any]:
    """Return an error as an object: ``code``, ``message``, ``subject``, ``remedy``. Of a bug only the id of its entry in the log."""
    if isinstance(error, EgotoolsError):
        return {
            "code": error.grpc_code,
            "message": error.problem,
            "subject": error.subject,
            "remedy": error.remedy,
        }
    if isinstance(error, UnavailableError) and not error.reason:  # the transport's own words are for its developers
        _LOG.warning("the tool service does not answer", extra=fields(details=error.message))
        return {
            "code": error.code,
            "message": "the tool service does not answer",
            "subject": "",
            "remedy": "See whether it still runs, and try again",
        }
    if isinstance(error, ClientError):
        return {"code": error.code, "message": error.message, "subject": error.subject, "remedy": error.remedy}
    incident = uuid.uuid4().hex
    _LOG.error("unexpected error of the page", exc_info=error, extra=fields(incident_id=incident))
    return {
        "code": "INTERNAL",
        "message": "an unexpected error",
        "subject": "",
        "remedy": f"Report the incident {incident}",
    }
