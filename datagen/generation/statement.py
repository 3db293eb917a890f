"""Statements: what a sentence of a document says that a tool does, as a verb, a thing and what the thing belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from datagen.generation.action_verbs import action_verbs
from datagen.generation.data_files import read_data
from ontology.names import noun_lemma, words

__all__ = ["EXISTENCE", "Link", "Statement", "read_statement", "sentences_of"]

_DATA = read_data("statements")
_WORDS = {name: frozenset(row.split()) for name, row in _DATA["words"].items()}
_OPENERS = tuple(re.compile(rf"^(?:{pattern})", re.I) for pattern in _DATA["openers"])
_MAX_CHARS = 500  # of a description that are read
_MAX_SENTENCES = 3
_MAX_LINKS = 3
_MAX_JOINED = 6  # tokens between a word and its "of"
_MARKUP = re.compile(r"<[^<>]{1,200}>|[*`_]{1,3}(?=\S)|(?<=\S)[*`]{1,3}|\([^()]{0,200}\)|^#+ ", re.M)
_LINK = re.compile(r"\[([^\[\]]{1,100})\]\([^()]{0,300}\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\s*\n")
_VENDOR = re.compile(rf"\b(?:{'|'.join(_DATA['vendors'])})\b(?=\s+[\w-])")
_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-'’][A-Za-z]+)*|\d+|[^\sA-Za-z\d]")
EXISTENCE = "existence"
"""The attribute of a statement that asks whether something exists."""
_EXIST = frozenset(("exist", "exists", "existence"))
_POSSESSIVE = re.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A phrase behind the thing: ``attached to the specified user``.

    :param relation: a participle (``attached``), or empty.
    :param preposition: ``to``.
    :param thing: ``("user",)``, each word as :attr:`Statement.thing` has them.
    """

    preposition: str
    thing: tuple[str, ...]
    relation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A verb and its object.

    :param verb: in its base form.
    :param thing: the words of the object, its head last and in the singular; in lower case, but for acronyms.
    :param attribute: what of the thing the document names (``name``, ``settings``), or empty.
    :param many: whether the document has the thing in the plural, or as a list.
    :param links: the phrases behind the thing, in their order.
    :param own: whether the thing is the asker's.
    :param several: whether there are two verbs, or two things.
    """

    verb: str
    thing: tuple[str, ...]
    attribute: str = ""
    many: bool = False
    links: tuple[Link, ...] = ()
    own: bool = False
    several: str = ""


@dataclass(slots=True)
class _Phrase:
    words: list[str]
    many: bool = False
    own: bool = False
    owner: tuple[str, ...] = ()


def sentences_of(description: str) -> Iterator[str]:
    """Yield the first sentences of a description, without markup and without what stands in brackets."""
    text = _VENDOR.sub(" ", _MARKUP.sub(" ", _LINK.sub(r"\1", description[:_MAX_CHARS])))
    found = (sentence.strip() for sentence in _SENTENCE_END.split(text))
    for number, sentence in enumerate(sentence for sentence in found if sentence):
        if number >= _MAX_SENTENCES:
            return
        yield sentence


def read_statement(sentence: str, default: str = "", compound: Sequence[str] = ()) -> Statement | None:
    """The statement of a sentence that begins with its verb; None where it has none.

    :param default: the verb of a sentence that is a thing without a verb (``Own record of the user``); without one there
        is no statement then.
    :param compound: the last two words of the object of the tool's own name: a phrase that ends with them is a thing, also where
        its last word may be only a holder of others. "A product page of a portal product" is a page.
    """
    for _ in range(2):
        for opener in _OPENERS:
            sentence = opener.sub("", sentence, count=1)
    tokens = _TOKEN.findall(sentence)
    verb = action_verbs().base(tokens[0].lower()) if tokens else ""
    if not verb:
        return _object(default, tokens, 0, "", compound) if default and tokens else None
    at, several = 1, ""
    if tokens[1:2] == ["up"] and verb in ("set", "build", "put"):
        verb, at = "create", 2
    while (
        at + 1 < len(tokens)
        and tokens[at].lower() in ("and", "or", "/", ",")
        and action_verbs().base(tokens[at + 1].lower())
    ):
        several, at = (
            several or ("several_verbs" if action_verbs().differ(verb, tokens[at + 1].lower()) else ""),
            at + 2,
        )
    if tokens[at : at + 1] in (["for"], ["up"], ["to"]) and verb in (
        "search",
        "look",
        "subscribe",
        "reply",
        "respond",
        "query",
    ):
        at += 1
    return _object(verb, tokens, at, several, compound)


def _object(verb: str, tokens: Sequence[str], at: int, several: str, compound: Sequence[str] = ()) -> Statement | None:
    """The statement with the object that begins at a token."""
    phrase, at = _noun_phrase(tokens, at)
    many, own, attribute = phrase.many and not _is_transparent(phrase, compound), phrase.own, ""
    while _is_transparent(phrase, compound) and (inner := _behind(tokens, at)):
        listed = phrase.words[-1].lower() in _WORDS["lists"]
        attribute = attribute if listed else " ".join(phrase.words)
        phrase, at = _noun_phrase(tokens, inner)
        many, own = (
            many
            or _token(tokens, inner - 2) in _WORDS["several"]
            or (phrase.many and not _is_transparent(phrase, compound)),
            own or phrase.own,
        )
    while len(phrase.words) > 2 and phrase.words[-2].lower() == "master":  # employee master record: the employee
        phrase.words.pop()
    while len(phrase.words) > 1 and phrase.words[-1].lower() in _WORDS["trailing"]:
        many = many or phrase.many
        phrase.words.pop()
    if phrase.owner and len(phrase.words) == 1 and phrase.words[0] in _WORDS["transparent"]:  # the key's name
        attribute, phrase = phrase.words[0], _Phrase(words=list(phrase.owner))
    if not phrase.words:
        return None
    if _token(tokens, at) in ("and", "or", "and/or", "/") or (_token(tokens, at) == "," and _joined(tokens, at)):
        following, _ = _noun_phrase(tokens, at + 1)
        several = several or ("several_things" if following.words else "")
    links = [Link(preposition="of", thing=phrase.owner)] if phrase.owner else []
    links.extend(_links(tokens, at))
    if not _EXIST.isdisjoint(token.lower() for token in tokens):
        attribute = EXISTENCE
    thing = (*phrase.words[:-1], _singular(phrase.words[-1]))
    many = many or thing[-1] != phrase.words[-1]
    return Statement(
        verb=verb,
        thing=thing,
        attribute=attribute,
        many=many,
        links=tuple(links[:_MAX_LINKS]),
        own=own,
        several=several,
    )


def _is_transparent(phrase: _Phrase, compound: Sequence[str] = ()) -> bool:
    """Whether a phrase only holds what stands behind it: ``a paginated list``, ``the name``."""
    if compound and [_singular(word.lower()) for word in phrase.words[-2:]] == list(compound):
        return False
    last = phrase.words[-1].lower() if phrase.words else ""
    return last in _WORDS["lists"] or (len(phrase.words) == 1 and last in _WORDS["transparent"])


def _behind(tokens: Sequence[str], at: int) -> int:
    """The place of what a transparent word holds, or 0: after ``of``, also in ``the name and the path of``."""
    ahead = _MAX_JOINED if _token(tokens, at) in ("and", "or", ",") else 0
    for place in range(at, min(at + ahead + 1, len(tokens))):
        if tokens[place].lower() in ("of", "for", "about", "on"):
            return place + 1
    return 0


def _joined(tokens: Sequence[str], at: int) -> bool:
    """Whether a list of things follows a comma: ``users, groups, and roles``."""
    return any(token in ("and", "or") for token in tokens[at + 1 : at + 5])


def _token(tokens: Sequence[str], at: int) -> str:
    return tokens[at].lower() if at < len(tokens) else ""


def _noun_phrase(tokens: Sequence[str], at: int) -> tuple[_Phrase, int]:
    """The noun phrase that begins at a token, and the place after it."""
    phrase = _Phrase(words=[])
    while at < len(tokens):
        token, low = tokens[at], tokens[at].lower()
        if not phrase.words and (low in _WORDS["before"] or token.isdigit()):  # all of the users, one or more users
            at += 1
            continue
        if not token[0].isalpha() or low in _ENDS or (phrase.words and low in _INNER_ENDS):
            break
        at += 1
        _extend(phrase, token)
    if phrase.words:
        phrase.many = _singular(phrase.words[-1]) != phrase.words[-1]
    return phrase, at


_ENDS = _WORDS["prepositions"] | _WORDS["conjunctions"]
_INNER_ENDS = _WORDS["relations"] | _WORDS["determiners"]


def _extend(phrase: _Phrase, token: str) -> None:
    """Add a token to a noun phrase, without determiners and adjectives that pick nothing out."""
    low = token.lower()
    if _POSSESSIVE.search(token) and len(token) > 2:
        bare = _POSSESSIVE.sub("", low)
        if bare in _WORDS["askers"] or phrase.own:
            phrase.own = True
        else:
            phrase.owner = (*phrase.words, _singular(bare))
        phrase.words = []
    elif low in _WORDS["own"] or low in _WORDS["own_adjectives"]:
        phrase.own = True
    elif low not in _WORDS["determiners"] and (phrase.words or low not in _WORDS["bare_adjectives"]):
        phrase.words.extend(_plain(token))


def _plain(token: str) -> list[str]:
    """The words of a token: camel case is split, acronyms keep their capitals."""
    bare = token.removesuffix("s")
    if bare.isupper() and len(bare) > 1:
        return [token]
    return words(token) if any(sign.isupper() for sign in token[1:]) else [token.lower()]


def _singular(word: str) -> str:
    bare = word.removesuffix("s")
    if bare.isupper() and len(bare) > 1:
        return bare
    return "lot" if word == "lots" else noun_lemma(word) if word.islower() else word


def _links(tokens: Sequence[str], at: int) -> Iterator[Link]:
    """Yield the phrases behind the object."""
    while at < len(tokens):
        relation = ""
        if _token(tokens, at) in _WORDS["relations"]:
            relation, at = _token(tokens, at), at + 1
            if relation in ("that", "which") and _token(tokens, at) in ("is", "are"):
                relation, at = _token(tokens, at + 1), at + 2
        preposition = _token(tokens, at)
        if preposition not in _WORDS["prepositions"]:
            return
        phrase, at = _noun_phrase(tokens, at + 1)
        if not phrase.words:
            return
        yield Link(preposition=preposition, thing=(*phrase.words[:-1], _singular(phrase.words[-1])), relation=relation)
