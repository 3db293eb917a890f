"""The purpose of a tool: what it does to which thing, as its name, its path and its document agree on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from datagen.generation.action_verbs import action_verbs
from datagen.generation.common_words import is_plain_word
from datagen.generation.data_files import read_data, synonyms, word_classes
from datagen.generation.statement import Statement, read_statement, sentences_of
from ingest.linking import local_name
from ontology.names import is_noun, is_verb, noun_lemma, words
from ontology.tool import Tool

__all__ = ["GenerationError", "Purpose", "purpose_of"]

_DATA = read_data("statements")
_WORDS = {name: frozenset(row.split()) for name, row in _DATA["words"].items()}
_REASONS = _DATA["reasons"]
_MAX_THING_WORDS = 4
"""On the shipped company (312 tools) 3 to any number are the same. On eight other vendors (1,329) 3 takes the words of 9 tools (*shield
information barrier report*), 5 gives two more a thing that nobody says: *shield information barrier segment member*."""
_PLAIN_KINDS = ("create", "delete")
"""Kinds of verbs that no thing begins with; *create issue metadata* is a thing of programs."""
_MAX_ACRONYM = 5  # letters; of the same two catalogues 3 takes BYOC from two tools, 4 and any number above are the same
_MIN_JOINED = 4  # letters of a word that is looked for within another; 3 and 5 are the same on both
_MAX_LABEL_WORDS = 6
"""Words of a text without a verb. On the company 4 takes the words of one tool and changes the thing of two, on the vendors it takes two;
8 or more changes two of the company: *contract* becomes *archived contract*."""
_MIN_LATIN = (
    0.8  # of the letters of a document in English; both catalogues are English, and 0 to 0.95 are the same there
)
_DECISIONS, _KEYS = word_classes("arguments")["decisions"], word_classes("arguments")["keys"]
_NOISE = _WORDS["prepositions"] | _WORDS["determiners"] | _WORDS["trailing"] | _WORDS["lists"]


class GenerationError(Exception):
    """No text can be generated for a tool or a path; its text is the reason, without a full stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """What a tool does to which thing.

    :param kind: the kind of its verb, as :class:`~datagen.generation.action_verbs.ActionVerbs` has it.
    :param verb: the verb of its document, in its base form.
    :param said: what its document says.
    """

    kind: str
    verb: str
    said: Statement

    @property
    def name(self) -> str:
        """The words of the thing in lower case: ``managed policy``."""
        return " ".join(self.said.thing).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """What the name and the path of a tool say.

    :param verbs: the verbs of the name in their order.
    :param method: the kind of action of the method, or empty.
    :param things: the last word of the object of the name, or of the path; and verbs of the name that may be nouns.
    :param words: all words of both, in the singular.
    """

    verbs: tuple[str, ...]
    method: str
    things: tuple[str, ...]
    words: frozenset[str]

    @property
    def verb(self) -> str:
        """The first verb of the name, else the method, or empty."""
        return self.verbs[0] if self.verbs else self.method


def purpose_of(tool: Tool, known: frozenset[str] = frozenset()) -> Purpose:
    """The purpose of a tool.

    :param known: words that are plain although no dictionary has them.
    :raises GenerationError: when its documents do not say it plainly, or do not agree; its text is the reason.
    """
    _require_readable(tool)
    named = _named(tool)
    found = list(_statements(tool, named))
    if not found:
        raise GenerationError(_REASONS["no_sentence" if tool.description else "no_text"])
    reasons: list[str] = []
    for said in found:
        said = _without_spare(_without_search(_without_system(said, tool)), named)
        if said.several == "several_verbs" and _decides(tool):
            said = replace(said, several="")
        reason = _disagreement(said, named) or _fault_of(said, known)
        if not reason:
            return Purpose(kind=action_verbs().kinds[said.verb], verb=said.verb, said=said)
        reasons.append(reason)
    raise GenerationError(_REASONS[reasons[0]])


def _require_readable(tool: Tool) -> None:
    text = f"{tool.name} {tool.title} {tool.description[:300]}"
    letters = [sign for sign in text if sign.isalpha()]
    if not letters or sum(sign.isascii() for sign in letters) <= _MIN_LATIN * len(letters):
        raise GenerationError("its documents are not in English")
    if tool.metadata.get("deprecated") is True or "deprecated" in text.lower():
        raise GenerationError(_REASONS["deprecated"])
    if _WORDS["unasked"].intersection((*words(local_name(tool)), *words(tool.title)[:12], *words(_path_of(tool)))):
        raise GenerationError(_REASONS["unasked"])


def _statements(tool: Tool, named: _Named) -> Iterator[Statement]:
    """Yield what the title and the first sentence say; else the name, where the path or another text has its thing too."""
    texts = [text if " " in text else " ".join(words(text)) for text in sentences_of(tool.description)]
    titled = not _lemmas(tool.title) <= _lemmas(tool.name)
    # What follows the first sentence is mostly about other tools; a first sentence that is the name says nothing.
    count = (
        1 if not texts or not _lemmas(texts[0]) <= _lemmas(tool.name) or len(texts[0].split()) > _MAX_LABEL_WORDS else 2
    )
    if titled:
        count = 2
        if _letters(tool.title) not in map(_letters, texts):
            texts.insert(0, tool.title)
    compound = _compound_of(tool)
    sayings = [_agreed(text, named, compound) for text in texts[:count]]
    if not any(sayings) and named.verb:
        labels = (text for text in texts[:count] if len(text.split()) <= _MAX_LABEL_WORDS)
        sayings = [read_statement(text, named.verb, compound) for text in labels]
        by_name = None
        if named.verbs and action_verbs().base(words(local_name(tool).rpartition(".")[2])[0]):
            by_name = read_statement(" ".join(words(local_name(tool).rpartition(".")[2])), named.verb)
        inputs = (parameter.name for parameter in (*tool.parameters, *tool.returns))
        elsewhere = {_lemma(word) for text in (*texts, *inputs, _path_of(tool)) for word in words(text)}
        if by_name is not None and _is_among(by_name.thing[-1], frozenset(elsewhere)):
            sayings.append(by_name)
    yield from (said for said in sayings if said is not None)


def _agreed(text: str, named: _Named, compound: tuple[str, ...]) -> Statement | None:
    """The statement of a text; of a short one whose first word may be a noun (``Leave types``) with the verb of the name."""
    said = read_statement(text, compound=compound)
    if said is None or not named.verbs or any(action_verbs().agree(said.verb, verb) for verb in named.verbs):
        return said
    tokens = words(text)
    label = (
        len(tokens) <= _MAX_LABEL_WORDS
        and tokens[0] == said.verb
        and tokens[1:2]
        and tokens[1] not in _WORDS["determiners"]
    )
    return read_statement(f"{named.verb} {text}", compound=compound) if label else said


def _compound_of(tool: Tool) -> tuple[str, ...]:
    """The last two words of the object of a tool's name, where the tool takes or gives a key of such a thing.

    Found on a document of AWS: ``GetProductPage`` "gets a product page of a portal product", which is a page and no product.
    In ``getUserList`` the list holds users.
    """
    last = words(local_name(tool).rpartition(".")[2])
    after = last[1:] if last and action_verbs().base(last[0]) else last
    cut = next((at for at, word in enumerate(after) if word in _WORDS["prepositions"]), len(after))
    pair = tuple(map(_lemma, after[:cut][-2:]))
    if len(pair) < 2 or pair[-1] not in _WORDS["lists"]:
        return ()
    named = (words(one.name.replace("[]", "").rpartition(".")[2]) for one in (*tool.parameters, *tool.returns))
    is_thing = any(name[-1] in _KEYS and tuple(map(_lemma, name[-3:-1])) == pair for name in named if name)
    return pair if is_thing else ()


def _path_of(tool: Tool) -> str:
    return str(tool.metadata.get("path", ""))


def _lemma(word: str) -> str:
    """The singular; a lot is a thing, although a dictionary has *lots* as a word of its own."""
    return "lot" if word == "lots" else noun_lemma(word)


def _lemmas(text: str) -> set[str]:
    return {_lemma(word) for word in words(text)} - _NOISE


def _letters(text: str) -> str:
    return "".join(words(text))


def _named(tool: Tool) -> _Named:
    steps = [words(step) for step in _path_of(tool).split("/") if step and not step.startswith("{")]
    method = str(tool.metadata.get("method", "")).lower()
    segments = [words(segment) for segment in local_name(tool).replace("/", ".").split(".")]
    last = segments[-1] if segments else []
    by_path = bool(last) and last[0] in action_verbs().methods and bool(steps) and set(steps[-1]) <= set(last)
    verbs = [] if by_path else [(at, verb) for at, word in enumerate(last) if (verb := action_verbs().base(word))]
    at = verbs[0][0] if verbs else -1
    after = last[at + 1 :]
    cut = next((place for place, word in enumerate(after) if word in _WORDS["prepositions"]), len(after))
    objects = [word for word in after[:cut] if word not in _NOISE] or last[: max(at, 0)]
    if by_path or not objects:
        objects = (segments[-2] if len(segments) > 1 else []) or (steps[-1] if steps else []) or objects
    everything = {_lemma(word) for group in (*segments, *steps, words(tool.title)) for word in group}
    by_method = str(tool.metadata.get("format")) != "aws.v1"
    return _Named(
        verbs=tuple(verb for _, verb in verbs),
        method=action_verbs().methods.get(method, "") if by_method else "",
        things=(*map(_lemma, objects[-1:]), *(verb for place, verb in verbs if place)),
        words=frozenset(everything),
    )


def _without_system(said: Statement, tool: Tool) -> Statement:
    """Without the name of the system before the things: ``IAM user``, ``Stripe account``."""
    system = set(words(tool.namespace))
    links = tuple(
        replace(link, thing=_shorter(link.thing, system))
        for link in said.links
        if link.preposition not in _WORDS["manners"] and link.thing[-1].lower() not in system
    )
    return replace(said, thing=_shorter(said.thing, system), links=links)


def _without_search(said: Statement) -> Statement:
    """Without a last word that is how the things are found: ``Supplier search`` is about suppliers."""
    searched = len(said.thing) > 1 and said.thing[-1] in _WORDS["searches"]
    return replace(said, thing=said.thing[:-1], many=True) if searched else said


def _without_spare(said: Statement, named: _Named) -> Statement:
    """Without a last word that the name does not have: ``invoice receipt record``."""
    spare = len(said.thing) > 1 and said.thing[-1] in _WORDS["spare"] and said.thing[-1] not in named.words
    return replace(said, thing=said.thing[:-1]) if spare else said


def _shorter(thing: Sequence[str], system: set[str]) -> tuple[str, ...]:
    kept = [word for word in thing[:-1] if word.lower() not in system]
    return (*kept, thing[-1]) if thing else ()


def _decides(tool: Tool) -> bool:
    """Whether an input of a tool says which of two actions it does: approve or reject."""
    return any((words(parameter.name) or [""])[-1] in _DECISIONS for parameter in tool.parameters)


def _disagreement(said: Statement, named: _Named) -> str:
    """Why a statement and the name of its tool do not agree, as a key of the reasons; or empty."""
    if said.several:
        return said.several
    verbs = action_verbs()
    if not any(verbs.agree(said.verb, verb) for verb in named.verbs or (said.verb,)):
        return "other_verb"
    if named.method and not (
        verbs.agree(said.verb, named.method) or (named.method in ("create", "set") and named.verbs)
    ):
        return "other_verb"
    head = _lemma(said.thing[-1].lower())
    everything = [word for phrase in (said.thing, *(link.thing for link in said.links)) for word in phrase]
    everything = [_lemma(word.lower()) for word in (*everything, *words(said.attribute))]
    is_named = not named.things or any(thing in _NOISE or _is_among(thing, everything) for thing in named.things)
    if not is_named or not _is_among(head, named.words):
        return "other_thing"
    return ""


def _is_among(word: str, others: Sequence[str] | frozenset[str]) -> bool:
    """Whether a word, a synonym of it, or a word that it is a part of is among others: type in ``issuetype``."""
    if word in others or not synonyms(word).isdisjoint(others):
        return True
    long = len(word) >= _MIN_JOINED
    return long and any(
        other.endswith(word) or (len(other) >= _MIN_JOINED and word.endswith(other)) for other in others
    )


def _fault_of(said: Statement, known: frozenset[str]) -> str:
    """Why nobody would say the thing of a statement, as a key of the reasons; or empty."""
    thing = said.thing
    head = _lemma(thing[-1].lower())
    if thing[0].lower() in action_verbs().methods or action_verbs().kinds.get(thing[0].lower(), "") in _PLAIN_KINDS:
        return "technical"
    first = thing[0].lower()
    if (
        len(thing) > 1
        and is_verb(first)
        and not is_noun(first)
        and first.isalpha()
        and first not in _WORDS["adjectives"]
    ):
        return "technical"  # an action without a verb that people say: authorize user
    if len(thing) > _MAX_THING_WORDS:
        return "long"
    if head in _WORDS["generic"] and len(thing) == 1:
        return "generic"
    reads = action_verbs().kinds.get(said.verb, "") in ("get", "list", "search", "check")
    if reads and _WORDS["parts"].intersection(said.attribute.lower().split()[-1:]):
        return "generic"
    if head in _WORDS["calls"]:
        return "technical"
    if any(_lemma(word.lower()) in _WORDS["technical"] for word in thing):
        return "technical"
    if any(part in _WORDS["unasked"] for word in thing for part in words(word)):
        return "unasked"
    sayable = all(_is_sayable(word, known) for word in thing) and (is_noun(head) or thing[-1].isupper())
    return "" if sayable else "uncommon"


def _is_sayable(word: str, known: frozenset[str]) -> bool:
    """Whether a word is plain, or an acronym in the capitals of the document."""
    if word.isupper() and word.isalpha():
        return 1 < len(word) <= _MAX_ACRONYM
    return all(part in known or is_plain_word(part) for part in word.lower().split("-"))
