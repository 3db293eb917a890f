"""What stands where in a question: names of things, words of the graph, and cues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ontology.number_words import number_of
from planners.graphseek.rules.phrase_lexicon import Lexicon, Meaning, PropertyOf, RelationOf, TypeOf, ValueOf
from planners.graphseek.rules.question_cues import Cue, cues_in
from planners.graphseek.rules.question_tokens import Token, tokens_of

__all__ = ["Mention", "mentions_of"]

# Small words and marks inside names: "of" was found on the questions on countries, the dash on the sites of the EV graph; the others are
# ordinary in names of places.
_JOINTS = frozenset({"of", "the", "-", "–", "&", "de", "la", "da", "del"})
# Words that tell nothing here: found on the shipped questions and the paraphrases; other forms and ordinary synonyms were added.
_LIGHT = frozenset(
    "a an the is are was were be been being do does did has have had having of in on at by to from for with as and or but not no that "
    "which who whose what when where how if then there one ones me us we you i it its they them their this these those all any some "
    "please can could will would may might must should so also both along together most more than only used using use need needs "
    "different various unique current currently check tell show list give find count name named called says say given get part parts "
    "within into out up down during through via between work works contribute contributes contributing thing things kind type step "
    "steps way entire whole full exactly produce each every per".split()
)
_MOST_TOPIC = 6  # words before a dash that begins a question: found on a paraphrase
_MOST_SMALL = 4  # words of a name after its capital, up to its number: found on processes of the EV graph, "Inspect inverter 2222"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Something that is said.

    :param meanings: of words of the graph; a phrase may have several.
    :param name: of a thing, as it is written.
    :param quoted: whether it stood in quotation marks.
    :param before: the word before it.
    """

    start: int
    end: int
    text: str
    meanings: tuple[Meaning, ...] = ()
    name: str = ""
    cue: Cue | None = None
    number: float | None = None
    before: str = ""

    @property
    def types(self) -> list[TypeOf]:
        """Types that it means; those by their own name alone where there are such."""
        found = [each for each in self.meanings if isinstance(each, TypeOf)]
        return [each for each in found if each.own] or found

    @property
    def properties(self) -> list[PropertyOf]:
        """Properties that it means."""
        return [each for each in self.meanings if isinstance(each, PropertyOf)]

    @property
    def values(self) -> list[ValueOf]:
        """Values that it means."""
        return [each for each in self.meanings if isinstance(each, ValueOf)]

    @property
    def relations(self) -> list[RelationOf]:
        """Relationships that it means."""
        return [each for each in self.meanings if isinstance(each, RelationOf)]

    def is_cue(self, *kinds: str) -> bool:
        """Whether it is a cue of one of these kinds."""
        return self.cue is not None and self.cue.kind in kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """All that is said, in order.

    :param unread: words that mean something, but nothing here.
    """

    all: tuple[Mention, ...]
    unread: tuple[Mention, ...]
    words: frozenset[str]


def mentions_of(question: str, lexicon: Lexicon) -> Mentions:
    """Return what a question mentions."""
    tokens = tokens_of(question)
    taken = [False] * len(tokens)
    found = list(_names(tokens, taken, lexicon))
    blanked = list(question.lower()) if len(question.lower()) == len(question) else list(question)
    for each in found:
        blanked[each.start : each.end] = "▮" * (each.end - each.start)
    cues = list(cues_in("".join(blanked)))
    phrases = list(_phrases(tokens, taken, lexicon))
    for cue in cues:
        inside = [at for at, token in enumerate(tokens) if cue.start <= token.start < cue.end and not taken[at]]
        for at in inside:
            taken[at] = cue.kind not in ("change", "it")
        found.append(Mention(start=cue.start, end=cue.end, text=question[cue.start : cue.end], cue=cue))
    return _all(question, tokens, taken, found, phrases)


def _all(
    question: str,
    tokens: Sequence[Token],
    taken: list[bool],
    found: list[Mention],
    phrases: Sequence[tuple[int, int, list[Meaning]]],
) -> Mentions:
    for start, end, meanings in sorted(phrases, key=lambda each: (each[0] - each[1], each[0])):
        if not any(taken[start:end]):
            taken[start:end] = [True] * (end - start)
            span = tokens[start].start, tokens[end - 1].end
            before = tokens[start - 1].lower if start else ""
            text = question[span[0] : span[1]]
            found.append(
                Mention(start=span[0], end=span[1], text=text, meanings=tuple(dict.fromkeys(meanings)), before=before)
            )
    unread = []
    for at, token in enumerate(tokens):
        if taken[at] or token.kind == "mark":
            continue
        before = tokens[at - 1].lower if at else ""
        each = Mention(start=token.start, end=token.end, text=token.text, number=number_of(token.text), before=before)
        if each.number is not None:
            found.append(each)
        elif token.lower not in _LIGHT:
            unread.append(each)
    return Mentions(
        all=tuple(sorted(found, key=lambda each: (each.start, each.end))),
        unread=tuple(unread),
        words=frozenset(form for token in tokens for form in token.forms),
    )


def _phrases(
    tokens: Sequence[Token], taken: Sequence[bool], lexicon: Lexicon
) -> Iterator[tuple[int, int, list[Meaning]]]:
    for start, token in enumerate(tokens):
        if taken[start] or token.kind != "word":
            continue
        by_end: dict[int, list[Meaning]] = {}
        for size, meaning in lexicon.at(tokens, start):
            by_end.setdefault(start + size, []).append(meaning)
        for end, meanings in by_end.items():
            if all(isinstance(each, RelationOf) for each in meanings):  # "capital of": a relation, and a type
                shorter = (each for size in range(start + 1, end) for each in by_end.get(size, ()))
                meanings = [*meanings, *(each for each in shorter if isinstance(each, TypeOf))]
            yield start, end, meanings


def _names(tokens: Sequence[Token], taken: list[bool], lexicon: Lexicon) -> Iterator[Mention]:
    """Yield quoted texts, words that are codes, and words with capitals in a row."""
    at = 0
    while at < len(tokens):
        end = _name_end(tokens, at, lexicon)
        if end > at:
            span = tokens[at].start, tokens[end - 1].end
            text = tokens[at].text if tokens[at].kind == "quoted" else _joined(tokens[at:end])
            taken[at:end] = [True] * (end - at)
            yield Mention(start=span[0], end=span[1], text=text, name=text, before=tokens[at - 1].lower if at else "")
        at = max(end, at + 1)


def _joined(tokens: Sequence[Token]) -> str:
    """The text of tokens as it stood, without a possessive ending."""
    text, at = "", tokens[0].start
    for token in tokens:
        text += " " * (token.start > at) + token.text
        at = token.end
    return text.removesuffix("'s").removesuffix("’s")


def _name_end(tokens: Sequence[Token], start: int, lexicon: Lexicon) -> int:
    """Return the place behind a name that begins at a token; the token's own place: none does."""
    first = tokens[start]
    if first.kind == "quoted":
        return start + 1
    if first.kind != "word" or not (first.is_code or first.is_capital):
        return start
    if _begins_sentence(tokens, start):
        if (topic := _topic_end(tokens)) and start == 0:
            return topic
        if not _opens_with_name(tokens[start:], lexicon):
            return start
    end = start + 1
    while end < len(tokens):
        step = end
        while step < len(tokens) and step - end < 2 and tokens[step].lower in _JOINTS:
            step += 1
        if step >= len(tokens) or not _goes_on(tokens[step]):
            break
        end = step + 1
    if all(map(_is_time, tokens[start:end])) or first.text == "I" or first.lower in lexicon.units:
        return start
    end = _to_code(tokens, end)
    whole = [size for size, _ in lexicon.at(tokens, start) if start + size >= end]
    return start if whole else end


def _to_code(tokens: Sequence[Token], end: int) -> int:
    """Return the place behind a number or code that ends a name after a few small words: "Fit axle drive 50U9"."""
    for at in range(end, min(len(tokens), end + _MOST_SMALL)):
        if tokens[at].kind == "word" and any(map(str.isdigit, tokens[at].text)):
            return at + 1
        if tokens[at].kind != "word" or tokens[at].lower in _LIGHT:
            break
    return end


def _goes_on(token: Token) -> bool:
    return (token.is_capital or token.is_code) and not _is_time(token)


def _is_time(token: Token) -> bool:
    return any(each.kind in ("month", "quarter") for each in cues_in(f"in {token.lower}"))


def _begins_sentence(tokens: Sequence[Token], at: int) -> bool:
    return at == 0 or tokens[at - 1].text in (".", "?", "!", ":")


def _topic_end(tokens: Sequence[Token]) -> int:
    """Return the place behind the words before a dash or colon that a question begins with: "Harness fitting - what is …"; 0: there
    are none."""
    for at, token in enumerate(tokens[: _MOST_TOPIC + 1]):
        if token.text in ("-", "–", ":") and at:
            apart = token.text == ":" or tokens[at - 1].end < token.start
            asks = any(
                each.kind in ("which", "where", "count")
                for other in tokens[at + 1 : at + 4]
                for each in cues_in(other.lower)
            )
            return at if apart and asks else 0
        if token.lower in _LIGHT or token.kind != "word":
            return 0
    return 0


def _opens_with_name(tokens: Sequence[Token], lexicon: Lexicon) -> bool:
    first = tokens[0]
    if first.is_code or len(tokens) == 1:
        return True
    if first.lower in _LIGHT or any(True for _ in lexicon.at(tokens, 0)) or next(iter(cues_in(first.lower)), None):
        return False
    return tokens[1].is_capital or tokens[1].lower in ("is", "was", "has", "lies", "are")
