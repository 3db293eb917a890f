"""Security advice to whoever uses an API: what keeps a credential from others is nothing that is kept from the user."""

from __future__ import annotations

import re

__all__ = ["names_credential", "without_advice"]

_CREDENTIAL = (
    r"(?:secrets?|tokens?|keys?|passwords?|passphrases?|passcodes?|credentials?|codes?|pins?|otps?|certificates?)"
)
_WORD = r"[\w-]{1,40}"  # of a run with hyphens, a word begins at each: without a limit each would read all of the run
_NAMED = rf"(?:(?:the|your|this|that|these|those|any|all|an?|its|their) )?(?:{_WORD} ){{0,3}}?{_CREDENTIAL}"
_THING = rf"(?:{_NAMED}|it|them|this|these)"
# Whom a credential is kept from: not the one person who uses the tool, and not what the model says.
_FROM = (
    r"(?: again)?(?: (?:to|from|with|in|into|on|by|via|over|as|outside|anywhere|publicly|unless|or|and|beyond) "
    r"(?:(?!(?:the|this|that|your) (?:user|customer|person|human|caller|requester)\b(?!'s| agent)|assistant|model|reply|answer|conversation|him\b|her\b)[^.;,]){0,80})?"
)
_END = r"(?=\W*$|[.;,:!?])"
_SAFE = r"(?:secret|confidential|private|safe|secure|securely|hidden|protected|encrypted)"
_SPREAD = r"(?:expos|reveal|disclos|shar|show|display|print|log|leak|publish|commit|stor|send|sent|includ|post|hard-?cod|embed|pass|transmit|return|writ)\w*"
_NOT = r"(?:do not|don't|never|not|must not|mustn't|should not|shouldn't|cannot|avoid|without)"
_ADVICE = re.compile(
    rf"\b(?:keep|keeps|keeping|kept|hold|treat|remain|stay)(?: {_THING})?(?: (?:be|as|strictly|always|completely))* {_SAFE}{_FROM}{_END}|"
    rf"\b(?:keep|keeps|kept) {_THING} out of (?:{_WORD} ){{0,3}}(?:logs?|tickets?|messages|repositor\w+|source|version|code|control|urls?|clients?|browsers?)\b|"
    rf"\b{_NOT} (?:be )?(?:ever )?{_SPREAD}(?: or {_SPREAD})?(?: {_THING})?{_FROM}{_END}|"
    rf"\b{_NAMED} (?:\w{{1,40}} ){{0,2}}{_NOT} (?:be )?{_SPREAD}{_FROM}{_END}"
)
_NAMES_CREDENTIAL = re.compile(rf"\b{_CREDENTIAL}\b")


def names_credential(folded: str) -> bool:
    """Whether a folded text speaks of a credential."""
    return _NAMES_CREDENTIAL.search(folded) is not None


def without_advice(folded: str) -> str:
    """Return a folded text without advice to keep credentials from others."""
    return _ADVICE.sub(" ", folded)
