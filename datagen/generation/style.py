"""Style: the tone of a request, and its opening and closing phrases."""

from __future__ import annotations

import re

from datagen.generation.data_files import fill, templates, word_classes
from datagen.generation.grammar import capital, gerund, lowered, sentence_end, tidy
from datagen.generation.realisation import Realisation
from datagen.generation.sampler import Sampler

__all__ = ["SPEAKER", "finish", "sentence_of", "with_names"]

_TEMPLATES = templates("style")
_WORDS = word_classes("style")
_OPENED, _CLOSED, _LOWER_CASE, _NO_STOP = 0.1, 0.12, 0.2, 0.3
_TELEGRAPHIC, _ABBREVIATED = 0.12, 0.05
_MAX_TELEGRAPHIC_WORDS = 11
_ABBREVIATIONS = (("with", "w/"), ("please", "plz"), ("you", "u"))
_NAME_SLOT = re.compile(r"\{(first|last|city|department|company)\}")
SPEAKER = re.compile(r"\b(?:me|us|my|your)\b")
"""Words for the user; an order with one of them does not fit after "I need to"."""
_ARTICLE = re.compile(rf"(?<=[a-z,] )(?:the|an|a) (?!{'|'.join(sorted(_WORDS['after_article']))}|\d)")
"""An article that a short order can omit."""
_FULL_SENTENCE = re.compile(rf"[?:]|[.!] |\b(?:{'|'.join(sorted(_WORDS['sentence']))})\b|'s\b", re.I)
"""What a text without articles cannot contain."""


def _order_in(realisation: Realisation, sampler: Sampler, *, plain: bool = False) -> str:
    """A request as an order, without a final full stop.

    :param plain: without ``and`` in the words of politeness.
    """
    own_task = sampler.chance(0.22) and not SPEAKER.search(realisation.order)
    patterns = _TEMPLATES["own_tasks" if own_task else "orders"]
    pattern = sampler.pick([one for one in patterns if not plain or "and" not in one.split()])
    return fill(with_names(pattern, sampler), do=realisation.order, doing=gerund(realisation.order))


def sentence_of(realisation: Realisation, sampler: Sampler, *, plain: bool = False) -> str:
    """A request as a question, a statement, a thing that is needed, or an order."""
    roll = sampler.rng.random()
    if realisation.questions and roll < 0.45:
        pattern = with_names(sampler.pick(_TEMPLATES["questions"]), sampler)
        return fill(pattern, ask=sampler.pick(realisation.questions))
    if realisation.statements and roll < 0.6:
        return sampler.pick(realisation.statements)
    if realisation.noun_phrase and roll < 0.62:
        return fill(with_names(sampler.pick(_TEMPLATES["needs"]), sampler), need=realisation.noun_phrase)
    return _order_in(realisation, sampler, plain=plain)


def finish(text: str, sampler: Sampler, *, plain: bool = False) -> str:
    """Return the final message: with an opener or a closer by chance, with or without a capital letter and a full stop.

    :param plain: without ``if`` and ``otherwise`` in the closer.
    """
    text = text.rstrip()
    text = _shortened(f"{text}{sentence_end(text)}", sampler)
    if sampler.chance(_OPENED):
        opener = sampler.pick(_TEMPLATES["openers"])
        text = f"{with_names(opener, sampler)} {capital(text) if opener.endswith('.') else text}"
    elif sampler.chance(_CLOSED):
        text = f"{capital(text)} {with_names(_closer(sampler, plain=plain), sampler)}"
    text = capital(text)
    if sampler.chance(_LOWER_CASE) and text.split()[0].rstrip(",.") not in sampler.lexicon.pools["first"]:
        text = lowered(text)
    if text.endswith(".") and sampler.chance(_NO_STOP):
        text = text[:-1]
    return tidy(text)


def with_names(pattern: str, sampler: Sampler) -> str:
    """A pattern with sample names of people, places and companies in the slots for them."""
    pools = sampler.lexicon.pools

    def name(slot: re.Match[str]) -> str:
        if slot[1] == "company":
            return f"{sampler.pick(pools['company_first'])} {sampler.pick(pools['company_last'])}"
        return sampler.pick(pools[slot[1]])

    return _NAME_SLOT.sub(name, pattern)


def _closer(sampler: Sampler, *, plain: bool) -> str:
    if sampler.chance(0.2):
        return (
            f"{capital(sampler.pick(_TEMPLATES['closer_subjects']))} {sampler.pick(_TEMPLATES['closer_predicates'])}."
        )
    closers = _TEMPLATES["closers"]
    return sampler.pick([one for one in closers if not plain or ("if" not in one and "otherwise" not in one)])


def _shortened(text: str, sampler: Sampler) -> str:
    """Remove articles from a short order, or abbreviate words; both by chance."""
    short = len(text.split()) <= _MAX_TELEGRAPHIC_WORDS
    if short and not _FULL_SENTENCE.search(text) and sampler.chance(_TELEGRAPHIC):
        return _ARTICLE.sub("", text)
    if sampler.chance(_ABBREVIATED):
        for word, abbreviation in _ABBREVIATIONS:
            if sampler.chance(0.5):
                text = text.replace(f" {word} ", f" {abbreviation} ")
    return text
