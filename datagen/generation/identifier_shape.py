"""The shape of identifiers: what a made-up one looks like, by the example, the pattern and the format of its input."""

from __future__ import annotations

import hashlib
import re

from datagen.generation.common_words import is_plain_word
from datagen.generation.data_files import word_classes
from datagen.patterns import load_patterns
from ingest.linking import type_family
from ontology.names import words
from ontology.tool import Parameter

__all__ = ["Shape", "is_place", "shape_in_name", "shape_of"]

_UUID = re.compile(r"^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", re.I)
_TYPED = re.compile(r"^[A-Za-z0-9][\w.-]{1,17}$")
_SHOWN = re.compile(
    r"(?:e\.g\.?|for example|such as|example:)[,:]?\s+[`'\"]?([A-Za-z0-9][\w.-]{2,17})[`'\"]?(?=[\s,.;)]|$)", re.I
)
_PLACEHOLDER = re.compile(r"x{3,}|example|string|sample|foo|your|some|dummy|my[-_]?|<|\{", re.I)
_LONG = ("###", "####", "#####", "@-###", "@#####", "@@-####", "@@-###")
_MAX_OPAQUE = 12  # characters of a mix of letters and digits that people still type
_DIGITS = (4, 6)  # of a number without an example
_PLACES = word_classes("arguments")["regions"]
_COUNTED = word_classes("arguments")["counted_up"]
_CONTAINERS = load_patterns("paths/words").words("containers")
_LETTER = re.compile(r"[A-Za-z]+")

Shape = tuple[str, str]
"""A kind of value (``login``), or empty, and a pattern of numbers (``INC#####``), or empty; both are empty where nobody
would type the identifier."""


def shape_of(parameter: Parameter, field: str, *, person: bool, number: str = "") -> Shape:
    """The shape of the identifiers that an input takes.

    :param field: which field of its entity it takes (``id``, ``name``).
    :param person: whether it identifies a person.
    :param number: the pattern of the numbers of such things, where it is known.
    """
    last = words(parameter.name.rsplit(".", 1)[-1])[-1:] or [""]
    family = type_family(parameter.type)
    if "email" in (parameter.format, last[0], field) or (person and "email" in parameter.description.lower()[:200]):
        return "email", ""
    if last[0] in ("arn", "arns", "uri", "url") or "arn" in words(parameter.description[:60]) or field == "arn":
        return "", ""
    shown = _shown(parameter)
    if parameter.format in ("uuid", "guid") or _is_opaque(shown):
        return "", ""
    if re.search(r"\d", shown):
        return "", re.sub(r"\d", "#", shown)
    if last[0] in ("name", "names", "username", "login", "slug") or field == "name":
        return ("login" if person else "slug"), ""
    if number:
        return "", number
    digest = hashlib.sha256(" ".join(words(parameter.name)).encode()).digest()[0]
    if family in ("integer", "number"):
        return "", "#" * (_DIGITS[0] + digest % (_DIGITS[1] - _DIGITS[0] + 1))
    return "", _LONG[digest % 3] if not parameter.pattern else ""


def shape_in_name(collection: str, kind: str, *, person: bool) -> Shape:
    """The shape of one part of a composed name (``instances/orders-db``).

    :param kind: the kind of value that names such a thing, or empty.
    """
    head = collection.split()[-1]
    if person:
        return "email", ""
    if head in _PLACES:
        return "region_name", ""
    if head in _COUNTED:
        return "", "##"
    if kind in ("slug", "domain"):
        return kind, ""
    if kind == "title" and head in _CONTAINERS:  # a project is called orders-prod here, an account has a number
        return "slug", ""
    return "", _LONG[hashlib.sha256(collection.encode()).digest()[0] % len(_LONG[:3])]


def is_place(collection: str) -> bool:
    """Whether things are in what a collection holds: in a region or in a project, but a database of an instance."""
    return collection.split()[-1] in _PLACES | _CONTAINERS


def _shown(parameter: Parameter) -> str:
    """An identifier that the document shows, or empty."""
    texts = [parameter.example, *(text.rstrip(".") for text in _SHOWN.findall(parameter.description[:300]))]
    able = (text for text in texts if _TYPED.match(text) or _UUID.match(text))
    return next((text for text in able if not _PLACEHOLDER.search(text)), "")


def _is_opaque(shown: str) -> bool:
    """Whether nobody types an identifier like the shown one: a mix of letters and digits without words in it."""
    if _UUID.match(shown) or re.search(r"[#@%]", shown):
        return True
    runs = _LETTER.findall(shown)
    readable = all((run.isupper() and len(run) <= 5) or is_plain_word(run.lower()) or len(run) <= 4 for run in runs)
    return not readable or (len(runs) > 2 and len(shown) > _MAX_OPAQUE)
