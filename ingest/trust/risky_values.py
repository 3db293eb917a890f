"""Values that a document proposes for a call and that would send data elsewhere: defaults, examples and allowed values."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from ingest.word_lists import word_list
from ontology.tool import Parameter, Tool

__all__ = ["addresses_in", "hosts_in", "is_documentation", "risky_values", "site_of"]

_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]{1,20})://(?:[^\s/@\"'<>]{1,200}@)?(?P<host>[\w.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?P<rest>[^\s\"'<>]{0,2000})",
    re.IGNORECASE,
)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?P<host>[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})", re.IGNORECASE)
_BARE = re.compile(
    r"(?<![\w.@/-])(?P<host>(?:[\w-]{1,63}\.){1,6}[a-z]{2,24})(?::\d{2,5})?(?=$|[\s/,;\"'\]])", re.IGNORECASE
)
_TOP_LEVELS = word_list("trust", "top_levels")
_FILE_ENDINGS = word_list("trust", "no_top_level")
_TWO_LEVELS = frozenset(("co", "com", "org", "net", "ac", "gov", "edu", "or", "ne"))
_DOCUMENTATION = frozenset(
    ("example.com", "example.org", "example.net", "example.edu")
)  # reserved for documents (RFC 2606)
_LOCAL = frozenset(("localhost", "local", "localdomain", "internal", "example", "lan", "intranet", "svc", "cluster"))
_WIDELY_NAMED = frozenset(
    "w3.org schema.org json-schema.org ietf.org iana.org swagger.io openapis.org github.com oasis-open.org wikipedia.org mozilla.org".split()
)
_EXAMPLES = frozenset(
    "example yourdomain mydomain your-domain domain yoursite mysite company yourcompany mycompany".split()
)


class Address(NamedTuple):
    """A host that ``text[start:end]`` names; whether by a mail address, and whether its URL has a query."""

    host: str
    start: int
    end: int
    is_mail: bool
    has_query: bool


def addresses_in(text: str) -> Iterator[Address]:
    """Yield the addresses of a text: URLs, then mail addresses, then bare host names where it has neither."""
    found = False
    if "://" in text:
        for match in _URL.finditer(text):
            found = True
            yield Address(
                match["host"].lower().rstrip("."),
                match.start(),
                match.end(),
                is_mail=False,
                has_query="?" in match["rest"],
            )
    if "@" in text:
        for match in _MAIL.finditer(text):
            if not found or "://" not in text[max(0, match.start() - 100) : match.start()]:
                yield Address(match["host"].lower(), match.start(), match.end(), is_mail=True, has_query=False)
                found = True
    if not found and "." in text:
        for match in _BARE.finditer(text):
            host = match["host"].lower()
            if _is_top_level(host.rpartition(".")[2]) and (
                host.count(".") > 1 or "-" in host or "/" in text or ":" in text
            ):
                yield Address(host, match.start(), match.end(), is_mail=False, has_query="?" in text)


def _is_top_level(label: str) -> bool:
    return label in _TOP_LEVELS or (len(label) == _COUNTRY and label not in _FILE_ENDINGS)


_COUNTRY = 2  # letters of the top level of a country


def hosts_in(text: str) -> list[str]:
    """The hosts that a text names."""
    return [address.host for address in addresses_in(text)]


def site_of(host: str) -> str:
    """The registrable part of a host name, by rule of thumb (``api.shop.co.uk`` → ``shop.co.uk``)."""
    labels = host.lower().strip(".").split(".")
    keep = 3 if len(labels) > 2 and labels[-2] in _TWO_LEVELS and len(labels[-1]) == 2 else 2
    return ".".join(labels[-keep:])


def is_documentation(host: str) -> bool:
    """Whether data cannot leave to a host: it is reserved for documents, local, a placeholder, or names a vocabulary."""
    if not host or "{" in host or "<" in host:
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        pass
    else:
        return not address.is_global
    site, labels = site_of(host), host.split(".")
    return (
        "." not in host
        or site in _DOCUMENTATION | _WIDELY_NAMED
        or labels[-1] in _LOCAL
        or not _EXAMPLES.isdisjoint(labels)
    )


_LONGEST = 20_000
_SECRET = r"secret|password|passwd|token|credential|api[_-]?key|access[_-]?key|private[_-]?key|auth|cookie|session|aws_|env\b|environ"
_PLACEHOLDER = re.compile(rf"(?:\{{\{{|\$\{{|<%=?|%|\$)[^{{}}%\s]{{0,100}}(?:{_SECRET})", re.IGNORECASE)
_CODE = re.compile(
    r"^\s{0,20}(?:(?:java|vb|live)script:|data:(?:text/html|application/(?:x-)?javascript)[;,])\S", re.IGNORECASE
)
_PUNYCODE = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,20}://|@)(?:[\w-]{1,63}\.){0,5}xn--[\w-]{1,60}\.[\w.-]{2,60}", re.IGNORECASE
)
_SHELL = re.compile(
    r"\$\(\s?[a-z][^)]{2,200}\)|`\s?(?:cat|curl|wget|env|printenv|whoami|bash|sh|nc|base64)\b[^`]{0,200}`|"
    r"(?:[;|&]\s?|^)(?:curl|wget|nc|bash|sh|powershell|rm -rf|python3? -c)\s[^\s]|\|\s?(?:bash|sh)\b"
)
_SECRET_FILE = re.compile(
    r"\.ssh/|\bid_(?:rsa|ed25519|ecdsa)\b|/etc/(?:passwd|shadow|sudoers)|\.aws/credentials|\.docker/config\.json|\.kube/config|"
    r"\.netrc\b|\.pgpass|\.git-credentials|\.npmrc|\.bash_history|/proc/self/environ|/var/run/secrets|(?:^|[/\s\"'])\.env\b",
    re.IGNORECASE,
)
_RULES = (
    (_CODE, "code", "it is an address that runs a program"),
    (_PUNYCODE, "punycode", "its host is written with letters that are taken for others"),
    (_SHELL, "shell", "it runs a command"),
    (_SECRET_FILE, "secret-file", "it names a file that holds secrets"),
    (_PLACEHOLDER, "secret-placeholder", "a client that fills placeholders puts a secret there"),
)
_SHORT_WORD = 3  # a word that short stands in many others


class RiskyValue(NamedTuple):
    """A value at ``text[start:end]`` of a field; rule is the name of what was found."""

    field: str
    text: str
    start: int
    end: int
    rule: str
    why: str


def risky_values(tool: Tool, own: Collection[str] = frozenset()) -> Iterator[RiskyValue]:
    """Yield the values of a tool that would send data elsewhere. All of it is exact: no name or wording of an input counts.

    :param own: sites that are the catalogue's own.
    """
    known = {*own, *_sites_of_servers(tool)}
    words = frozenset(re.findall(r"[a-z]{3,}", f"{tool.namespace} {tool.id.rpartition('/')[0]}".lower()))
    for title, parameters in (("parameters", tool.parameters), ("returns", tool.returns)):
        for number, parameter in enumerate(parameters):
            for key, value, put_in in _values_of(parameter):
                field, text = f"{title}[{number}].{key}", value[:_LONGEST]
                for pattern, rule, why in _RULES:
                    if (match := pattern.search(text)) is not None:
                        yield RiskyValue(field, text, match.start(), match.end(), rule, why)
                if put_in:
                    yield from _foreign_hosts(field, text, known, words)


def _values_of(parameter: Parameter) -> Iterator[tuple[str, str, bool]]:
    """The place of each value, the value, and whether a call has it unless the caller gives another."""
    if parameter.default:
        yield "default", parameter.default, True
    if parameter.example and parameter.example != parameter.default:
        yield "example", parameter.example, False
    for at, value in enumerate(parameter.enum):
        yield f"enum[{at}]", value, len(parameter.enum) == 1 and value != parameter.default


def _sites_of_servers(tool: Tool) -> Iterator[str]:
    servers = [*(tool.call.servers if tool.call is not None else ())]
    servers += [str(tool.metadata.get(key, "")) for key in ("server", "base_url", "baseUrl", "url", "host")]
    return (site_of(host) for server in servers for host in hosts_in(server))


def _foreign_hosts(field: str, value: str, own: Collection[str], words: Collection[str]) -> Iterator[RiskyValue]:
    """The first address of a value that is neither a placeholder, nor the tool's own, nor named as its namespace is."""
    for address in addresses_in(value):
        labels = address.host.split(".")
        related = any(word in labels or (len(word) > _SHORT_WORD and word in address.host) for word in words)
        if site_of(address.host) in own or is_documentation(address.host) or related:
            continue
        rule, why = (
            ("mail-address", "a person whom the caller did not name gets the data")
            if address.is_mail
            else ("foreign-host", "data goes to a host that is none of the tool's servers")
        )
        yield RiskyValue(field, value, address.start, address.end, rule, why)
        return
