"""Examine tools: what in their documents could mislead a model or its user. All rules are exact: no wording counts."""

from __future__ import annotations

import ipaddress
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

from ingest.tool_cache import ToolCache, json_codec
from ingest.trust.hidden_characters import (
    bidirectional_runs,
    invisible_runs,
    is_mixed,
    skeleton,
    visible,
    without_hidden,
)
from ingest.word_lists import word_list
from ontology.files import code_digest
from ontology.json_values import JsonObject
from ontology.tool import Tool

FindingKind: TypeAlias = Literal[
    "invisible-characters", "bidirectional-characters", "look-alike-name", "changed-description", "exfiltrating-value"
]
_REMEDIES: Mapping[FindingKind, str] = {
    "invisible-characters": "Ask the owner why the characters are there; take them out",
    "bidirectional-characters": "Compare what is shown with what is stored; take the controls out",
    "look-alike-name": "Check who publishes each of the two tools; hide the one that is not meant",
    "changed-description": "Compare it with what was published before, and approve it if the owner meant it",
    "exfiltrating-value": "Check where the value sends data; ask for another default, or set one by an overlay",
}
_SHARE_OF_SITE = 3  # tools of a catalogue that are called at a site, from which on it is the catalogue's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One place in a tool's document that could mislead a model or its user."""

    kind: FindingKind
    # ``quarantine`` where an operator may want to hold the tool back, else ``report``
    severity: Literal["report", "quarantine"]
    tool: str  # id of the tool
    field: str  # the place in its JSON form (``description``, ``parameters[2].default``)
    start: int  # of the span in the field's text, in characters; 0 and the length of the text where all of it is meant
    end: int  # after its last character
    quote: str  # the text of the span with everything invisible escaped, at most 120 characters
    rule: str  # versioned name of the rule
    why: str  # what was found, one sentence without a full stop
    remedy: str  # what to do, likewise

    @property
    def is_severe(self) -> bool:
        """Whether an operator may want to hold the tool back for it."""
        return self.severity == "quarantine"

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON values."""
        return asdict(self)


def findings_of(
    tools: Sequence[Tool],
    previous: Mapping[str, Tool] | None = None,
    *,
    beside: Sequence[Tool] = (),
    cache: ToolCache | None = None,
) -> list[Finding]:
    """Return the findings of tools, sorted by tool in their order, then by field and span.

    :param tools: of one catalogue, with unique ids; names are compared among them.
    :param beside: the other tools of the catalogue, whose names are compared too; nothing is said of them.
    :param previous: id → tool as it was published last; nothing is compared without it.
    :param cache: what was found in unchanged tools is taken from it.
    """
    before = previous or {}
    order = {tool.id: at for at, tool in enumerate(tools)}
    among = [*tools, *(tool for tool in beside if tool.id not in order)]
    servers = Counter(server for tool in among if tool.call is not None for server in tool.call.servers[:1])
    sites: Counter[str] = Counter()
    for server, number in servers.items():
        for host in _hosts_in(server)[:1]:
            sites[_site_of(host)] += number
    own = frozenset(site for site, number in sites.items() if number >= _SHARE_OF_SITE)

    def make(missing: Sequence[Tool]) -> Iterator[list[Finding]]:
        for tool in missing:
            yield [*_hidden_characters(tool), *_risky_values(tool, own)]

    depends_on = f"{code_digest('ingest', 'ontology')}\n{sorted(own)}"
    made = (cache or ToolCache(None)).each("findings.v1", depends_on, tools, make, json_codec(list[Finding]))
    found = {finding for each in made for finding in each.value}
    for tool in tools:
        if tool.id in before and before[tool.id] != tool:
            found.update(_changes(tool, before[tool.id]))
    published = before.keys() | {tool.id for tool in beside}
    found.update(finding for finding in _look_alikes(among, published) if finding.tool in order)
    return sorted(found, key=lambda each: (order[each.tool], each.field, each.start, each.end, each.kind, each.rule))


def _finding(
    kind: FindingKind, tool: Tool, field: str, text: str, span: tuple[int, int], rule: str, why: str, *, severe: bool
) -> Finding:
    start, end = span
    around = 20 if kind in {"invisible-characters", "bidirectional-characters"} else 0
    return Finding(
        kind=kind,
        severity="quarantine" if severe else "report",
        tool=tool.id,
        field=field,
        start=start,
        end=end,
        quote=visible(text[max(0, start - around) : end + around].strip(" \n")),
        rule=f"{kind}.{rule}.v1",
        why=why,
        remedy=_REMEDIES[kind],
    )


# A name of a tool or parameter; a title or other text of the metadata; a description; a default, example, allowed value
_Role: TypeAlias = Literal["name", "label", "prose", "value"]
# egotools', places and hashes
_OWN_METADATA = frozenset(("format", "source", "method", "path", "cut", "overlay", "source_id"))
_NAMES = frozenset(("namespace", "owner"))  # of all tools of a source: what changes there is no change of a tool
_ROLES: Mapping[str, _Role] = {
    **dict.fromkeys(("default", "example", "examples", "enum", "const", "x-example", "x-examples"), "value"),
    **dict.fromkeys(("title", "summary"), "label"),
    "description": "prose",
}
_LONG_KEY = 60  # chosen, not tuned: a key that long is a text


class _Field(NamedTuple):
    field: str
    text: str
    role: _Role


def _fields(tool: Tool) -> Iterable[_Field]:
    """The texts of a tool, each text once: descriptions in a schema that are also those of a parameter come as the latter."""
    texts: dict[str, _Field] = {}
    for each in _all_fields(tool):
        texts.setdefault(each.text, each)
    texts.pop("", None)
    return texts.values()


def _all_fields(tool: Tool) -> Iterator[_Field]:
    yield _Field("id", tool.id, "name")
    yield _Field("name", tool.name, "name")
    yield _Field("description", tool.description, "prose")
    for title, parameters in (("parameters", tool.parameters), ("returns", tool.returns)):
        for number, parameter in enumerate(parameters):
            place = f"{title}[{number}]"
            yield _Field(f"{place}.name", parameter.name, "name")
            yield _Field(f"{place}.type", parameter.type, "name")
            yield _Field(f"{place}.description", parameter.description, "prose")
            yield _Field(f"{place}.default", parameter.default, "value")
            yield _Field(f"{place}.example", parameter.example, "value")
            yield from (_Field(f"{place}.enum[{at}]", value, "value") for at, value in enumerate(parameter.enum))
    for key, value in tool.metadata.items():
        if key not in _OWN_METADATA:
            yield from _walk(f"metadata.{key}", value, "name" if key in _NAMES else "label")
    for number, dependency in enumerate(tool.depends_on):
        yield _Field(f"depends_on[{number}].reason", dependency.reason, "label")
    for title, schema in (("input_schema", tool.input_schema), ("output_schema", tool.output_schema)):
        if isinstance(schema, JsonObject):
            parts = [*((f".$defs.{name}", text) for name, text in schema.definitions), ("", schema.own_text)]
            for place, text in parts:
                yield from (each._replace(field=f"{title}{place}{each.field}") for each in _schema_fields(text))
        elif schema is not None:
            yield from _walk(title, schema, "label")


@lru_cache(maxsize=1 << 14)
def _schema_fields(text: str) -> tuple[_Field, ...]:
    """The texts of a JSON Schema, each once; definitions that many schemas have are read once."""
    return tuple({each.text: each for each in _walk("", json.loads(text), "label")}.values())


def _walk(place: str, value: Any, role: _Role) -> Iterator[_Field]:
    """Yield the strings of a JSON value, and its keys where these are names of properties."""
    if isinstance(value, str):
        yield _Field(place, value, role)
    elif isinstance(value, (Mapping, JsonObject)):
        for key, inner in value.items():
            if len(key) > _LONG_KEY or not key.isascii():
                yield _Field(f"{place}.{key}", key, "name")
            if key == "properties" and isinstance(inner, Mapping):
                for name, schema in inner.items():
                    yield _Field(f"{place}.properties.{name}", name, "name")
                    yield from _walk(f"{place}.properties.{name}", schema, role)
            else:
                yield from _walk(f"{place}.{key}", inner, role if role == "value" else _ROLES.get(key, role))
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            yield from _walk(f"{place}[{number}]", inner, role)


_MOST_OF_A_FIELD = 20  # findings


def _hidden_characters(tool: Tool) -> Iterator[Finding]:
    for place, text, role in _fields(tool):
        surely = role in ("name", "value")
        for start, end, severe in invisible_runs(text)[:_MOST_OF_A_FIELD]:
            why, span, severe = "characters that nobody sees stand in the text", (start, end), severe or surely
            yield _finding("invisible-characters", tool, place, text, span, "hidden", why, severe=severe)
        for start, end, severe in bidirectional_runs(text)[:_MOST_OF_A_FIELD]:
            why, span, severe = (
                "controls show the text in another order than it is stored",
                (start, end),
                severe or surely,
            )
            yield _finding("bidirectional-characters", tool, place, text, span, "reordered", why, severe=severe)


_END = re.compile(r"[.!?](?=\s|$)|[;\n。！？；]")


def _changes(tool: Tool, before: Tool) -> Iterator[Finding]:
    """What was added to a tool since it was published."""
    old = {each.text for each in _fields(before)}
    known = {_plain(text[start:end]) for text in old for start, end in _sentences(text)}
    sites = {_site_of(host) for text in old for host in _hosts_in(text)}
    inputs = {parameter.name for parameter in before.parameters}
    for place, text, role in _fields(tool):
        of_input = place.startswith("parameters[")
        if text in old or (role == "name" and not of_input):
            continue
        if of_input and tool.parameters[int(place[11 : place.index("]")])].name not in inputs:
            if place.endswith(".name"):
                why, span = "an input was added since it was published", (0, len(text))
                yield _finding("changed-description", tool, place, text, span, "input", why, severe=False)
            continue
        spans = [(0, len(text))] if role == "value" else _sentences(text)
        parts = [(start, end, text[start:end]) for start, end in spans]
        added = [part for part in parts if part[2].strip() and _plain(part[2]) not in known]
        if added:
            what = "value" if role == "value" else "text"
            hosts = [host for *_, part in added for host in _hosts_in(part.rstrip(" .!?\n"))]
            severe = any(_site_of(host) not in sites and not _is_documentation(host) for host in hosts)
            why = f"the {what} was changed since it was published{': it names a new host' if severe else ''}"
            span = (added[0][0], added[-1][1])
            yield _finding("changed-description", tool, place, text, span, what, why, severe=severe)


def _sentences(text: str) -> list[tuple[int, int]]:
    """The spans of the sentences of a text; linear."""
    ends = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(ends) if start < end]


def _plain(sentence: str) -> str:
    return " ".join(re.findall(r"\w+", sentence.casefold()))


# Names that are taken for other names: letters of another script or form, and names that look like others.
_HARD_SPACE = re.compile("(?:^|(?<=[\\x21-\\x7e]))[\u00a0\u2000-\u200a\u202f\u205f](?:$|(?=[\\x21-\\x7e]))")
_WORD_OR_DASH = re.compile(r"[^\W_]+|[\u2010-\u2015\u2212\uff0d\uff3f\u2024\u2044\u2215]")
# Chinese, Japanese, Korean: wide letters are usual among them.
_WIDE_SCRIPTS = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
_ODD = re.compile(r"(?<=[^\W\d_])[015|](?=[^\W\d_])|vv|rn|I(?=[a-z])|(?<=[a-z])I(?![A-Za-z])|[^\x00-\x7f]")


def _look_alikes(tools: Sequence[Tool], published: Collection[str]) -> Iterator[Finding]:
    """One a tool, near linear in their number; of two alike, the one that was not published is the look-alike."""
    found: dict[str, Finding] = {}
    spaces: dict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        found.update((finding.tool, finding) for finding in _foreign_letters(tool))
        if space := tool.namespace or tool.id.rpartition("/")[0]:
            spaces[space.lower()].append(tool)
    imitations = _imitations({tool.id: tool.id for tool in tools}, published)
    pairs = [("name", tool, imitations[tool.id]) for tool in tools if tool.id in imitations]
    first_of = {first.id: first.namespace or first.id.rpartition("/")[0] for first, *_ in spaces.values()}
    of_spaces = _imitations(first_of, published)
    pairs += [
        ("id", tool, of_spaces[same[0].id]) for same in spaces.values() for tool in same if same[0].id in of_spaces
    ]
    for field, tool, other in pairs:
        if tool.id not in found:
            text, why = getattr(tool, field), f"it looks like {other}, and is written otherwise"
            span = (0, len(text))
            found[tool.id] = _finding("look-alike-name", tool, field, text, span, "same-look", why, severe=True)
    yield from found.values()


def _foreign_letters(tool: Tool) -> Iterator[Finding]:
    """A name that mixes scripts in a word, or has letters in another form, or a dash that is not the hyphen."""
    for field, text in (("metadata.namespace", tool.namespace), ("id", tool.id), ("name", tool.name)):
        space = None if field == "metadata.namespace" else _HARD_SPACE.search(text)
        if space is not None:
            why = "it has a space that is not the usual one"
            yield _finding("look-alike-name", tool, field, text, space.span(), "hard-space", why, severe=True)
        elif not text.isascii() and " " not in text.strip():
            shown = without_hidden(text)
            match = next((each for each in _WORD_OR_DASH.finditer(shown) if _is_foreign(each[0], shown)), None)
            if match is not None:
                why = f"its letters are not those that they look like ({skeleton(text)})"
                yield _finding("look-alike-name", tool, field, text, match.span(), "foreign-letters", why, severe=True)


def _is_foreign(word: str, text: str) -> bool:
    if is_mixed(word) or (not word[0].isalnum() and skeleton(word).isascii()):
        return True
    compatible = unicodedata.normalize("NFKC", word)
    return compatible != word and compatible.isascii() and _WIDE_SCRIPTS.search(text) is None


def _imitations(names: Mapping[str, str], published: Collection[str]) -> dict[str, str]:
    """Map from id to the id whose name it imitates: those that are written less plainly or were not published."""

    def joined(text: str) -> str:
        return re.sub(r"[\s_.-]+", "_", text)

    by_look: dict[str, list[str]] = defaultdict(list)
    for id_, name in names.items():
        by_look[joined(skeleton(name))].append(id_)
    found: dict[str, str] = {}
    for alike in by_look.values():
        if len(alike) > 1:
            model, *others = sorted(alike, key=lambda id_: (id_ not in published, len(_ODD.findall(names[id_])), id_))
            form = joined(without_hidden(names[model])).lower()
            found.update((id_, model) for id_ in others if joined(without_hidden(names[id_])).lower() != form)
    return found


# Values that a document proposes for a call and that would send data elsewhere: defaults, examples and allowed values.
_SECRET = r"secret|password|passwd|token|credential|api[_-]?key|access[_-]?key|private[_-]?key|auth|cookie|session|aws_|env\b|environ"
# Name of a rule, what it finds, and the expression that does.
_VALUE_RULES = [
    (rule, why, re.compile(pattern))
    for rule, why, pattern in (
        (
            "code",
            "it is an address that runs a program",
            r"(?i)^\s{0,20}(?:(?:java|vb|live)script:|data:(?:text/html|application/(?:x-)?javascript)[;,])\S",
        ),
        (
            "punycode",
            "its host is written with letters that are taken for others",
            r"(?i)(?:[a-z][a-z0-9+.-]{1,20}://|@)(?:[\w-]{1,63}\.){0,5}xn--[\w-]{1,60}\.[\w.-]{2,60}",
        ),
        (
            "shell",
            "it runs a command",
            r"\$\(\s?[a-z][^)]{2,200}\)|`\s?(?:cat|curl|wget|env|printenv|whoami|bash|sh|nc|base64)\b[^`]{0,200}`|"
            r"(?:[;|&]\s?|^)(?:curl|wget|nc|bash|sh|powershell|rm -rf|python3? -c)\s[^\s]|\|\s?(?:bash|sh)\b",
        ),
        (
            "secret-file",
            "it names a file that holds secrets",
            r"(?i)\.ssh/|\bid_(?:rsa|ed25519|ecdsa)\b|/etc/(?:passwd|shadow|sudoers)|\.aws/credentials|\.docker/config\.json|"
            r"\.kube/config|\.netrc\b|\.pgpass|\.git-credentials|\.npmrc|\.bash_history|/proc/self/environ|/var/run/secrets|"
            r"(?:^|[/\s\"'])\.env\b",
        ),
        (
            "secret-placeholder",
            "a client that fills placeholders puts a secret there",
            rf"(?i)(?:\{{\{{|\$\{{|<%=?|%|\$)[^{{}}%\s]{{0,100}}(?:{_SECRET})",
        ),
    )
]
_LONGEST = 20_000
_SHORT_WORD = 3  # a word that short stands in many others


def _risky_values(tool: Tool, own: Collection[str]) -> Iterator[Finding]:
    """The values that would send data elsewhere than to the catalogue's own sites; of an output they are not severe."""
    servers = [*(tool.call.servers if tool.call is not None else ())]
    servers += [str(tool.metadata.get(key, "")) for key in ("server", "base_url", "baseUrl", "url", "host")]
    known = {*own, *(_site_of(host) for server in servers for host in _hosts_in(server))}
    words = frozenset(re.findall(r"[a-z]{3,}", f"{tool.namespace} {tool.id.rpartition('/')[0]}".lower()))
    for title, parameters in (("parameters", tool.parameters), ("returns", tool.returns)):
        for number, parameter in enumerate(parameters):
            default, example = parameter.default, parameter.example
            # Each value with its place, and whether a call has it unless the caller gives another.
            values = [("default", default, True)] if default else []
            values += [("example", example, False)] if example and example != default else []
            alone = len(parameter.enum) == 1
            values += ((f"enum[{at}]", each, alone and each != default) for at, each in enumerate(parameter.enum))
            for key, value, is_sent in values:
                place, text = f"{title}[{number}].{key}", value[:_LONGEST]
                tried = ((pattern.search(text), rule, why) for rule, why, pattern in _VALUE_RULES)
                found = [(match.span(), rule, why) for match, rule, why in tried if match]
                for span, rule, why in [*found, *(_foreign_hosts(text, known, words) if is_sent else ())]:
                    severe = title == "parameters"
                    yield _finding("exfiltrating-value", tool, place, text, span, rule, why, severe=severe)


def _foreign_hosts(
    value: str, own: Collection[str], words: Collection[str]
) -> Iterator[tuple[tuple[int, int], str, str]]:
    """The first address of a value that is neither a placeholder, nor the tool's own, nor named as its namespace is."""
    for host, span, is_mail in _addresses_in(value):
        related = any(word in host.split(".") or (len(word) > _SHORT_WORD and word in host) for word in words)
        if _site_of(host) not in own and not _is_documentation(host) and not related:
            if is_mail:
                yield span, "mail-address", "a person whom the caller did not name gets the data"
            else:
                yield span, "foreign-host", "data goes to a host that is none of the tool's servers"
            return


_URL = re.compile(
    r"[a-z][a-z0-9+.-]{1,20}://(?:[^\s/@\"'<>]{1,200}@)?(?P<host>[\w.-]{1,253}|\[[0-9a-f:.]{2,45}\])[^\s\"'<>]{0,2000}",
    re.IGNORECASE,
)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?P<host>[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})", re.IGNORECASE)
_BARE = re.compile(
    r"(?<![\w.@/-])(?P<host>(?:[\w-]{1,63}\.){1,6}[a-z]{2,24})(?::\d{2,5})?(?=$|[\s/,;\"'\]])", re.IGNORECASE
)
_TOP_LEVELS = word_list("trust", "top_levels")
_FILE_ENDINGS = word_list("trust", "no_top_level")
_TWO_LEVELS = frozenset(("co", "com", "org", "net", "ac", "gov", "edu", "or", "ne"))
_HARMLESS_SITES = word_list("trust", "harmless_sites")
_LOCAL_ENDS = word_list("trust", "local_ends")
_PLACEHOLDERS = word_list("trust", "placeholder_labels")


class _Address(NamedTuple):
    """A host that ``text[span]`` names, by a mail address or otherwise."""

    host: str
    span: tuple[int, int]
    is_mail: bool = False


def _addresses_in(text: str) -> list[_Address]:
    """The addresses of a text: URLs, then mail addresses that are no part of one, or bare host names where it has neither."""
    urls = _URL.finditer(text) if "://" in text else ()
    found = [_Address(match["host"].lower().rstrip("."), match.span()) for match in urls]
    has_url = bool(found)
    for match in _MAIL.finditer(text) if "@" in text else ():
        if not has_url or "://" not in text[max(0, match.start() - 100) : match.start()]:
            found.append(_Address(match["host"].lower(), match.span(), is_mail=True))
    for match in _BARE.finditer(text) if not found and "." in text else ():
        host = match["host"].lower()
        end = host.rpartition(".")[2]
        is_host = end in _TOP_LEVELS or (len(end) == 2 and end not in _FILE_ENDINGS)
        if is_host and (host.count(".") > 1 or "-" in host or "/" in text or ":" in text):
            found.append(_Address(host, match.span()))
    return found


def _hosts_in(text: str) -> list[str]:
    return [address.host for address in _addresses_in(text)]


def _site_of(host: str) -> str:
    """The registrable part of a host name, by rule of thumb (``api.shop.co.uk`` → ``shop.co.uk``)."""
    labels = host.lower().strip(".").split(".")
    keep = 3 if len(labels) > 2 and labels[-2] in _TWO_LEVELS and len(labels[-1]) == 2 else 2
    return ".".join(labels[-keep:])


def _is_documentation(host: str) -> bool:
    """Whether data cannot leave to a host: it is reserved for documents, local, a placeholder, or names a vocabulary."""
    if ("." not in host and ":" not in host) or "{" in host or "<" in host:
        return True
    try:
        return not ipaddress.ip_address(host.strip("[]")).is_global
    except ValueError:
        labels = host.split(".")
        return _site_of(host) in _HARMLESS_SITES or labels[-1] in _LOCAL_ENDS or not _PLACEHOLDERS.isdisjoint(labels)
