"""Surface realisation: the clause of a tool as an order, as questions, as statements, and as a noun phrase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from datagen.generation.action_verbs import action_verbs
from datagen.generation.clause import Change, Clause, clause_of
from datagen.generation.data_files import fill, templates, word_classes
from datagen.generation.grammar import article, possessive
from datagen.generation.lexicon import Noun
from datagen.generation.phrases import References
from datagen.generation.sampler import Sampler
from datagen.generation.tool_frame import GenerationError, ToolFrame

__all__ = ["Realisation", "indefinite", "realise"]

_WORDS = word_classes("realisation")
_TEMPLATES = templates("realisation")
_POSSESSIVES = {"it": "its", "them": "their", "they": "their", "me": "my"}
_OWN_VERB = 0.3
"""How likely a new thing has a verb of its own: raise a purchase order."""
_SAID_OWN = 0.8
"""How likely something of the asker's own is said to be so; of an unknown catalogue always: the videos are not my videos."""
_SHORT_OBJECT = 4  # words: a longer object stands after its verb phrase
_SHORT_OWNER = 3  # words: a longer owner stands after the thing


@dataclass(slots=True, kw_only=True)  # not frozen: that takes a tenth of the time of all wording
class Realisation:
    """The forms of one request.

    :param order: from its verb on, without a stop.
    :param noun_phrase: what is needed, or empty.
    :param questions: without question marks.
    :param statements: sentences about how something should be.
    :param named: whether it finds the thing by its name, so that there is one.
    :param selective: whether it says which things are meant: of whom, or with which value.
    :param narrowed: whether it states anything beside the kind of thing, or the things are the asker's own.
    """

    order: str
    noun_phrase: str = ""
    questions: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    named: bool = False
    selective: bool = False
    narrowed: bool = False


def realise(
    frame: ToolFrame, references: References, sampler: Sampler, *, minimal: bool = False, verbs: str = ""
) -> Realisation:
    """The forms of a request for a tool; values that earlier steps fill stand there as referring expressions.

    :param minimal: without optional values.
    :param verbs: the name of the verb phrases of the order; empty for those of the tool.
    """
    clause = clause_of(frame, references, sampler, minimal=minimal)
    realised = _realised(replace(clause, verbs=verbs) if verbs else clause)
    selective = clause.selective
    narrowed = selective or clause.narrowed or frame.own
    if not (clause.name or narrowed):
        return realised
    return replace(realised, named=bool(clause.name), selective=selective, narrowed=narrowed)


def _realised(clause: Clause) -> Realisation:
    frame = clause.frame
    if frame.kind == "get":
        return _get_identified(clause) if clause.identity else _get(clause)
    if frame.many:
        return _search_by_name(clause) if clause.name else _list(clause)
    return _create(clause) if frame.kind == "create" else _act(clause)


def indefinite(noun: Noun, phrase: str) -> str:
    """A phrase for one thing with its indefinite article, where the noun can have one."""
    return phrase if noun.uncountable else article(phrase)


def _get_identified(clause: Clause) -> Realisation:
    thing, tail, sampler = f"{clause.identity}{clause.whose}", clause.tail, clause.sampler
    if thing in _POSSESSIVES:  # "find the supplier and show me its details": nobody shows it
        thing = f"{_POSSESSIVES[thing]} details"
    if clause.frame.asks_existence:
        return Realisation(
            order=f"{_with_object(_verb_phrase(clause, ''), thing)}{tail}",
            questions=tuple(f"{fill(one, thing=thing)}{tail}" for one in _TEMPLATES["ask_existence"]),
        )
    asked = _TEMPLATES["ask_person" if clause.frame.noun.person else "ask_thing"]
    details = "" if clause.identity in _WORDS["pronouns"] or clause.verbs else sampler.pick(_TEMPLATES["details"])
    return Realisation(
        order=f"{_with_object(_verb_phrase(clause, thing), details + thing)}{tail}",
        noun_phrase=f"{sampler.phrase(_TEMPLATES['view'], thing=thing)}{tail}",
        questions=clause.questions or tuple(f"{fill(one, thing=thing)}{tail}" for one in asked),
    )


def _get(clause: Clause) -> Realisation:
    noun, tail, thing = clause.frame.noun, clause.tail, _with_owner(clause)
    questions = clause.questions
    if not questions:
        questions = (f"what{' are' if noun.plural else chr(39) + 's'} {thing}{tail}",)
        if not clause.owner:
            one = clause.noun()
            one = f"any {one}" if noun.uncountable else article(one)
            questions += (f"{'are' if noun.plural else 'is'} there {one}{tail}",)
    order = _with_object(_verb_phrase(clause, thing), thing)
    return Realisation(order=f"{order}{tail}", noun_phrase=f"{thing}{tail}", questions=questions)


def _with_owner(clause: Clause, *, many: bool = False) -> str:
    """The thing with its owner: ``the bills from vendor 40017``, ``Jan's pay``, ``my playlists``."""
    frame, owner, sampler = clause.frame, clause.owner, clause.sampler
    word = clause.noun(many=many)
    front = frame.owner_noun.key if frame.owner_noun is not None else ""
    if front and word.startswith(f"{front} "):  # the user's avatar, not the user's user avatar
        word = word.removeprefix(f"{front} ")
    if owner in _POSSESSIVES:
        return f"{_POSSESSIVES[owner]} {word}"
    if owner and frame.owner_noun is not None:
        short = len(owner.split()) <= _SHORT_OWNER
        if short and frame.owner_noun.person and "of" not in word.split() and sampler.chance(0.5):
            return f"{possessive(owner)} {word}"
        determiner = sampler.pick(("the ", "all ", "", "", "")) if many else "the "
        return f"{determiner}{word}{clause.whose}"
    if frame.own and (frame.is_general or sampler.chance(_SAID_OWN)):
        return f"my {word}"
    return f"{word if many and sampler.chance(0.5) else 'the ' + word}"


def _list(clause: Clause) -> Realisation:
    frame, tail, noun = clause.frame, clause.tail, clause.frame.noun
    things = _with_owner(clause, many=not noun.uncountable)
    if frame.own or clause.owner in _WORDS["pronouns"]:
        questions = (*clause.questions, f"what{chr(39) + 's' if noun.mass else ' are'} {things}{tail}")
    else:
        questions = (*clause.questions, *_list_questions(clause))
    order = _with_object(_verb_phrase(clause, f"{things}{tail}"), things)
    return Realisation(order=f"{order}{tail}", noun_phrase=f"{things}{tail}", questions=questions)


def _list_questions(clause: Clause) -> list[str]:
    slots = {"things": clause.noun(many=True), "rest": f"{clause.whose}{clause.tail}"}
    if clause.frame.noun.mass:
        return [fill(question, **slots) for question in _TEMPLATES["ask_mass_things"]]
    slots["which"], slots["what"] = (clause.sampler.pick(("which", "what")) for _ in range(2))
    return [fill(question, **slots) for question in _TEMPLATES["ask_things"]]


def _search_by_name(clause: Clause) -> Realisation:
    one, name, tail = clause.noun(), clause.name, f"{clause.whose}{clause.tail}"
    slots = {"one": one, "a_one": article(one), "name": name}
    own_name = clause.frame.noun.person or clause.frame.noun.pool in _WORDS["own_names"]
    named = clause.sampler.phrase(_TEMPLATES["named" if own_name else "named_thing"], **slots)
    return Realisation(
        order=f"{_with_object(_verb_phrase(clause, named), named)}{tail}",
        noun_phrase=f"{named}{tail}",
        questions=tuple(f"{fill(asked, **slots)}{tail}" for asked in _TEMPLATES["ask_named"]),
    )


def _create(clause: Clause) -> Realisation:
    noun, sampler, word = clause.frame.noun, clause.sampler, clause.noun()
    if not clause.owner and not clause.filters:
        raise GenerationError("nothing says what the new one is like")
    one = word if noun.uncountable else article(f"new {word}" if sampler.chance(0.12) else word)
    tail = f"{_for_owner(clause)}{clause.tail}"
    return Realisation(order=f"{_with_object(_verb_phrase(clause, one), one)}{tail}")


def _act(clause: Clause) -> Realisation:
    frame = clause.frame
    if clause.identity:
        thing, whose = clause.identity, _for_owner(clause)
    elif frame.owner_noun is not None and frame.owner_noun.person and not frame.noun.uncountable and not frame.reads:
        thing, whose = article(clause.noun()), _for_owner(clause)  # it is there for them only from then on
    else:
        thing, whose = _with_owner(clause) if clause.owner or frame.own else _unidentified(clause), ""
    tail = f"{whose}{clause.tail}"
    if clause.change is not None:
        return _update(clause.change, thing, tail, clause.sampler)
    return Realisation(order=f"{_with_object(clause.decision or _verb_phrase(clause, thing), thing)}{tail}")


def _update(change: Change, thing: str, tail: str, sampler: Sampler) -> Realisation:
    if thing in ("it", "them", "me"):
        whose = f"{_POSSESSIVES[thing]} {change.label}"
        order = sampler.phrase(_TEMPLATES["change_own_orders"], whose=whose, value=change.value)
        return Realisation(order=f"{order}{tail}", statements=(f"{whose} should be {change.value}{tail}",))
    slots = {"label": change.label, "value": change.value, "thing": thing}
    order = sampler.phrase(_TEMPLATES["change_orders"], **slots)
    statement = sampler.phrase(_TEMPLATES["change_statements"], **slots)
    return Realisation(order=f"{order}{tail}", statements=(f"{statement}{tail}",))


def _for_owner(clause: Clause) -> str:
    """The owner of what an action changes or makes, after a space; or empty."""
    noun = clause.frame.owner_noun
    if noun is None or not clause.owner:
        return ""
    if clause.identity and noun.person and clause.frame.verb in _WORDS["send_verbs"]:
        return f" to {clause.owner}"
    if clause.frame.preposition:
        return f" {clause.frame.preposition} {clause.owner}"
    return f" {'for' if noun.person or noun.preposition == 'of' else noun.preposition} {clause.owner}"


def _unidentified(clause: Clause) -> str:
    """A thing that nothing identifies."""
    word, noun = clause.noun(), clause.frame.noun
    if noun.uncountable:
        return word
    return article(word) if clause.frame.verb in _WORDS["indefinite_verbs"] else f"the {word}"


def _verb_phrase(clause: Clause, thing: str) -> str:
    """A verb phrase with ``~`` for the object."""
    frame, sampler = clause.frame, clause.sampler
    options: Sequence[str] = frame.phrases
    if clause.verbs:
        return sampler.pick(action_verbs().phrases[clause.verbs], frame.document_words)
    own_verbs = [f"{verb} ~" for verb in frame.noun.make_verbs if verb != "open"]  # "open the claim" may be show it
    if frame.kind == "create" and own_verbs and sampler.chance(_OWN_VERB):
        options = own_verbs
    if frame.many and clause.name:
        options = action_verbs().phrases["search"]
    if len(thing.split()) > _SHORT_OBJECT:
        options = [option for option in options if option.endswith("~")] or options
    return sampler.pick(options, frame.document_words)


def _with_object(pattern: str, thing: str) -> str:
    """A verb phrase with its object: ``call off ~`` with ``it`` is ``call it off``."""
    front, _, back = pattern.partition("~")
    words = front.split()
    if thing in _WORDS["pronouns"] and not back.strip() and len(words) == 2 and words[1] in _WORDS["particles"]:
        if words[0] not in _WORDS["inseparable"]:
            return f"{words[0]} {thing} {words[1]}"
    return pattern.replace("~", thing)
