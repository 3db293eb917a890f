"""Query decomposition into clauses, by the first words of sentences and of their parts.

All functions read text in lower case in which quotes, addresses and identifiers are masked with zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from datagen.patterns import load_patterns
from ontology.names import is_noun, is_verb

__all__ = ["Clause", "ClauseKind", "parse_clauses"]

ClauseKind = Literal["order", "question", "wish", "condition", "fragment", "statement", "opening"]

_CLAUSES = load_patterns("validation/clauses")

_MAX_OPENINGS = 6  # phrases before a want that are skipped
_MASK = "000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a request with one want, or a sentence without a want.

    :param start: the position of its first character; ``end`` is past its last one.
    :param certain: false where the words may also go on with the clause before.
    :param joined: how many other things it may ask for: those joined by ``and`` without a verb.
    """

    text: str
    start: int
    end: int
    kind: ClauseKind
    certain: bool
    joined: int

    @property
    def may_be_want(self) -> bool:
        """Whether it is a statement that may be a want: ``for the party we'd need a buffet``."""
        return self.kind == "statement" and (_CLAUSES["hint"].search(self.text) is not None or _MASK in self.text)

    @property
    def asks(self) -> bool:
        """Whether it is a want by itself."""
        return self.kind in ("order", "question", "wish")


class _Start(NamedTuple):
    """Where a clause of a sentence begins; its kind is empty while it is not known."""

    at: int
    kind: ClauseKind | Literal[""]
    certain: bool = True


def parse_clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a request, in its order."""
    return tuple(clause for start, sentence in _sentences(text) for clause in _cut(sentence, start))


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Each sentence with its position."""
    at = 0
    for match in _CLAUSES["sentence_end"].finditer(text):
        yield at, text[at : match.end()]
        at = match.end()
    yield at, text[at:]


def _cut(sentence: str, offset: int) -> Iterator[Clause]:
    if not _CLAUSES["word"].search(sentence):
        return
    starts = _starts(sentence)
    colon = sentence.find(": ")
    for number, (start, kind, certain) in enumerate(starts):
        end = starts[number + 1].at if number + 1 < len(starts) else len(sentence)
        part = sentence[start:end]
        yield Clause(
            text=part.strip(" ,"),
            start=offset + start,
            end=offset + end,
            kind=kind or _kind_without_want(sentence, starts),
            certain=certain and not (kind == "wish" and offset > 0 and _CLAUSES["bare_need"].match(part)),
            joined=_joined(part, listed=0 <= colon < end),
        )


def _starts(sentence: str) -> list[_Start]:
    """Where the clauses of a sentence begin; only the first of them may have no kind."""
    condition = _begins_with_condition(sentence)
    starts = [_Start(0, "condition" if condition else _kind(sentence, 0, joined=False))]
    main_clause_due = condition
    for join in _CLAUSES["join"].finditer(sentence):
        kind = _kind(sentence, join.end(), joined=not main_clause_due)
        if not kind:
            continue
        last = starts[-1]
        before = sentence[last.at : join.start()]
        if _skip_openings(sentence, last.at) >= join.end() or _is_opening(before):
            starts[-1] = last._replace(kind=kind)
            continue
        embedded = kind == "question" and last.kind == "order" and _CLAUSES["embedding"].search(before) is not None
        starts.append(_Start(join.end(), kind, certain=not embedded))
        main_clause_due = False
    if main_clause_due and len(starts) == 1:
        starts.extend(_main_clause(sentence))
    return starts


def _is_opening(part: str) -> bool:
    """Whether the text has only words that open a clause."""
    return _CLAUSES["opening"].fullmatch(part.strip(" ,.:") + " ") is not None


def _begins_with_condition(sentence: str) -> bool:
    match = _CLAUSES["subordinate"].match(sentence, _skip_openings(sentence, 0))
    if match is None:
        return False
    asks = match[0] in ("when", "should") and sentence.rstrip().endswith("?") and "," not in sentence
    return not asks


def _main_clause(sentence: str) -> Iterator[_Start]:
    """What follows a condition without a comma: the first verb that begins an order."""
    previous = ""
    for match in _CLAUSES["word"].finditer(sentence):
        following = _CLAUSES["word"].match(sentence, match.end() + 1)
        if (
            match[0] in _CLAUSES.words("order_verbs")
            and previous not in _CLAUSES.words("no_order_after")
            and following
            and _is_object(following[0])
        ):
            yield _Start(match.start(), "order")
            return
        previous = match[0]
    comma = sentence.find(",")
    if comma > 0 and len(_CLAUSES["word"].findall(sentence[comma:])) > 1:
        yield _Start(comma + 1, "order")


def _is_object(word: str) -> bool:
    return word in _CLAUSES.words("determiners") or word.startswith("0") or word.isdigit()


def _skip_openings(sentence: str, at: int) -> int:
    """The position after courtesies and connectives; of these the last of a sentence is none."""
    at = _skip_to_word(sentence, at)
    for _ in range(_MAX_OPENINGS):
        match = _CLAUSES["opening"].match(sentence, at)
        if match is None or match.end() >= len(sentence):
            return at
        at = _skip_to_word(sentence, match.end())
    return at


def _skip_to_word(sentence: str, at: int) -> int:
    while at < len(sentence) and not sentence[at].isalnum():
        at += 1
    return at


def _kind(sentence: str, at: int, *, joined: bool) -> ClauseKind | Literal[""]:
    """Return the kind of want that begins at a position, or empty."""
    begin = _skip_openings(sentence, at)
    opened = sentence[at:begin].strip(" ,.:-–") != ""
    if _CLAUSES["wish"].match(sentence, begin):
        return "wish"
    if _CLAUSES["question"].match(sentence, begin) and not (joined and _goes_on(sentence, at, begin)):
        return "question"
    return "order" if _orders(sentence, begin, bare=joined and not opened, opened=opened) else ""


def _goes_on(sentence: str, at: int, begin: int) -> bool:
    """Whether words that can begin a question go on with the clause before: no question mark ends the sentence."""
    if sentence.rstrip().endswith("?") or _CLAUSES["open_question_word"].match(sentence, begin):
        return False
    return not _CLAUSES["relative_word"].match(sentence, begin) or sentence[:at].rstrip().endswith(",")


def _orders(sentence: str, at: int, *, bare: bool, opened: bool) -> bool:
    """Whether an order begins at a position.

    :param bare: whether it follows the clause before it without words that open a clause.
    """
    match = _CLAUSES["word"].match(sentence, at)
    if match is None:
        return False
    if _CLAUSES["have_done"].match(sentence, at):
        return True
    verb = match[0].partition("-")[0]
    if verb in _CLAUSES.words("no_order") or not (is_verb(verb) or verb in _CLAUSES.words("order_verbs")):
        return False
    next_word = _next_word(sentence, match.end())
    if next_word in _CLAUSES.words("determiners"):
        return True
    if bare and verb in _CLAUSES.words("adjectives"):
        return False
    if not is_noun(verb):
        return next_word != ""
    if bare:
        takes_object = next_word in _CLAUSES.words("objects") or not _is_noun_use(verb, next_word)
        return verb in _CLAUSES.words("order_verbs") and next_word != "" and takes_object
    likely = (
        verb in _CLAUSES.words("order_verbs") or next_word in _CLAUSES.words("objects") or (opened and next_word != "")
    )
    return likely and not _is_statement(sentence, at)


def _next_word(sentence: str, at: int) -> str:
    """Return the next word after a position; empty if punctuation comes first."""
    match = _CLAUSES["word"].search(sentence, at)
    return match[0] if match and not sentence[at : match.start()].strip(" \"'“") else ""


def _is_noun_use(word: str, next_word: str) -> bool:
    """Whether the word is a noun in a phrase with the next word: ``order 4711``, ``report number``."""
    return (next_word[:1].isdigit() and word in _CLAUSES.words("record_nouns")) or next_word in _CLAUSES.words(
        "after_noun"
    )


def _is_statement(sentence: str, at: int) -> bool:
    """Whether one of the five words after the first is the verb of a statement."""
    words = list(_CLAUSES["word"].finditer(sentence, at))[1:6]
    if not words:
        return False
    head = sentence[words[0].start() : words[-1].end()]
    found = _CLAUSES["finite"].search(head)
    if found is None:
        return False
    # "tell me who is ..." has its verb in a clause of its own.
    return not set(_CLAUSES["word"].findall(head[: found.start()])) & (
        _CLAUSES.words("determiners") | _CLAUSES.words("embedding_words")
    )


def _kind_without_want(sentence: str, starts: list[_Start]) -> ClauseKind:
    """Return the kind of a first clause that is not a want by itself."""
    if len(starts) == 1:
        if _CLAUSES["thanks"].fullmatch(sentence.strip()):
            return "opening"
        if sentence.rstrip().endswith("?") and len(_CLAUSES["word"].findall(sentence)) > 3:
            return "question"
        return "statement" if _CLAUSES["finite"].search(sentence) else "fragment"
    part = sentence[: starts[1].at]
    if _CLAUSES["finite"].search(part):
        return "statement"
    return "fragment" if len(_CLAUSES["word"].findall(part)) > 2 else "opening"


def _joined(part: str, *, listed: bool) -> int:
    """How many things a clause may ask for beside the first.

    :param listed: whether a colon before the end of the clause announces a list.
    """
    part = part[_skip_openings(part, 0) :]
    nouns = [
        match for match in _CLAUSES["and_noun"].finditer(part) if not _CLAUSES["between"].search(part[: match.start()])
    ]
    count = sum(len(_CLAUSES["word"].findall(match["rest"])) >= 2 for match in nouns)
    return count + (part.rstrip(" ,").count(", ") if count or listed else 0)
