"""Credentials of a command line: by reference only, so that none stands in the shell's history or the list of processes."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ontology.errors import InvalidArgumentError

__all__ = ["read_credentials"]

_VARIABLE = re.compile(r"^\$\{([A-Za-z_][A-Za-z0-9_]*)\}\Z")
_OPTION = "--credential"
_REMEDY = "Write KEY=${VAR} for a variable of the environment (in single quotes), or KEY=@FILE for a file"


def read_credentials(texts: Sequence[str]) -> dict[str, str]:
    """Return the map from the key of a security scheme to its credential, from ``KEY=${VAR}`` and ``KEY=@FILE``.

    :raises InvalidArgumentError: for a credential that is written out (which is not repeated), and for one that is not there.
    """
    found = {}
    for text in texts:
        key, separator, reference = text.partition("=")
        if not separator or not key:
            raise InvalidArgumentError("this is not KEY=REFERENCE", subject=_OPTION, remedy=_REMEDY)
        found[key] = _referred_to(key, reference)
    return found


def _referred_to(key: str, reference: str) -> str:
    subject = f"{_OPTION} {key}"
    if variable := _VARIABLE.match(reference):
        value = os.environ.get(variable[1], "")
        if not value:
            problem = f"the environment has no variable {variable[1]}"
            raise InvalidArgumentError(problem, subject=subject, remedy="Export it before the command")
        return value
    if reference.startswith("@"):
        try:
            value = Path(reference[1:]).read_text(encoding="utf-8").strip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidArgumentError(
                "the file of the credential cannot be read", subject=subject, remedy="Name a text file that is there"
            ) from error
        if not value:
            raise InvalidArgumentError("the file of the credential is empty", subject=subject, remedy=_REMEDY)
        return value
    raise InvalidArgumentError(
        "a credential is not taken from the command line itself: other users and the history of the shell would see it",
        subject=subject,
        remedy=_REMEDY,
    )
