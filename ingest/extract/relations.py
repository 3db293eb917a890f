"""Extract from a parsed sentence: the objects that it names, the capabilities of the tool, and relations between objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ingest.extract.sentences import (
    GENERIC_HEADS,
    LINKING_VERBS,
    MOSTLY_NOUNS,
    STOP_WORDS,
    TRANSPARENT_HEADS,
    action,
    vocabulary,
)
from ingest.extract.structure import path_objects
from ontology.names import canonical_name, is_noun, noun_lemma, verb_lemma, words
from ontology.tool import Tool

__all__ = [
    "Capability",
    "Finding",
    "Phrase",
    "Relation",
    "Title",
    "findings",
    "parse_path",
    "parse_title",
    "plain_phrases",
]

_NOUN_TAGS = frozenset(("NN", "NNS", "NNP", "NNPS"))
_MODIFIER_TAGS = _NOUN_TAGS | frozenset(("JJ", "JJR", "JJS", "VBN", "VBG", "AFX"))
_ABOUT = frozenset(("of", "about", "for", "on", "regarding", "containing"))
_EMPTY_HEADS = vocabulary("empty_heads")
_WORD = re.compile(r"[^\W_][\w.+]*(?:[-/&'’][\w.+]+)*\Z")
_RUN = re.compile(r"[^\W\d_][\w-]*(?:[ \t]+[^\W\d_][\w-]*)*")
_MAX_WORDS = 4
_QUOTES = ("'", '"', "’", "‘")
_HTTP_METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
_MAX_WORD_CHARS = 30
_LONGEST_ACRONYM = 6
_MAX_DEPTH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A noun phrase in its original spelling, without words that do not name an object.

    :param name: its words, at most four.
    :param core: the nouns at its end (``email reminder`` of ``automated email reminder``); the name where it has no adjective.
    :param start: index of its first character in the text.
    :param end: one past the index of its last character.
    :param core_start: index of the first character of the core.
    """

    name: str
    core: str
    start: int
    end: int
    core_start: int

    def shifted(self, by: int) -> Phrase:
        """Return the phrase with its positions shifted by a number of characters."""
        return Phrase(
            name=self.name, core=self.core, start=self.start + by, end=self.end + by, core_start=self.core_start + by
        )


class PlainPhrase(NamedTuple):
    """A noun phrase and its span ``[start, end)`` in the text."""

    name: str
    start: int
    end: int


class _Word(NamedTuple):
    """A word with its hyphenated parts, its span ``[start, end)`` in the text and its part-of-speech tag."""

    text: str
    start: int
    end: int
    tag: str


def noun_phrases(doc: Any, prefix_chars: int) -> dict[int, Phrase]:
    """Map from the index of the head token to its phrase, for a parsed sentence.

    :param doc: a spaCy Doc with tags and a dependency parse.
    :param prefix_chars: length of the subject inserted before the sentence; its tokens are no phrases.
    """
    found: dict[int, Phrase] = {}
    text = doc.text
    for token in doc:
        if token.idx < prefix_chars or token.tag_ not in _NOUN_TAGS or _inside_compound(token, doc):
            continue
        if token.lower_ == "order" and token.dep_ == "pobj" and token.i and doc[token.i - 1].lower_ == "in":
            continue  # "in order to"
        if _quoted(token, text):
            continue
        phrase = _phrase(doc, text, _leftmost(token, doc, prefix_chars), token)
        if phrase is not None:
            found[token.i] = phrase
    return found


def resolve(token: Any, phrases: dict[int, Phrase], depth: int = _MAX_DEPTH) -> Phrase | None:
    """Return the phrase with this head token; for a container noun ("a list of orders") the phrase after it; else None."""
    if token.i in phrases:
        return phrases[token.i]
    if depth and (noun_lemma(token.lower_) in TRANSPARENT_HEADS or token.lower_ in TRANSPARENT_HEADS):
        for child in token.children:
            if child.dep_ == "prep" and child.lower_ in _ABOUT:
                for grandchild in child.children:
                    if grandchild.dep_ == "pobj":
                        return resolve(grandchild, phrases, depth - 1)
    return None


def clean_phrase(tokens: Sequence[str]) -> tuple[int, int]:
    """Return the range ``[start, end)`` of a noun phrase's words that name an object; an empty range when none do."""
    start, end = 0, len(tokens)
    while start < end and (tokens[start].lower() in STOP_WORDS or not _is_word(tokens[start])):
        start += 1
    for position in range(start, end):
        if not _is_word(tokens[position]):
            end = position if position > start else start
            break
    while end - start > 1 and _in(tokens[end - 1].lower(), _EMPTY_HEADS):
        end -= 1
    start = max(start, end - _MAX_WORDS)
    return (0, 0) if _names_nothing(tokens[start:end]) else (start, end)


def plain_phrases(text: str) -> Iterator[PlainPhrase]:
    """Yield noun phrases without a parser: sequences of words between stop words and verbs that end in a known noun."""
    for run in _RUN.finditer(text):
        group: list[re.Match[str]] = []
        for word in [*re.finditer(r"\S+", run[0]), None]:
            if word is not None and word[0].lower() not in STOP_WORDS and not action(word[0]):
                group.append(word)
                continue
            start, end = clean_phrase([member[0] for member in group])
            if end > start and is_noun(noun_lemma(group[end - 1][0].lower())):
                first, last = run.start() + group[start].start(), run.start() + group[end - 1].end()
                yield PlainPhrase(text[first:last], first, last)
            group = []


def _names_nothing(tokens: Sequence[str]) -> bool:
    """Whether the words name no business object: all are generic, or the only word is neither a known noun nor capitalised."""
    words = [token.lower() for token in tokens if token not in _HTTP_METHODS]
    if all(_in(word, GENERIC_HEADS) or word in STOP_WORDS for word in words):
        return True
    if len(words) > 1:
        return False
    if tokens[-1].isupper() and len(words[0]) > _LONGEST_ACRONYM:
        return True  # a literal
    known = len(words[0]) > 2 and is_noun(canonical_name(words[0]).rpartition(" ")[2])
    return not known and not _is_proper(tokens[-1])


def _quoted(token: Any, text: str) -> bool:
    """Whether a single word is in quotes: a literal such as 'JFK', not an object."""
    end = token.idx + len(token.text)
    return text[token.idx - 1 : token.idx] in _QUOTES and text[end : end + 1] in _QUOTES


def _inside_compound(token: Any, doc: Any) -> bool:
    """Whether a later noun of the same phrase is the head."""
    following = token.i + 1
    while following < len(doc) and doc[following].tag_ == "HYPH":
        following += 1
    if following >= len(doc) or doc[following].tag_ not in _NOUN_TAGS:
        return False
    if following > token.i + 1:
        return True  # "sub-region"
    return token.dep_ in ("compound", "nmod", "amod", "nummod", "npadvmod") and token.head.i > token.i


def _leftmost(head: Any, doc: Any, prefix_chars: int) -> int:
    first: int = head.i
    while first > 0:
        previous = doc[first - 1]
        if previous.idx < prefix_chars:
            break
        if previous.tag_ == "HYPH" and first > 1 and doc[first - 2].idx >= prefix_chars:
            first -= 2
            continue
        governed = previous.head.i == head.i or first <= previous.head.i < head.i
        modifies = previous.tag_ in _MODIFIER_TAGS or previous.dep_ == "compound"
        if not modifies or not governed or previous.dep_ in ("appos", "nsubj", "conj", "dobj"):
            break
        first -= 1
    return first


def _phrase(doc: Any, text: str, first: int, head: Any) -> Phrase | None:
    words = _words(doc, first, head.i)
    start, end = clean_phrase([word.text for word in words])
    while end > start and words[end - 1].tag not in _NOUN_TAGS:
        end -= 1  # "external identifier records" without its empty heads is "external", which is no noun
    if end <= start or _names_nothing([word.text for word in words[start:end]]):
        return None
    if all(_in(word.text.lower(), GENERIC_HEADS) for word in words[start:end] if word.tag in _NOUN_TAGS):
        return None  # "immediate attention": a generic noun with an adjective names no object either
    core = end - 1
    while core > start and _in_core(words[core - 1]):
        core -= 1
    core_start, core_end = clean_phrase([word.text for word in words[core:end]])
    # "open orders" has the core "orders"; "live result" has no core, because "result" is generic.
    inner = core + core_start if core_end > core_start else start
    first_char, end_char = words[start].start, words[end - 1].end
    return Phrase(
        name=" ".join(text[first_char:end_char].split()),
        core=" ".join(text[words[inner].start : end_char].split()),
        start=first_char,
        end=end_char,
        core_start=words[inner].start,
    )


def _in_core(word: _Word) -> bool:
    """Whether a modifier is part of the core: a noun, or an adjective that is also a noun (rental service, human agent)."""
    text = word.text.lower()
    return text not in STOP_WORDS and (word.tag in _NOUN_TAGS or (word.tag == "JJ" and is_noun(text)))


def _words(doc: Any, first: int, last: int) -> list[_Word]:
    """Return the words of a phrase; the parts of a hyphenated word are one word."""
    words: list[_Word] = []
    for token in doc[first : last + 1]:
        end = token.idx + len(token.text)
        hyphen = token.tag_ == "HYPH"
        previous = words[-1] if words else None
        if previous is not None and previous.end == token.idx and (hyphen or previous.text.endswith("-")):
            tag = previous.tag if hyphen else token.tag_
            words[-1] = _Word(previous.text + token.text, previous.start, end, tag)
        else:
            # "to team members": the parser tags "team" as a verb.
            tag = "NN" if token.dep_ == "compound" else token.tag_
            words.append(_Word(token.text, token.idx, end, tag))
    # "high-priority" is a modifier, whatever the tag of its last part.
    return [word._replace(tag="JJ") if "-" in word.text else word for word in words[:-1]] + words[-1:]


def _is_word(text: str) -> bool:
    return _WORD.match(text) is not None and "_" not in text and len(text) <= _MAX_WORD_CHARS and not text[0].isdigit()


def _in(word: str, words: frozenset[str]) -> bool:
    """Whether a word or its singular is in a list."""
    return word in words or noun_lemma(word) in words


def _is_proper(word: str) -> bool:
    return word[0].isupper() and word.isalpha() and len(word) > 2


_MAX_OBJECT_WORDS = 4
_MAX_CONJUNCTS = 4
_TOOL_SUBJECTS = vocabulary("tool_subjects")
_NOUN_PREPOSITIONS = vocabulary("noun_prepositions")
_VERB_PREPOSITIONS = vocabulary("verb_prepositions")
_LOOKUP_VERBS = vocabulary("lookup_verbs")
_ACTION_NOUNS = vocabulary("deed_nouns")
_LIGHT_VERBS = vocabulary("light_verbs")
_OBLIGATIONS = vocabulary("obligations")
_ERROR = re.compile(r"\b(?:errors?|exceptions?)\b", re.IGNORECASE)
_MAX_CHAIN = 4  # maximum number of verbs between a verb and its subject
_STRONG, _WEAK = 0.5, 0.4  # confidence of a relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """A verb and its object.

    :param name: verb in base form and object in canonical form: ``send email reminder``.
    :param target: the object in its original spelling.
    """

    name: str
    target: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Two objects and the words between them; the confidence is in [0, 1].

    :param phrase: the words, for the choice of a predicate.
    """

    head: str
    tail: str
    phrase: str
    confidence: float
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The extraction from one sentence; positions are character indices in the original sentence."""

    phrases: tuple[Phrase, ...]
    capabilities: tuple[Capability, ...]
    relations: tuple[Relation, ...]


def findings(doc: Any, prefix_chars: int) -> Finding:
    """Extract phrases, capabilities and relations from a parsed sentence.

    :param doc: a spaCy Doc with tags and a dependency parse.
    :param prefix_chars: length of the subject inserted before the sentence; positions are counted without it.
    """
    extractor = _TreeExtractor(doc, prefix_chars)
    return Finding(
        phrases=tuple(phrase.shifted(-prefix_chars) for phrase in extractor.phrases.values()),
        capabilities=tuple(extractor.capabilities()),
        relations=tuple(extractor.relations()),
    )


class _TreeExtractor:
    """Extractor for one dependency tree."""

    def __init__(self, doc: Any, prefix_chars: int) -> None:
        self.doc = doc
        self.prefix_chars = prefix_chars
        self.phrases = noun_phrases(doc, prefix_chars)

    def capabilities(self) -> Iterator[Capability]:
        if not self.prefix_chars and not any(t.dep_ == "nsubj" and t.lower_ in _TOOL_SUBJECTS for t in self.doc):
            return
        for verb in self.doc:
            if verb.idx < self.prefix_chars or not verb.tag_.startswith("VB") or not self._has_tool_subject(verb):
                continue
            base = self._action(verb)
            linking = base in LINKING_VERBS and any(child.dep_ in ("xcomp", "ccomp") for child in verb.children)
            negated = any(child.dep_ == "neg" for child in verb.children)
            if not base or linking or negated:
                continue
            for target in self._objects(verb):
                if _ERROR.search(target.core):
                    continue  # an error that the tool returns is not its object
                name = " ".join([base, *canonical_name(target.core).split()[-_MAX_OBJECT_WORDS:]])
                yield Capability(
                    name=name,
                    target=target.core,
                    start=min(verb.idx, target.core_start) - self.prefix_chars,
                    end=max(verb.idx + len(verb.text), target.end) - self.prefix_chars,
                )

    def _action(self, verb: Any) -> str:
        """Return the action of a verb; :mod:`ingest.extract.sentences` replaces "get" by "see"."""
        if verb.idx == self.prefix_chars and verb.lower_ in ("see", "sees"):
            return "get"
        return action(verb.text)

    def _has_tool_subject(self, verb: Any) -> bool:
        """Whether the tool is the subject of the verb: the inserted subject, or a word for the tool."""
        for _ in range(_MAX_CHAIN):
            subjects = [child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass")]
            if subjects:
                subject = subjects[0]
                obliged = any(child.dep_ == "aux" and child.lower_ in _OBLIGATIONS for child in verb.children)
                if subject.lower_ in ("user", "users") and obliged:
                    return False  # "The user will receive an email" is no action of the tool
                passive = subject.dep_ == "nsubjpass" and verb_lemma(verb.lower_) not in LINKING_VERBS
                return (
                    not passive
                    and (subject.idx < self.prefix_chars or subject.lower_ in _TOOL_SUBJECTS)
                    and verb.dep_ != "relcl"
                )
            linked = verb.dep_ in ("xcomp", "ccomp") and verb_lemma(verb.head.lower_) in LINKING_VERBS
            if not (linked or verb.dep_ == "conj") or not verb.head.tag_.startswith("VB"):
                return False
            verb = verb.head
        return False

    def _objects(self, verb: Any) -> Iterator[Phrase]:
        """Yield the objects of a verb; coordinated verbs share the object of the last; "search for" has it after the preposition."""
        for child in verb.children:
            if child.dep_ in ("dobj", "oprd"):
                yield from self._conjuncts(child)
                return
        for child in verb.children:
            if child.dep_ == "prep" and child.lower_ in ("for", "to", "up"):
                for grandchild in child.children:
                    if grandchild.dep_ == "pobj":
                        yield from self._conjuncts(grandchild)
                return
        for child in verb.children:
            if child.dep_ == "conj" and child.tag_.startswith("VB"):
                yield from self._objects(child)

    def _conjuncts(self, token: Any) -> Iterator[Phrase]:
        """Yield the phrases of a token and of the tokens coordinated with it."""
        for member in (token, *list(token.conjuncts)[:_MAX_CONJUNCTS]):
            phrase = resolve(member, self.phrases)
            if phrase is not None and (member.i >= token.i):
                yield phrase

    def relations(self) -> Iterator[Relation]:
        for token in self.doc:
            if token.idx < self.prefix_chars:
                continue
            if token.dep_ in ("prep", "agent") or (token.dep_ == "dative" and token.tag_ in ("IN", "TO")):
                yield from self._preposition(token)
            elif token.dep_ == "poss":
                yield from self._possessive(token)
            elif token.tag_.startswith("VB"):
                yield from self._clause(token)

    def _preposition(self, preposition: Any) -> Iterator[Relation]:
        governor, word = preposition.head, preposition.lower_
        tails = [phrase for child in preposition.children if child.dep_ == "pobj" for phrase in self._conjuncts(child)]
        if governor.tag_.startswith("VB"):
            yield from self._verb_preposition(governor, word, tails)
        elif governor.tag_.startswith("JJ") and governor.dep_ in ("amod", "acl", "relcl", "acomp"):
            owner = governor.head if governor.dep_ != "acomp" else self._subject(governor.head)
            head = self._phrase_of(owner)
            yield from self._pairs([head], f"{governor.lower_} {word}", tails, _STRONG)
        elif word in _NOUN_PREPOSITIONS and governor.lower_ not in _ACTION_NOUNS:
            head = self.phrases.get(governor.i)
            yield from self._pairs([head], word, tails, _STRONG)

    def _verb_preposition(self, verb: Any, word: str, tails: list[Phrase]) -> Iterator[Relation]:
        name = self._action(verb) if verb.idx == self.prefix_chars else verb.lower_
        phrase = word if verb_lemma(verb.lower_) == "be" else f"{name} {word}"
        if verb.dep_ in ("acl", "amod") and verb.tag_ in ("VBN", "VBG", "VBD"):
            yield from self._pairs([self._phrase_of(verb.head)], phrase, tails, _STRONG)
            return
        passive = next((child for child in verb.children if child.dep_ == "nsubjpass"), None)
        if passive is not None:
            yield from self._pairs([self._phrase_of(passive)], phrase, tails, _STRONG)
            return
        heads = [phrase for child in verb.children if child.dep_ == "dobj" for phrase in self._conjuncts(child)]
        is_lookup = self._action(verb) in _LOOKUP_VERBS
        if is_lookup and word in _NOUN_PREPOSITIONS:
            yield from self._pairs(heads, word, tails, _STRONG - 0.05)
        elif word in _VERB_PREPOSITIONS:
            yield from self._pairs(heads, phrase, tails, _WEAK)
        elif not heads and (subject := self._subject(verb)) is not None:
            yield from self._pairs([self._phrase_of(subject)], phrase, tails, _STRONG)

    def _possessive(self, owner: Any) -> Iterator[Relation]:
        head, tail = self._phrase_of(owner), self.phrases.get(owner.head.i)
        if tail is not None:
            yield from self._pairs([head], "has", [tail], _STRONG)

    def _clause(self, verb: Any) -> Iterator[Relation]:
        """Yield the relations between subject and object of a verb, also of a participle ("orders containing items")."""
        base = verb_lemma(verb.lower_)
        if base in _LIGHT_VERBS or base in LINKING_VERBS:
            return
        subject = verb.head if verb.dep_ == "acl" and verb.tag_ == "VBG" else self._subject(verb)
        is_complement = verb.dep_ in ("ccomp", "xcomp") and verb_lemma(verb.head.lower_) in LINKING_VERBS
        if (
            subject is None
            or is_complement
            or subject.idx < self.prefix_chars
            or subject.lower_ in _TOOL_SUBJECTS - {"which", "that", "user", "users"}
        ):
            return
        tails = [phrase for child in verb.children if child.dep_ == "dobj" for phrase in self._conjuncts(child)]
        yield from self._pairs([self._phrase_of(subject)], verb.lower_, tails, _STRONG)

    def _subject(self, verb: Any) -> Any:
        return next((child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass")), None)

    def _phrase_of(self, token: Any) -> Phrase | None:
        """Return the phrase of a token; for a relative pronoun, the phrase of its antecedent; None where there is none."""
        if token is None:
            return None
        if token.tag_ in ("WDT", "WP") and token.head.dep_ == "relcl":
            token = token.head.head
        return resolve(token, self.phrases)

    def _pairs(
        self, heads: Sequence[Phrase | None], phrase: str, tails: Sequence[Phrase], confidence: float
    ) -> Iterator[Relation]:
        for head in heads:
            for tail in tails:
                if head is None or canonical_name(head.core) == canonical_name(tail.core):
                    continue
                yield Relation(
                    head=head.core,
                    tail=tail.core,
                    phrase=phrase,
                    confidence=confidence,
                    start=min(head.core_start, tail.core_start) - self.prefix_chars,
                    end=max(head.end, tail.end) - self.prefix_chars,
                )


_MAX_NAME_WORDS = 14

_LAST_VERBS = vocabulary("last_verbs")
_INNER_VERBS = vocabulary("inner_verbs")
_PATH_VERBS = vocabulary("path_verbs")
_PREPOSITIONS = vocabulary("title_prepositions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """The parsed name of an operation.
    :param verbs: base forms of its verbs: one, or two for ``createOrUpdateCustomer``.
    :param target: canonical name of the object of the verbs, or empty.
    :param others: canonical names of the other objects in the name.
    """

    verbs: tuple[str, ...] = ()
    target: str = ""
    others: tuple[str, ...] = ()

    @property
    def capabilities(self) -> tuple[str, ...]:
        """``verb object`` for each verb; empty without an object."""
        target = " ".join(self.target.split()[-_MAX_OBJECT_WORDS:])
        return tuple(f"{verb} {target}" for verb in self.verbs) if target else ()


def parse_title(name: str, abbreviations: Mapping[str, str]) -> Title:
    """Parse an operation's name by word lists, without spaCy.
    >>> parse_title("sendInvoiceToCustomer", {})
    Title(verbs=('send',), target='invoice', others=('customer',))
    """
    tokens = words(name)[:_MAX_NAME_WORDS]
    verbs, tokens = _leading_verbs(tokens)
    if not verbs and len(tokens) > 1 and action(tokens[-1]) in _LAST_VERBS and tokens[-1] == action(tokens[-1]):
        verbs, tokens = [tokens[-1]], tokens[:-1]
    application: list[str] = []
    if not verbs:
        position = next((p for p in (1, 2) if p < len(tokens) - 1 and action(tokens[p]) in _INNER_VERBS), 0)
        if position:  # "lufthansa_select_seat": application, verb, object
            application, verbs, tokens = tokens[:position], [action(tokens[position])], tokens[position + 1 :]
    named = [_object(group, abbreviations) for group in _groups(tokens)]
    objects = [name for name in (*named, _object(application, abbreviations)) if name]
    target = (named[0] if named else "") if objects else _fallback_object(tokens)
    others = tuple(dict.fromkeys(name for name in objects if name != target))
    return Title(verbs=tuple(verbs), target=target, others=others)


def _leading_verbs(tokens: list[str]) -> tuple[list[str], list[str]]:
    """Return the verb at the start of a name, or both verbs of "create or update", and the remaining words."""
    if not tokens or not action(tokens[0]) or (tokens[0] in MOSTLY_NOUNS and len(tokens) > 1):
        return [], tokens
    if len(tokens) > 2 and tokens[1] in ("or", "and") and action(tokens[2]):
        return [action(tokens[0]), action(tokens[2])], tokens[3:]
    return [action(tokens[0])], tokens[1:]


def parse_path(tool: Tool) -> Title | None:
    """Parse an operation whose name is only its method and path; its object is the last object in the path.

    Return None when the tool has no path, or another name.
    """
    path = tool.metadata.get("path")
    if not isinstance(path, str) or "/" not in path:
        return None
    path_words = words(path)
    named = words(tool.name)
    verb = named[0] if named else ""
    if named[-len(path_words) :] != path_words or len(named) - len(path_words) > 1:
        return None
    objects = path_objects(path)
    inner = [word for word in path_words if word in _PATH_VERBS]
    if inner:
        objects = [name for name in objects if name not in _PATH_VERBS]
        verb = inner[-1]
    elif len(objects) > 1 and _is_verb(objects[-1]) and not path.endswith("}"):
        verb = objects.pop()  # /orders/{order_id}/cancel
    target = objects[-1] if objects else ""
    others = tuple(dict.fromkeys(name for name in objects if name != target))
    return Title(verbs=(action(verb),) if action(verb) else (), target=target, others=others)


def _is_verb(name: str) -> bool:
    return action(name) == name and name not in MOSTLY_NOUNS


def _groups(tokens: list[str]) -> list[list[str]]:
    """Return the words in groups, split at prepositions and stop words; between two prepositions the last group comes first.

    The object of "the users currently playing track" is the track. A number clears its group: the object of "core v1 pod" is the pod.
    """
    groups: list[list[str]] = []
    runs: list[list[str]] = [[]]
    for token in [*tokens, "by"]:
        if token in _PREPOSITIONS:
            groups.extend(run for run in reversed(runs) if run)
            runs = [[]]
        elif token in STOP_WORDS:
            runs.append([])
        elif not token.isalpha():
            runs[-1].clear()
        else:
            runs[-1].append(token)
    return groups


def _fallback_object(tokens: list[str]) -> str:
    """Return the object in a name of generic words only: the date for ``get_current_date``."""
    kept = [token for token in tokens if token.isalpha() and token not in STOP_WORDS | TRANSPARENT_HEADS]
    name = canonical_name(" ".join(kept[-2:]))
    return name if name and is_noun(name.rpartition(" ")[2]) else ""


def _object(tokens: list[str], abbreviations: Mapping[str, str]) -> str:
    start, end = clean_phrase(tokens)
    name = canonical_name(" ".join(tokens[start:end]), abbreviations)
    return name if name and is_noun(name.split()[-1]) else ""
