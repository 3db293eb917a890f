"""What is shown, logged or kept of texts and addresses that may hold secrets: the one place that takes them out.

Known are: user, password, query and fragment of an address; values of options, variables and headers whose name says
that they are secret; and the usual shapes of keys and tokens.
"""

from __future__ import annotations

import logging
import re
import shlex
from urllib.parse import parse_qsl, unquote

_HIDDEN = "***"
_COMMAND = "mcp:"
_SAFE_USER = re.compile(r"(?:user:password|[^:@/?#]*:\*\*\*)@")  # of an example, or redacted already
_SHORTEST = 6  # a shorter secret is part of too many words to be looked for

# Names of options, variables and fields, chosen from what command-line tools and HTTP APIs call their secrets, and the prefixes that
# vendors document for their keys; not tuned on a catalogue. tests/services/test_secrets.py plants twelve kinds.
_NAME = r"(?:api_?key|(?<![a-z])key(?![a-z])|token(?!s)|secret|passw|pwd(?![a-z])|credential|authorization)"
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_FIELD = re.compile(r"([\"']?\s*[:=]\s*)(?:(?:Bearer|Basic)\s+)?[\"']?([^\s\"',}]+)", re.IGNORECASE)
_URL = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]{0,30})://([^\s'\"<>]+)")
_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\bsk-(?!ssh-|ecdsa-)[\w-]{8,}|\bgh[pousr]_\w{8,}|\bgithub_pat_\w{8,}|\bglpat-[\w-]{8,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|\bxox[a-z]-[\w-]{8,}|\beyJ[\w-]{4,}\.[\w-]+\.[\w-]*"
    r"|\b[sr]k_live_[A-Za-z0-9]{8,}|\bAIza[\w-]{30,}|\bSG\.[\w-]{16,}\.[\w-]{16,}|\bnpm_[A-Za-z0-9]{30,}"
    r"|\begotools_[0-9a-f]{12}_[\w-]{20,}|\bhf_[A-Za-z0-9]{20,}|\bpypi-(?=[\w-]{0,40}[A-Z])[\w-]{16,}"
    r"|(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])"  # secrets of applications of Azure
    r"|(?<=hooks\.slack\.com/services/)T\w{6,}/B\w{6,}/(?!X+\b)\w{16,}",
    re.DOTALL,
)
_OPTION = re.compile(
    rf"(?<![\w-])(--?(?=[\w-]{{0,60}}?{_NAME})[\w-]+(?:=|\s+))(?!-)(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE
)
_VARIABLE = re.compile(
    r"\b((?:[A-Z][A-Z0-9]*_)*(?:[A-Z0-9]+_KEY|APIKEY|TOKEN|SECRET|PASS(?:WORD|WD)?|PWD|CREDENTIALS?)=)\S+"
)
# In documents: a user with a password before a host, and a password of letters and digits after its name. What has no digit is
# mostly a placeholder (``token=YOUR_TOKEN``).
_PASSWORD_OF_URL = re.compile(r"(?<=://)(?!user:password@)[^\s/:@'\"<>{}]{1,100}:[^\s/@'\"<>{}]{1,200}(?=@)")
_CHARACTER = r"[^\s\"',;&<>{}()]"
_WITH_DIGITS = rf"(?={_CHARACTER}{{0,199}}[0-9])(?={_CHARACTER}{{0,199}}[A-Za-z])"
_WRITTEN_PASSWORD = re.compile(
    r"((?:passw(?:or)?d|pwd|secret|(?:api|access|account)[_-]?key|(?:access|auth|refresh)[_-]?token|private[_-]?key)"
    rf"[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?){_WITH_DIGITS}{_CHARACTER}{{8,200}}",
    re.IGNORECASE,
)
_WRITTEN_TOKEN = re.compile(
    r"((?<![\w-])token=|[?&](?:sig|X-Amz-Signature)="
    r"|(?:^|\s)curl\s(?:[^\n]|\\\n){0,200}?(?<=\s)(?:-u|--user)[\s=]{0,3}[\"']?[^\s:\"']{1,100}:)"
    rf"{_WITH_DIGITS}{_CHARACTER}{{8,400}}"
)
# The value of the header Authorization: Bearer with letters and digits, Basic with base64, in which large letters are frequent.
_CREDENTIAL = (
    r"(?:Bearer\s{1,3}(?=[\w+/=.~-]{0,199}[0-9])(?=[\w+/=.~-]{0,199}[A-Za-z])"
    r"|Basic\s{1,3}(?=(?:[\w+/]{4}){3,99}(?:[\w+/]{2}==|[\w+/]{3}=)?(?![\w+/=]))(?-i:(?=(?:[\w+/]{0,40}?[A-Z]){3})))"
    r"(?!base64|encoded))[\w+/=.~-]{12,}"
)
_AUTHORIZATION = re.compile(r"(authorization[\\\"']{0,3}\s{0,3}[:=]\s{0,3}[\\\"']{0,3}" + _CREDENTIAL, re.IGNORECASE)
_WHOLE_AUTHORIZATION = re.compile(r"\A(" + _CREDENTIAL + r"\Z", re.IGNORECASE)
# In errors, logs and what servers write, more goes than out of documents: nothing is lost there but what somebody typed.
_SECRET_WORD = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|(?:api|access|account|private|subscription)[_-]?key|token|credentials?"
    r"|(?<![a-z])(?:sig|key(?=[\"'])))"
)
_PLACEHOLDER = r"(?!(?:None|True|False|null|true|false)\b|[<{$*.…]|VALUE\b)"
_ASSIGNED = re.compile(
    rf"({_SECRET_WORD}(?:=|\s{{0,3}}=\s{{0,3}}(?=[\"'])))(?:\"[^\"\n]{{1,400}}\"|'[^'\n]{{1,400}}'|{_PLACEHOLDER}[^\s\"',;&)]+)",
    re.IGNORECASE,
)
_MEMBER = re.compile(
    rf"((?:{_SECRET_WORD}|cookie)\\{{0,3}}[\"']\s{{0,3}}:\s{{0,3}}\\{{0,3}}(?P<quote>[\"']))"
    r"(?:(?<!\\[\"'])(?:\\.|(?!(?P=quote))[^\\\n])+|[^\"'\\\n]+)",
    re.IGNORECASE,
)
_SPOKEN = re.compile(rf"({_SECRET_WORD}:\s{{0,3}}){_WITH_DIGITS}{_CHARACTER}{{6,400}}", re.IGNORECASE)
_HEADER = re.compile(
    r"((?<![\w-])(?:x|ocp|proxy)-[\w-]{0,40}(?:key|token|secret|authorization):\s{0,3})[^\s\"',;]{8,}(?=\s*(?:[\"',;}]|$))",
    re.IGNORECASE | re.MULTILINE,
)
_COOKIE = re.compile(r"(cookie:\s{0,3})[\w.-]{1,100}=[^\s;,\"']*(?:;\s?[\w.-]{1,100}=[^\s;,\"']*)*", re.IGNORECASE)
# With any scheme: ``Authorization: Token …``. A digit tells a value from a sentence.
_ANY_SCHEME = re.compile(
    r"(authorization[\\\"']{0,3}\s{0,3}[:=]\s{0,3}[\\\"']{0,3}(?:[A-Za-z][\w-]{0,30}\s{1,3})?)"
    rf"{_WITH_DIGITS}{_CHARACTER}{{6,400}}",
    re.IGNORECASE,
)
_CURL_USER = re.compile(
    r"(\bcurl\s(?:[^\n]|\\\n){0,200}?(?<=\s)(?:-\w{0,20}[uU]|--(?:proxy-)?user)[\s=]{0,3})"
    r"(?:\"[^\"\n:]{1,100}:[^\"\n]+\"|'[^'\n:]{1,100}:[^'\n]+'|[^\s:\"']{1,100}:[^\s\"']+)"
)
_WRITTEN = (_ANY_SCHEME, _WRITTEN_PASSWORD, _WRITTEN_TOKEN, _ASSIGNED, _MEMBER, _SPOKEN, _HEADER, _COOKIE)
_BEARER = re.compile(r"\b((?:Bearer|Basic)\s+)[\w+/=.~-]{8,}", re.IGNORECASE)


def redact(text: str, secrets: tuple[str, ...] = ()) -> str:
    """The text without what is known to be secret.

    :param secrets: further texts to take out, as :func:`secrets_in` finds them.
    """
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    text = _SHAPES.sub(_HIDDEN, text)
    if "://" in text:
        text = _URL.sub(_url_of_text, text)
    if "-" in text:
        text = _OPTION.sub(rf"\g<1>{_HIDDEN}", text)
    if "=" in text:
        text = _VARIABLE.sub(rf"\g<1>{_HIDDEN}", text)
    if "curl" in text:
        text = _CURL_USER.sub(rf"\g<1>{_HIDDEN}", text)
    for written in _WRITTEN:
        text = written.sub(rf"\g<1>{_HIDDEN}", text)
    return _BEARER.sub(rf"\g<1>{_HIDDEN}", text)


def redact_document_text(text: str, secrets: tuple[str, ...] = (), *, is_name: bool = False) -> str:
    """A text of a document without keys and passwords. Its addresses and examples stay: only what is surely secret goes.

    :param secrets: as for :func:`redact`.
    :param is_name: whether the text is an id or a name: then what only follows the word "password" stays.
    """
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    text = _SHAPES.sub(_HIDDEN, text)
    if "://" in text:
        text = _PASSWORD_OF_URL.sub(_HIDDEN, text)
    if is_name:
        return text
    for written in (_WRITTEN_PASSWORD, _WRITTEN_TOKEN, _AUTHORIZATION, _WHOLE_AUTHORIZATION):
        text = written.sub(rf"\g<1>{_HIDDEN}", text)
    return text


def names_secret(name: str) -> bool:
    """Whether the name of an option, variable, header or parameter says that its value is secret."""
    return _SECRET_NAME.search(name) is not None or "cookie" in name.lower()


def redacted_address(address: str) -> str:
    """The address of a document, server or command as it may be shown and kept."""
    if "://" in address.partition(" ")[0]:
        return redacted_url(address)
    if not address.startswith(_COMMAND):
        return address
    words = command_words(address)
    if not words:  # nothing can be started, and nothing is known of its words but the first
        first, _, others = address.partition(" ")
        return f"{first.partition('=')[0]} {_HIDDEN}" if others or "=" in first else redact(address)
    shown, hidden = _shown_words(words)
    if not hidden:
        return address
    return _COMMAND + " ".join(word if _HIDDEN in word else shlex.quote(word) for word in shown)


def redacted_url(url: str) -> str:
    """The address without user, password, query and fragment. It need not be a valid one: errors show it."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "", url
    host, tail = _without_credentials(rest, strict=bool(separator))
    return f"{scheme.lower()}{separator}{host}{re.split('[?#]', tail, maxsplit=1)[0]}"


def secrets_in(address: str) -> tuple[str, ...]:
    """The texts of an address that :func:`redacted_address` takes out, so that they can be found in other texts."""
    if "://" in address.partition(" ")[0]:
        rest = address.partition("://")[2]
        host, tail = _without_credentials(rest, strict=False)
        credentials = rest.removesuffix(host.lstrip("/") + tail).rstrip("@")
        before, _, fragment = tail.partition("#")
        port = _split_port(host)[1]
        found = [credentials, *credentials.split(":", 1), *re.split("[:/?#]", credentials), fragment]
        found += [] if port.isdigit() else [port]
        found += [value for _, value in parse_qsl(before.partition("?")[2])]
        found += [unquote(each) for each in found]
    elif address.startswith(_COMMAND):
        found = _shown_words(command_words(address))[1]
    else:
        found = []
    return tuple(dict.fromkeys(each for each in found if len(each) >= _SHORTEST))


def command_words(address: str) -> list[str]:
    """The words of ``mcp:COMMAND ARGUMENTS``; none where a quotation mark is missing."""
    try:
        return shlex.split(address.removeprefix(_COMMAND))
    except ValueError:
        return []


class RedactingFormatter(logging.Formatter):
    """Log lines, tracebacks included, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        return redact(super().format(record))


def _without_credentials(rest: str, *, strict: bool = True) -> tuple[str, str]:
    """Host and port, hidden where ``strict`` and no number, and what follows them, of an address without its scheme.

    Where the port is no number, the text before the last ``@`` is a user and a password with a ``/``, ``?`` or ``#``.
    """
    host, tail = _split_host(rest)
    name, port = _split_port(host.rpartition("@")[2])
    if "@" in rest and ((port and not port.isdigit()) or (not host and tail)):
        slash = "/" if not host else ""
        host, tail = _split_host(rest.rpartition("@")[2])
        host = slash + host
        name, port = _split_port(host)
    else:
        host = host.rpartition("@")[2]
    if strict and port and not port.isdigit():
        host = f"{name}:{_HIDDEN}"
    return host, tail


def _split_host(rest: str) -> tuple[str, str]:
    end = next((place for place, letter in enumerate(rest) if letter in "/?#"), len(rest))
    return rest[:end], rest[end:]


def _split_port(host: str) -> tuple[str, str]:
    name, separator, port = host.rpartition(":")
    return (name, port) if separator and "]" not in port and "[" not in port else (host, "")


def _url_of_text(found: re.Match[str]) -> str:
    scheme, rest = found.groups()
    if _SAFE_USER.match(rest):
        return found.group()
    host, tail = _without_credentials(rest, strict=False)
    query = re.sub(r"\?[^#]*", f"?{_HIDDEN}", tail, count=1)
    return f"{scheme}://{host}{query}"


def _shown_words(words: list[str]) -> tuple[list[str], list[str]]:
    """The words of a command as they may be shown, and the values that are hidden in them."""
    shown: list[str] = []
    hidden: list[str] = []
    value_follows = False
    for word in words:
        assignment = _ASSIGNMENT.fullmatch(word)
        secret = _SECRET_NAME.search(word.partition("=")[0])
        if value_follows and not word.startswith("-"):
            shown.append(_HIDDEN)
            hidden.append(word)
        elif assignment:
            shown.append(f"{assignment[1]}={_HIDDEN}")
            hidden.append(assignment[2])
        elif word.startswith("-") and secret and "=" in word:
            option, _, value = word.partition("=")
            shown.append(f"{option}={_HIDDEN}")
            hidden.append(value)
        else:
            kept = redact(word)
            name = None if word.startswith("-") else _SECRET_NAME.search(kept)
            if name is not None:  # ``Authorization: Bearer …`` or ``{"token": "…"}``
                kept = kept[: name.end()] + _FIELD.sub(lambda found: found[1] + _HIDDEN, kept[name.end() :])
            shown.append(kept)
            hidden += [word] if kept != word else []
        value_follows = bool(word.startswith("-") and secret and "=" not in word)
    return shown, hidden
