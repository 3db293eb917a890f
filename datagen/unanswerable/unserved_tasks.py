"""Tasks of everyday domains that no document of a catalogue mentions, and messages that ask for nothing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from datagen.unanswerable.document_words import DocumentWords
from ontology.yaml_data import read_yaml

__all__ = ["other_domains", "read_data", "small_talk"]

_ROUNDS = 3  # times that a sentence is filled anew; all sentences once, before any is used again
_Found = tuple[Sequence[tuple[str, str]], Sequence[str]]


@cache
def read_data(name: str) -> Mapping[str, Any]:
    """The data of a YAML file of this folder."""
    data: Mapping[str, Any] = read_yaml(Path(__file__).parent / f"{name}.yaml")
    return data


def other_domains(known: DocumentWords, rng: random.Random) -> _Found:
    """Texts with their reasons, in random order, of domains without a sign in the documents; and the domains left out."""
    data = read_data("other_domains")
    web = known.sign(data["web_signs"])
    found: list[list[tuple[str, str]]] = [[] for _ in range(_ROUNDS)]
    left_out: list[str] = []
    for domain in data["domains"]:
        sign = known.sign(domain["signs"]) or (web if domain.get("web") else "")
        if hint := repr(sign) if sign else known.hinted(domain["hints"]):
            left_out.append(f"the domain {domain['name']!r} is left out: the documents mention {hint}")
            continue
        reason = f"no document mentions anything of the domain {domain['name']!r}"
        for text in domain["requests"]:
            for made in found:
                filled = {name: rng.choice(values) for name, values in data["fillers"].items()}
                made.append((text.format_map(filled), reason))
    for made in found:
        rng.shuffle(made)
    return [one for made in found for one in made], left_out


def small_talk(known: DocumentWords, rng: random.Random) -> _Found:
    """Messages with their reason, in random order, and those left out; none where a tool may hold a conversation.

    The others are left out one by one: a word of the documents speaks against the messages that a tool for it could serve.
    """
    data = read_data("small_talk")
    if serving := known.signed(data["chat"]):
        return [], [f"small talk is left out: {serving.tool} may answer it, its document mentions {serving.sign!r}"]
    found: list[tuple[str, str]] = []
    left_out: Counter[str] = Counter()
    for message in data["messages"]:
        if sign := known.sign(message.get("signs", ())):
            left_out[sign] += 1
        else:
            found.append((message["text"], "it asks for no task"))
    rng.shuffle(found)
    return found, [
        f"of the small talk {count} {'messages are' if count > 1 else 'message is'} left out: the documents mention {sign!r}"
        for sign, count in left_out.items()
    ]
