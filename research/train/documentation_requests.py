"""Requests out of a catalogue's own documentation: what a description says of its tool, said as someone who wants it done."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from ontology.names import is_verb, verb_lemma, words
from ontology.tool import Tool
from retrieval.index.bm25 import params_text

__all__ = ["Wish", "ask", "document_without", "wish"]

_FIRST_SENTENCE = re.compile(r"(.+?[.!?])(?:\s+(?=[A-Z])|$)", re.DOTALL)
_OPENERS = re.compile(
    r"^(?:this (?:operation|method|api|action|call) |(?:enables|allows|lets) (?:you|users?|the caller|a user|an admin\w*) to |used to |"
    r"use this (?:operation|method|api|action) to )",
    re.IGNORECASE,
)
_VENDOR = re.compile(r"\b(?:Amazon(?: Web Services)?|AWS|Google(?: Cloud)?)(?: [A-Z][\w-]*)*\s?")
_CAMEL = re.compile(r"\b[A-Za-z]+[a-z][A-Z]\w*\b")
_FEWEST_WORDS, _MOST_WORDS = 3, 22
_SAID_AS = {
    "get": ("get", "show me", "look up", "find", "fetch", "check"),
    "retrieve": ("get", "show me", "look up", "find", "pull up"),
    "return": ("show me", "find", "tell me", "give me", "get"),
    "list": ("list", "show me", "show all", "give me", "what are"),
    "describe": ("describe", "show me", "tell me about", "give me the details of"),
    "create": ("create", "set up", "make", "add", "start"),
    "delete": ("delete", "remove", "get rid of", "drop"),
    "remove": ("remove", "take away", "delete"),
    "update": ("update", "change", "edit", "adjust"),
    "modify": ("change", "edit", "adjust"),
    "add": ("add", "put in", "attach"),
    "associate": ("link", "connect", "attach", "associate"),
    "disassociate": ("unlink", "detach", "disconnect"),
    "start": ("start", "kick off", "begin", "run"),
    "stop": ("stop", "halt", "end"),
    "cancel": ("cancel", "call off"),
    "put": ("set", "put", "save"),
    "search": ("search", "look for", "find"),
    "submit": ("submit", "send in", "hand in"),
    "send": ("send", "get out"),
    "insert": ("add", "insert", "put in"),
    "patch": ("change", "update", "edit"),
}
_AROUND = (
    ("", ""), ("", ""), ("", ""), ("Please ", ""), ("", ", please"), ("Can you ", "?"), ("Could you ", "?"), ("I want to ", ""),
    ("I need to ", ""), ("We have to ", ""), ("Help me ", ""), ("How do I ", "?"), ("I'd like to ", ""), ("My boss asked me to ", ""),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What someone wants done.

    :param said: in the imperative, without end (``get rid of a queue``).
    :param sentence: the sentence of the description that it came from.
    """

    said: str
    sentence: str


def wish(tool: Tool, rng: random.Random) -> Wish | None:
    """What the tool's description says it does, in the imperative; None where its first sentence does not begin with a verb."""
    description = " ".join(tool.description.split())
    found = _FIRST_SENTENCE.match(description)
    sentence = found[1] if found else description
    plain = _OPENERS.sub("", sentence.rstrip(".!? "))
    plain = re.sub(r"\byour\b", "our", plain)
    plain = _CAMEL.sub(lambda name: " ".join(words(name[0])), _VENDOR.sub("", plain))
    tokens = plain.split()
    if not _FEWEST_WORDS <= len(tokens):
        return None
    verb = verb_lemma(tokens[0].lower().strip(","))
    if not is_verb(verb) or not tokens[0].isalpha():
        return None
    said = rng.choice(_SAID_AS.get(verb, (verb,))) if rng.random() < 0.6 else verb
    rest = tokens[1:_MOST_WORDS]
    cut = next((place for place, token in enumerate(rest) if place >= 4 and token.endswith((",", ";", ":"))), len(rest))
    return Wish(said=" ".join([said, *rest[: cut + 1]]).rstrip(",;: "), sentence=sentence)


def ask(said: list[str], rng: random.Random) -> str:
    """Several wishes as one request."""
    joint = rng.choice((" and ", ", then ", " and after that ", ". Also ", " and also ", "; "))
    before, after = rng.choice(_AROUND)
    text = before + joint.join(said) + after
    return text[0].upper() + text[1:] if rng.random() < 0.8 else text


def document_without(tool: Tool, sentence: str) -> str:
    """The tool's title, what its description says beyond the sentence, and its parameters."""
    rest = " ".join(tool.description.split()).replace(sentence, "").strip()
    return " ".join(f"{tool.title}. {rest} {params_text(tool)}".split())
