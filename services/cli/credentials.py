"""Credentials of a command line: by reference only, so that none stands in the shell's history or the list of processes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from egotools.call import Call
from ontology.errors import InvalidArgumentError
from ontology.files import read_bounded

__all__ = ["read_credentials", "read_references", "refuse_unused"]

_VARIABLE = re.compile(r"^\$\{([A-Za-z_][A-Za-z0-9_]*)\}\Z")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey)?\s*", re.IGNORECASE)
_REMEDY = "Write KEY=${VAR} for a variable of the environment (in single quotes), or KEY=@FILE for a file"

_NO_CREDENTIALS = {
    "mcp": "Give --header or --env to the server of the session",
    "aws": "Leave it out: botocore signs with the credentials of its own configuration",
    "python": "Leave it out",
}


def read_credentials(texts: Sequence[str]) -> dict[str, str]:
    """Return the map from the key of a security scheme to its credential, from ``KEY=${VAR}`` and ``KEY=@FILE``.

    :raises InvalidArgumentError: for a credential that is written out (which is not repeated), and for one that is not there.
    """
    found = {}
    for text in texts:
        key, separator, reference = text.partition("=")
        if not separator or not key:
            raise InvalidArgumentError("this is not KEY=REFERENCE", subject="--credential", remedy=_REMEDY)
        found[key] = _referred_to(f"--credential {key}", reference)
    return found


def read_references(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return the map from name to value, from ``NAME=@FILE`` and ``NAME=TEXT`` whose text has references ``${VAR}``.

    Beside its references a text may have the word of a scheme, as in ``Authorization=Bearer ${TOKEN}``.

    :raises InvalidArgumentError: as :func:`read_credentials`.
    """
    found = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise InvalidArgumentError("this is not NAME=REFERENCE", subject=option, remedy=_REMEDY)
        subject = f"{option} {name}"
        if _REFERENCE.search(value) and _SCHEME.fullmatch(_REFERENCE.sub("", value)):
            found[name] = _expanded(subject, value)
        else:
            found[name] = _referred_to(subject, value)
        if not found[name].isprintable():
            raise InvalidArgumentError("the value is not one line", subject=subject, remedy="Correct what it refers to")
    return found


def refuse_unused(call: Call, namespace: str, keys: Iterable[str]) -> None:
    """Refuse a credential that a call has no place for.

    :param namespace: of its tool, with which a key may begin.
    :param keys: the keys of the schemes of the credentials.
    :raises InvalidArgumentError: for a key that the call's security does not name, listing those that it names.
    """
    known = {scheme.key.partition("@")[0] for alternative in call.security for scheme in alternative.schemes}
    unused = sorted({key.partition("@")[0].removeprefix(f"{namespace}.") for key in keys} - known)
    if not unused:
        return
    if known:
        problem, remedy = f"the call has no scheme {unused[0]!r}", f"Its schemes: {', '.join(sorted(known))}"
    elif call.protocol in _NO_CREDENTIALS:
        problem, remedy = (
            f"a call by the protocol {call.protocol!r} takes no {unused[0]!r}",
            _NO_CREDENTIALS[call.protocol],
        )
    else:
        problem = f"the tool's document declares no security, so it has no scheme {unused[0]!r}"
        remedy = "Leave it out; if the API wants it, declare its scheme in the document (security) and build again"
    raise InvalidArgumentError(problem, subject="--credential", remedy=remedy)


def _expanded(subject: str, text: str) -> str:
    return _REFERENCE.sub(lambda match: _variable(subject, match[1]), text)


def _variable(subject: str, name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise InvalidArgumentError(
            f"the environment has no variable {name}",
            subject=subject,
            remedy="Export it before the command; where an MCP client starts the command, write it into the client's "
            f'configuration: "env": {{"{name}": "…"}}',
        )
    return value


def _referred_to(subject: str, reference: str) -> str:
    if variable := _VARIABLE.match(reference):
        return _variable(subject, variable[1])
    if reference.startswith("@"):
        try:
            value = read_bounded(Path(reference[1:]), 2**20).decode("utf-8").strip("\r\n")
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
