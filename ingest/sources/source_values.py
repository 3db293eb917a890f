"""Judge whether a text of a sources file holds a secret that should be a reference."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

from ingest.sources.access import without_references
from ontology.redaction import command_words, names_secret, redact, redact_document_text, secrets_in

__all__ = ["is_literal_secret", "location_holds_secret", "malformed_reference"]

_SCHEME_WORDS = re.compile(r"\b(?:Bearer|Basic|Digest|Token|ApiKey)\b", re.IGNORECASE)
_RANDOM = re.compile(r"[A-Za-z0-9_-]{20,}")


def malformed_reference(text: str) -> bool:
    """Whether a text has ``${`` that is no reference."""
    return "${" in without_references(text)


def is_literal_secret(name: str, text: str) -> bool:
    """Whether a value is written out although it seems to be secret: by its name, or by its own shape."""
    rest = without_references(text)
    if not rest.strip():
        return False
    if names_secret(name) and re.search(r"\w", _SCHEME_WORDS.sub("", rest)):
        return True
    return redact(rest) != rest or redact_document_text(rest) != rest or any(map(_seems_random, _RANDOM.findall(rest)))


def location_holds_secret(location: str) -> bool:
    """Whether an address or a command has a secret that is written out."""
    if "://" in location:
        try:
            parts = urlsplit(without_references(location))
        except ValueError:
            return True
        user, colon, password = parts.netloc.rpartition("@")[0].partition(":")
        if (password if colon else user) or parts.fragment:
            return True
        return any(is_literal_secret(key, value) for key, value in parse_qsl(parts.query)) or any(
            is_literal_secret("", part) for part in parts.path.split("/")
        )
    if location.startswith("mcp:"):
        hidden = (without_references(secret) for secret in secrets_in(location))
        words = command_words(location)
        return any(secret.strip() for secret in hidden) or any(is_literal_secret("", word) for word in words[1:])
    return False


def _seems_random(text: str) -> bool:
    """Whether a text of at least 20 characters mixes cases and digits as keys do, and words do not."""
    kinds = sum(bool(re.search(pattern, text)) for pattern in ("[a-z]", "[A-Z]", "[0-9]"))
    return kinds == 3 and len(re.findall(r"[0-9]", text)) >= 3
