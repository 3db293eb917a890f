"""The error of a call that does not fit a tool as its server has it now: said without a word of the server's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from egotools.calling.known_secrets import KnownSecrets
from egotools.calling.tool_answer import ToolAnswer
from egotools.client_errors import ToolRequestError

__all__ = ["ChangedToolError", "changed_tool_error"]

_NAME = re.compile(r"[A-Za-z_$][\w$.\[\]-]{0,39}\Z", re.ASCII)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_MOST_WORDS = 4  # a longer name may be a sentence, and a sentence an instruction
_REMEDY = (
    "The inputs of this tool have changed since the catalogue was built: give the arguments that its server takes now."
)


class ChangedToolError(ToolRequestError):
    """No request can be made, by the input schema that the server lists now and that is not the catalogue's.

    :param live: that schema as an answer of the server, without credentials: to be shown as answers are, between marks.
    """

    def __init__(self, message: str, *, subject: str, remedy: str, live: ToolAnswer) -> None:
        super().__init__(message, subject=subject, remedy=remedy)
        self.live = live


def changed_tool_error(
    error: ToolRequestError, schema: Mapping[str, Any], arguments: Mapping[str, Any], secrets: KnownSecrets
) -> ChangedToolError:
    """Return the error without texts of the server; of its names only short ones, and those that the caller gave.

    :param error: found with the live schema. Its message is in words of ours; its subject and remedy may be the server's.
    """
    live = ToolAnswer(ok=False, status="not called", body=secrets.without_in({"inputSchema": dict(schema)}))
    subject = error.subject
    if not _is_plain(subject, secrets) and subject not in arguments:
        first = re.split(r"[.\[]", subject, maxsplit=1)[0]
        subject = first if first in arguments else "arguments"
    return ChangedToolError(error.message, subject=subject[:200], remedy=_REMEDY, live=live)


def _is_plain(name: str, secrets: KnownSecrets) -> bool:
    return bool(_NAME.match(name)) and len(_WORD.findall(name)) <= _MOST_WORDS and secrets.without_in(name) == name
