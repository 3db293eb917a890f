"""A question with its mentions, and what stands next to what: what all that read it need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ontology.names import noun_lemma
from planners.graphseek.catalog.catalog import TIME_ROLES
from planners.graphseek.rules.phrase_lexicon import Lexicon, TypeOf, ValueOf
from planners.graphseek.rules.question_cues import Top
from planners.graphseek.rules.question_mentions import Mention, mentions_of

__all__ = [
    "DATES",
    "MOST_GAP",
    "PLACES",
    "PLAN",
    "SaidQuestion",
    "UnreadableError",
    "free_values",
    "is_plural",
    "names_of",
    "owners_of",
    "top_of",
]

PLACES = frozenset("in at within inside from on".split())
"""Words before a thing in which, at which or from which something is: "in" and "at" were found on the questions on the EV graph and on
countries; synonyms were added."""
PLAN = "plan or actual"
MOST_GAP = 40
"""Characters between a superlative or bound and what it is of, at most: all shipped questions and paraphrases are read alike from 15 on."""
DATES = ("date", "year")
"""Roles of properties that say when something was, as a whole."""
# Ordinary English; the reading of no shipped question depends on these.
_BEFORE_TIME = frozenset(("", ",", "in", "on", "of", "is", "was", "date", "year"))
_BEFORE_RELATIVE = frozenset(("", ",", "in", "on", "at", "by", "to", "of", "for", "from", "with"))
_YES_NO = re.compile(r"(?:is|are|was|were|does|do|has|have) ", re.IGNORECASE)


class UnreadableError(Exception):
    """A question that the rules cannot read; the text says what."""


class SaidQuestion:
    """A question.

    :ivar rest: mentions that are read one by one.
    :ivar used: those that were.
    :ivar passed: those that mean something else here, so that no plan has to use them.
    :ivar unread: words that mean nothing.
    """

    def __init__(self, question: str, lexicon: Lexicon) -> None:
        self.text, self.lexicon = question, lexicon
        mentions = mentions_of(question, lexicon)
        self.all, self.unread, self.words = mentions.all, mentions.unread, mentions.words
        self.rest = [each for each in mentions.all if not each.is_cue("it")]
        self.used: set[Mention] = set()
        self.passed: set[Mention] = set()

    def take_as_name(self, word: Mention) -> None:
        """Take a word that means nothing, or several that stand together, as a name."""
        self.all = tuple(sorted((*self.all, word), key=lambda each: (each.start, each.end)))
        self.rest = [each for each in self.all if not each.is_cue("it")]
        self.unread = tuple(each for each in self.unread if not word.start <= each.start < word.end)
        self.used.add(word)

    def cues(self, *kinds: str) -> list[Mention]:
        """Return the cues of these kinds."""
        return [each for each in self.all if each.is_cue(*kinds)]

    def between(self, left: Mention, right: Mention) -> str:
        """Return the text between two mentions."""
        return self.text[left.end : right.start]

    def next_to(self, mention: Mention, skip: Sequence[str] = ()) -> Mention | None:
        """Return the mention behind another one, if it is near.

        :param skip: kinds of cues that are passed over.
        """
        for each in self.all:
            if each.start >= mention.end and not each.is_cue(*skip):
                return each if each.start - mention.end <= MOST_GAP else None
        return None

    def before(self, mention: Mention) -> Mention | None:
        """Return the mention before another one."""
        return next((each for each in reversed(self.all) if each.end <= mention.start), None)

    def follows(self, mention: Mention, *kinds: str) -> bool:
        """Whether the mention before is a cue of one of these kinds."""
        before = self.before(mention)
        return before is not None and before.is_cue(*kinds)

    def is_pronoun(self, each: Mention) -> bool:
        """Whether "one" stands for a thing: no word of the graph is right behind it, or "which" is right before."""
        behind = self.next_to(each)
        is_noun_behind = behind is not None and bool(behind.meanings) and not self.between(each, behind).strip()
        return each.text.lower() == "one" and (each.before == "which" or not is_noun_behind)

    @property
    def is_yes_no(self) -> bool:
        """Whether it asks whether something is true: "Is Austria landlocked?"."""
        return _YES_NO.match(self.text) is not None

    @property
    def is_who(self) -> bool:
        """Whether it asks "who" or "whom", so that a number is no answer."""
        return any(each.text.lower() in ("who", "whom") for each in self.asking)

    @property
    def doer(self) -> Mention | None:
        """The relation word that "who" is the subject of: "who wrote …", "who is cited by …"; None where there is none."""
        first = next(iter(self.asking), None)
        behind = self.next_to(first) if first is not None and first.text.lower() == "who" else None
        is_verb = behind is not None and bool(behind.relations) and not behind.types
        return behind if is_verb else None

    @property
    def asking(self) -> list[Mention]:
        """The words that ask, in their order; not "who", "whom" or "which" of a clause behind what it tells of."""
        cues = self.cues("which", "count", "where")
        return [each for each in cues if not self._is_relative(each)]

    def _is_relative(self, each: Mention) -> bool:
        """Whether a word stands behind a thing, alone or with a small word between: "captains who …", "ships on which …"."""
        before = self.before(each)
        if each.text.lower() not in ("who", "whom", "which") or before is None or not (before.name or before.types):
            return False
        return not before.relations and self.between(before, each).strip().lower() in _BEFORE_RELATIVE

    def amount_behind(self, each: Mention) -> Mention | None:
        """Return a year right behind a number of things, which is no time: "with a tonnage of 2000"."""
        if not any(key.key.type in ("integer", "number") and key.role not in TIME_ROLES for key in each.properties):
            return None
        behind = self.next_to(each)
        is_year = (
            behind is not None and behind.is_cue("year") and self.between(each, behind).strip().lower() in _BEFORE_TIME
        )
        return behind if is_year else None

    def times_behind(self, each: Mention) -> list[Mention]:
        """Return the times that stand right behind a date or a year: "launched in March 2021", "published after 2020"."""
        found: list[Mention] = []
        if not any(key.role in DATES and not key.of_relationship for key in each.properties):
            return found
        for cue in self.all:
            last = found[-1] if found else each
            if cue.start < last.end:
                continue
            if (
                not cue.is_cue("year", "quarter", "month", "span")
                or self.between(last, cue).strip().lower() not in _BEFORE_TIME
            ):
                break
            found.append(cue)
        return found

    def is_property(self, each: Mention) -> bool:
        """Whether a word that may be a type or a property is a property here: something is compared with it."""
        if not each.properties or any(type_.own for type_ in each.types):
            return bool(each.properties) and not each.types
        before, behind = self.before(each), self.next_to(each)
        measured = before is not None and before.is_cue("top", "sum") and each.start - before.end <= 2
        return measured or (behind is not None and (behind.is_cue("bound") or behind.number is not None))


def is_plural(text: str) -> bool:
    """Whether the last word of a text is a plural."""
    last = text.lower().split()[-1]
    return last.endswith("s") and noun_lemma(last) != last


def names_of(types: Iterable[TypeOf]) -> tuple[str, ...]:
    """Return the names of types."""
    return tuple(each.name for each in types)


def free_values(mention: Mention) -> list[ValueOf]:
    """Return the values of node properties that a mention means, without plan or actual."""
    return [each for each in mention.values if not each.property.of_relationship and each.property.role != PLAN]


def owners_of(mention: Mention) -> tuple[str, ...]:
    """Return the types that a word before a name says: "the module", "the state of"."""
    return names_of(mention.types) or tuple(dict.fromkeys(each.property.owner for each in free_values(mention)))


def top_of(mention: Mention) -> Top:
    """Return the superlative of a cue.

    :raises UnreadableError: when it is none.
    """
    if mention.cue is None or not isinstance(mention.cue.value, Top):
        raise UnreadableError("it has a superlative of nothing")
    return mention.cue.value
