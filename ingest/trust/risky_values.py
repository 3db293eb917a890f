"""Values that a document proposes for a call and that would send data elsewhere: defaults, examples and allowed values."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from ingest.trust.finding import QUARANTINE, REPORT, Severity
from ingest.trust.hidden_characters import fold
from ingest.word_lists import word_list, word_patterns
from ontology.tool import Parameter, Tool

__all__ = ["addresses_in", "any_of", "hosts_in", "is_documentation", "risky_values", "site_of"]


def any_of(name: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern that finds any of a list, in a word too; raise KeyError for an unknown list."""
    return re.compile("|".join(word_patterns("trust", name)), flags)


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
    (
        "w3.org",
        "schema.org",
        "json-schema.org",
        "ietf.org",
        "iana.org",
        "swagger.io",
        "openapis.org",
        "github.com",
        "docs.oasis-open.org",
        "oasis-open.org",
        "wikipedia.org",
        "mozilla.org",
    )
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
        or site in _DOCUMENTATION
        or site in _WIDELY_NAMED
        or labels[-1] in _LOCAL
        or any(
            label
            in {
                "example",
                "yourdomain",
                "mydomain",
                "your-domain",
                "domain",
                "yoursite",
                "mysite",
                "company",
                "yourcompany",
                "mycompany",
            }
            for label in labels
        )
    )


_SECRET = r"(?:secret|password|passwd|token|credential|api[_-]?key|access[_-]?key|private[_-]?key|auth|cookie|session|ssh|vault|aws_|env\b|environ)"
_TEMPLATE = re.compile(
    r"\{\{[^{}]{1,200}\}\}|\$\{[^{}]{1,200}\}|<%=?[^%]{1,200}%>|%[A-Z_]{3,60}%|\$[A-Z][A-Z_]{3,60}\b|\{[a-z_.]{2,60}\}"
)
_SECRET_NAME = re.compile(_SECRET, re.IGNORECASE)
_PERSONAL = any_of("personal_fields", re.IGNORECASE)
_SHELL = re.compile(
    r"\$\(\s?[a-z][^)]{2,200}\)|`\s?(?:cat|curl|wget|env|printenv|whoami|id|ls|echo|bash|sh|nc|base64|hostname|uname)\b[^`]{0,200}`|"
    r"(?:[;|&]\s?|^)(?:curl|wget|nc|bash|sh|powershell|rm -rf|python3? -c)\s[^\s]|\|\s?(?:bash|sh)\b"
)
_SECRET_FILE = any_of("secret_files", re.IGNORECASE)
_PHONE = re.compile(r"(?<![\w.])\+\d[\d ()/-]{6,20}\d(?!\w)")
_PHONE_PLACE = any_of("phone_inputs", re.IGNORECASE)
_ACCOUNT = re.compile(
    r"(?<!\w)(?:[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?|[A-Z]{2,6}\d{2}(?: ?\d{4}){3,7}|0x[0-9a-fA-F]{40}|bc1[a-z0-9]{25,60}|[13][A-HJ-NP-Za-km-z1-9]{25,34})(?!\w)"
)
_ACCOUNT_PLACE = any_of("account_inputs", re.IGNORECASE)
_TALK = any_of("talk_inputs", re.IGNORECASE)
_OUTSIDE = any_of("given_outside", re.IGNORECASE | re.DOTALL)
_ACCESS = any_of("access_inputs", re.IGNORECASE)
_RIGHTS_PLACE = re.compile(r"^scopes?$|role|permission|privilege|rights|grant", re.IGNORECASE)
_ALL_RIGHTS = re.compile(
    r"^\W*(?:\*|admin(?:istrator)?|owner|root|superuser|super_?admin|full[_ -]?(?:access|control)|all)\W*$|\badmin:\*|\boffline_access\b.*\badmin|:\*",
    re.IGNORECASE,
)
_DUMP = re.compile(
    r"select\b.{0,200}\b(?:password|secret|token|ssn|salary|card_|iban|api_?key)\w*.{0,200}\bfrom\b",
    re.IGNORECASE | re.DOTALL,
)
_PUBLIC = any_of("open_access", re.IGNORECASE)


_OPENINGS = (
    (_PUBLIC, _ACCESS, "public", "it opens access to everyone"),
    (_ALL_RIGHTS, _RIGHTS_PLACE, "rights", "it asks for all rights"),
    (_DUMP, None, "secret-query", "it reads secrets"),
)


class RiskyValue(NamedTuple):
    """A value at ``text[start:end]`` of a field; rule is the name of what was found."""

    field: str
    text: str
    start: int
    end: int
    severity: Severity
    rule: str
    why: str


def _whole(field: str, value: str, rule: str, why: str) -> RiskyValue:
    return RiskyValue(field, value, 0, len(value), QUARANTINE, rule, why)


def own_sites(tool: Tool) -> frozenset[str]:
    """The sites (registrable domains) that are the tool's own: of its servers, and of its description's namespace."""
    sites = set()
    if tool.call is not None:
        sites |= {site_of(host) for server in tool.call.servers for host in hosts_in(server)}
    for key in ("server", "base_url", "baseUrl", "url", "host"):
        value = tool.metadata.get(key)
        if isinstance(value, str):
            sites |= {site_of(host) for host in hosts_in(value)}
    return frozenset(sites)


def risky_values(tool: Tool, own: Collection[str] = frozenset()) -> Iterator[RiskyValue]:
    """Yield the values of a tool that would send data elsewhere.

    :param own: sites that are the tool's or its catalogue's own.
    """
    known = {*own, *own_sites(tool)}
    words = _words_of(tool)
    for title, parameters in (("parameters", tool.parameters), ("returns", tool.returns)):
        for number, parameter in enumerate(parameters):
            place = f"{title}[{number}]"
            if title == "parameters" and (asked := _asked_by_name(parameter.name)):
                yield _whole(f"{place}.name", parameter.name, "asking-name", f"the name of an input asks for {asked}")
            if parameter.default:
                yield from _in_value(f"{place}.default", parameter.default, parameter, known, words, default=True)
            if parameter.example and parameter.example != parameter.default:
                yield from _in_value(f"{place}.example", parameter.example, parameter, known, words, default=False)
            for at, value in enumerate(parameter.enum):
                yield from _in_enum(f"{place}.enum[{at}]", value)
            if (
                len(parameter.enum) == 1 and parameter.enum[0] != parameter.default
            ):  # the only value that a call may have
                yield from _hosts(f"{place}.enum[0]", parameter.enum[0], parameter, known, words, default=True)
    yield from _servers(tool)


_FOREIGN_CODE = re.compile(
    r"^\s{0,20}(?:(?:javascript|vbscript|livescript):|data:(?:text/html|application/(?:x-)?javascript)[;,])\S",
    re.IGNORECASE,
)
_PUNYCODE = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,20}://|@)(?:[\w-]{1,63}\.){0,5}xn--[\w-]{1,60}\.[\w.-]{2,60}", re.IGNORECASE
)
_CHECKED = any_of("checked_inputs", re.IGNORECASE)


def _words_of(tool: Tool) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]{3,}", f"{tool.namespace} {tool.id.rpartition('/')[0]}".lower()))


def _in_enum(field: str, value: str) -> Iterator[RiskyValue]:
    for pattern, rule, why in (
        (_FOREIGN_CODE, "code", "it is an address that runs a program"),
        (_PUNYCODE, "punycode", "its host is written with letters that are taken for others"),
        (_SHELL, "shell", "it runs a command"),
        (_SECRET_FILE, "secret-file", "it names a file that holds secrets"),
    ):
        if (match := pattern.search(value)) is not None:
            yield RiskyValue(field, value, match.start(), match.end(), QUARANTINE, rule, why)


def _in_value(
    field: str, value: str, parameter: Parameter, own: Collection[str], words: Collection[str], *, default: bool
) -> Iterator[RiskyValue]:
    if len(value) > _LONGEST:
        value = value[:_LONGEST]
    if value in {"true", "True"}:
        if default:
            yield from _switched_on(field, value, parameter)
        return
    if default and value in {"false", "False"} and _CHECKED.search(parameter.name):
        yield _whole(field, value, "unchecked", "what secures the call is not checked unless the caller says so")
    if len(value) < _SHORTEST:
        return
    if default:
        if _reroutes(parameter, value):
            yield _whole(field, value, "route", "unless the caller says otherwise, calls go through a host")
    yield from _in_enum(field, value)
    yield from _templates(field, value)
    about = f"{parameter.name} {parameter.description[:400]}"
    if default:
        for pattern, place, rule, why in _OPENINGS:
            match = pattern.search(value)
            if match is not None and (place is None or place.search(parameter.name)):
                yield RiskyValue(
                    field,
                    value,
                    match.start(),
                    match.end(),
                    QUARANTINE,
                    rule,
                    f"{why} unless the caller says otherwise",
                )
        yield from _matches(
            field,
            value,
            _PHONE,
            _PHONE_PLACE,
            about,
            "phone",
            "it is a telephone number that the document puts in unless the caller gives another",
        )
        yield from _matches(
            field,
            value,
            _ACCOUNT,
            _ACCOUNT_PLACE,
            about,
            "account",
            "it is an account that the document puts in unless the caller gives another",
        )
    yield from _hosts(field, value, parameter, own, words, default=default)


_LONGEST = 20_000
_SHORTEST = 4


def _matches(
    field: str, value: str, pattern: re.Pattern[str], place: re.Pattern[str], about: str, rule: str, why: str
) -> Iterator[RiskyValue]:
    match = pattern.search(value)
    if match is not None and place.search(about) and len(set(re.findall(r"\d", match[0]))) > 1:
        yield RiskyValue(field, value, match.start(), match.end(), QUARANTINE, rule, why)


def _switched_on(field: str, value: str, parameter: Parameter) -> Iterator[RiskyValue]:
    about = fold(f"{parameter.name}: {parameter.description[:1000]}")
    if _TALK.search(about) and _GIVES.search(about):
        yield _whole(
            field, value, "talk-included", "unless the caller says no, the conversation or its context goes along"
        )
    elif _OUTSIDE.search(about):
        yield RiskyValue(
            field, value, 0, len(value), QUARANTINE, "shared", "unless the caller says no, data goes to others"
        )


_GIVES = any_of("given_along", re.IGNORECASE)


def _templates(field: str, value: str) -> Iterator[RiskyValue]:
    for match in _TEMPLATE.finditer(value):
        if (_SECRET_NAME.search(match[0]) and not match[0].startswith("{")) or (
            match[0].startswith("{{") and _SECRET_NAME.search(match[0])
        ):
            yield RiskyValue(
                field,
                value,
                match.start(),
                match.end(),
                QUARANTINE if field.startswith("parameters") else REPORT,
                "secret-placeholder",
                "a client that fills placeholders puts a secret there",
            )
            return
        if _PERSONAL.search(match[0]) and re.search(r"https?://[^\s\"']*[?&][^\s\"']{0,200}$", value[: match.start()]):
            yield _whole(field, value, "data-in-address", "an address carries data of the call to its host")
            return


def _hosts(
    field: str, value: str, parameter: Parameter, own: Collection[str], words: Collection[str], *, default: bool
) -> Iterator[RiskyValue]:
    for address in addresses_in(value):
        about = f"{parameter.name} {parameter.format} {parameter.description[:400]}"
        # A host of the domain for examples is a placeholder, except as a default to which something is sent.
        placeholder = is_documentation(address.host) and not (
            default and _SENT_FAR.search(about) and _NAMED_EXAMPLE.search(address.host)
        )
        foreign = site_of(address.host) not in own and not placeholder and not _related(address.host, words)
        if not foreign:
            continue
        if address.is_mail and default:
            yield RiskyValue(
                field,
                value,
                address.start,
                address.end,
                QUARANTINE,
                "mail-address",
                "a person whom the caller did not name gets the data",
            )
        elif not address.is_mail and default:
            yield RiskyValue(
                field,
                value,
                address.start,
                address.end,
                QUARANTINE,
                "foreign-host",
                "data goes to a host that is none of the tool's servers",
            )
        elif (
            not address.is_mail
            and field.startswith("parameters")
            and _SENT_TO.search(about)
            and not _is_named_after(parameter.name, address.host)
        ):
            yield RiskyValue(
                field,
                value,
                address.start,
                address.end,
                QUARANTINE,
                "example-host",
                "models copy examples, and this one sends data to a foreign host",
            )
        else:
            continue
        return


_SENT_TO = any_of("sent_to", re.IGNORECASE)


_SENT_FAR = any_of("sent_far", re.IGNORECASE)
_NAMED_EXAMPLE = re.compile(r"\.(?:[\w]+-[\w-]+|[a-z]{6,})\.(?:example|test|invalid)$")


def _related(host: str, words: Collection[str]) -> bool:
    """Whether a host bears the name of the tool's namespace (``api.stripe.com`` and ``stripe``)."""
    labels = host.lower().split(".")
    return any(word in labels or (len(word) > _SHORT_WORD and word in host.lower()) for word in words)


def _is_named_after(name: str, host: str) -> bool:
    """Whether an input bears the name of a site (``slack_webhooks`` and ``hooks.slack.com``), and not only of what it is for.

    Found on DigitalOcean.
    """
    site = site_of(host).partition(".")[0]
    return site in re.findall("[a-z0-9]+", name.lower()) and not _SENT_TO.search(site)


_SHORT_WORD = 3  # a word that short stands in many others


def _servers(tool: Tool) -> Iterator[RiskyValue]:
    """A server of another site before the tool's others: calls would go there first."""
    servers = tool.metadata.get("servers")
    if not isinstance(servers, (list, tuple)):
        return
    urls = [str(each.get("url", "")) if isinstance(each, Mapping) else str(each) for each in servers]
    hosts = [next(iter(hosts_in(url)), "") for url in urls]
    sites = [site_of(host) for host in hosts]
    if len({site for site in sites if site}) < 2:
        return
    words = _words_of(tool)
    for number, (url, site) in enumerate(zip(urls, sites, strict=True)):
        if site and sites.count(site) * 2 <= len(sites) and not _related(site, words):
            field = (
                f"metadata.servers[{number}].url"
                if isinstance(servers[number], Mapping)
                else f"metadata.servers[{number}]"
            )
            yield RiskyValue(
                field,
                url,
                0,
                len(url),
                QUARANTINE,
                "foreign-server",
                "a server of another site stands among the tool's servers",
            )
            return


def _asked_by_name(name: str) -> str:
    """What of the host or of the conversation the name of an input asks for, in words; empty where nothing."""
    if len(name) < _LONG_NAME:
        return ""
    plain = re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).lower()
    match = _ASKING_NAME.search(plain)
    return match[0].strip("_").replace("_", " ") if match is not None else ""


_LONG_NAME = 14
_ASKING_NAME = re.compile(
    r"(?:^|_)(?:contents?|text|value|values|dump|copy|full|all|entire|complete|whole|verbatim|last|previous|prior|raw|current|your|user_s|paste|read|output)_(?:\w{1,30}_)??"
    r"(?:netrc|ssh|id_rsa|bash_history|dotenv|dot_env|environ|environment|env_vars?|env_file|home_dir\w*|clipboard|keychain|browser_\w+|passwd|kubeconfig|aws_credentials|private_keys?|credentials|secrets|passwords|cookies|"
    r"system_prompt|conversation|chat_history|chat_log|transcript|user_messages|prompt_history|instructions_above|tool_results|tool_outputs|local_files)(?:_|$)"
)
_ROUTE = re.compile(r"(?:^|_)(?:proxy|proxies|relay|tunnel|gateway|socks|resolver|dns_server|smtp_host)", re.IGNORECASE)


def _reroutes(parameter: Parameter, value: str) -> bool:
    """Whether a default routes calls through a host."""
    at = next(addresses_in(value), None) if _ROUTE.search(parameter.name) else None
    if at is None or "{" in value:
        return False
    label = at.host.rpartition(".")[2]
    return not (label in {"localhost", "local", "internal"} or at.host.startswith(("127.", "10.", "192.168.")))
