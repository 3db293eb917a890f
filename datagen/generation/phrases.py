"""Phrases: single arguments of a tool in words, with sample values or with referring expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from datagen.generation.action_verbs import action_verbs
from datagen.generation.arguments import Argument
from datagen.generation.data_files import templates, word_classes
from datagen.generation.grammar import article
from datagen.generation.sampler import Sampler
from datagen.generation.tool_frame import GenerationError, ToolFrame
from ontology.names import noun_lemma, words

__all__ = ["Phrase", "References", "Step", "decision_phrase", "identifier", "label_of", "phrase_of", "plain_value"]

References = Mapping[str, str]
"""Input → the referring expression for its value, of the inputs that an earlier step fills."""

_WORDS = word_classes("phrases")
_TEMPLATES = templates("phrases")
_AT_WEEKDAY = re.compile(r"^at (?=(?:Mon|Tues|Wednes|Thurs|Fri)day)")
_AT_RELATIVE_DAY = re.compile(
    r"^(?:on|at|in) (?=(?:tomorrow|yesterday|next|today|this|last|Friday week|the day after)\b)"
)
_DETERMINED_VALUE = re.compile(r"\b(?:the|our) \{v\}")
_RECEIVER = re.compile(r"to[_a-z]")


class Phrase(NamedTuple):
    """A phrase and its place in the clause, in [1, 9]."""

    place: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A tool, with the values that earlier steps fill, and the sampler of the request."""

    frame: ToolFrame
    references: References
    sampler: Sampler

    def reference(self, argument: Argument) -> str | None:
        """The referring expression for an argument; None where no earlier step fills it."""
        return next((self.references[name] for name in argument.names if name in self.references), None)


def identifier(step: Step, argument: Argument | None) -> str:
    """The thing that an argument identifies, or its referring expression; empty where there is no argument."""
    if argument is None:
        return ""
    reference = step.reference(argument)
    if reference is not None:
        return reference
    if not argument.sayable:
        raise GenerationError("it is found by an identifier that nobody types")
    return step.sampler.identifier(step.frame.tool, argument, step.frame.document_words)


def label_of(frame: ToolFrame, argument: Argument, sampler: Sampler) -> str:
    """The everyday name of an input that an update changes."""
    if argument.field is None:
        return argument.label
    if argument.label.split()[-1] in _WORDS["stranded"]:
        return argument.field.label
    labels = dict.fromkeys((argument.field.label, argument.label))
    able = [label for label in labels if set(frame.noun.key.split()).isdisjoint(label.split())]
    return sampler.pick(able or list(labels))


def decision_phrase(step: Step, argument: Argument) -> str:
    """The verb phrase of one of the decisions that an argument allows, with ``~`` for the object."""
    sampler = step.sampler
    choice = sampler.pick(argument.choices)
    verb = action_verbs().base(choice.split()[0].lower()) if choice else ""
    phrases = [phrase for phrase in action_verbs().phrases.get(verb, ()) if phrase.endswith("~")]
    if (verb and not phrases) or (verb in action_verbs().pairs and step.frame.owner is None):
        raise GenerationError(f"nobody says the decision {choice!r} without what it is for")
    phrase = sampler.pick(phrases) if phrases else ""
    sampler.record(step.frame.tool, argument, phrase.removesuffix("~").strip() or choice)
    if not phrase and " " in choice and not choice.endswith("ed"):
        raise GenerationError(f"nobody marks a thing as {choice!r}")
    return phrase or f"mark ~ as {choice}"


def plain_value(step: Step, argument: Argument) -> str:
    """A value of an argument that identifies nothing."""
    if not argument.choices:
        step.sampler.dates.happened = _has_happened(step.frame, argument)
        return step.sampler.value(step.frame.tool, argument, _value_kind(step.frame, argument))
    choice = step.sampler.pick(argument.choices)
    step.sampler.record(step.frame.tool, argument, choice)
    return choice


def _has_happened(frame: ToolFrame, argument: Argument) -> bool:
    """Whether a time selects what is there already: of nothing that is planned, and no time that is still to come."""
    planned = {noun_lemma(word) for word in (*frame.noun.key.split(), *words(argument.names[0]))}
    return frame.reads and _WORDS["planned"].isdisjoint(planned)


def _value_kind(frame: ToolFrame, argument: Argument) -> str:
    kind = argument.kind or "thing"
    if kind in ("name", "title", "thing", "topic") and frame.noun.pool:
        return frame.noun.pool
    if kind == "problem":
        return frame.noun.pool or ("problem" if frame.noun.key.split()[-1] in _WORDS["of_it"] else "fault")
    if kind == "city" and argument.names[0] in ("from", "to") and "rate" in frame.noun.key:
        return "currency"
    return "title" if kind == "name" and not frame.noun.person else kind


def phrase_of(step: Step, argument: Argument, reference: str | None) -> Phrase:
    """A phrase and its place: things first, reasons last."""
    if argument.role == "id":
        text = reference if reference is not None else _number_or_thing(step, argument)
        return Phrase(1, _thing_phrase(step.frame, argument, text))
    if reference is not None:
        return Phrase(2, _reference_phrase(argument, reference, step.sampler))
    if argument.field is not None and argument.kind == "flag" and not argument.choices:
        phrase = step.sampler.pick(argument.field.phrases)
        step.sampler.record(step.frame.tool, argument, phrase.lstrip("- "))
        return Phrase(9, phrase)
    value = plain_value(step, argument)
    if argument.role == "decision":
        return Phrase(5, f"({value})")
    if argument.choices:
        phrase = _choice_phrase(step, argument, value)
        return Phrase(8 if phrase.startswith("-") else 4, phrase)
    phrase = step.sampler.pick(argument.field.phrases) if argument.field is not None else "with {v}"
    if _is_new_name(step.frame, argument):
        phrase = "to {v}"
    if argument.kind == "email" and step.frame.noun.person and step.frame.reads:
        phrase = "with the email {v}"
    return Phrase(8 if argument.kind in _WORDS["last_kinds"] else 5, _with_value(phrase, value))


def _is_new_name(frame: ToolFrame, argument: Argument) -> bool:
    """Whether a value is the new name of what is there: who renames a user renames it *to* something.

    Found on the document of Gitea, where two readers did not know who "rename dlehmann for tsorensen" is for.
    """
    named = words(argument.names[0].rpartition(".")[2])
    is_new = named[:1] == ["new"] or frame.verb == "rename"
    return frame.is_general and frame.kind == "act" and is_new and argument.kind in _WORDS["name_kinds"]


def _number_or_thing(step: Step, argument: Argument) -> str:
    frame = step.frame
    if frame.kind == "create" and argument.noun is not None and argument.noun.key == frame.noun.key:
        return step.sampler.number(frame.tool, argument)
    return identifier(step, argument)


def _reference_phrase(argument: Argument, reference: str, sampler: Sampler) -> str:
    if argument.field is None:
        return f"with {reference}"
    able = [phrase for phrase in argument.field.phrases if not _DETERMINED_VALUE.search(phrase)]
    phrase = sampler.pick(able or ("with {v}",))
    return _with_value(phrase if phrase.split()[0] in _WORDS["prepositions"] else "with {v}", reference)


def _with_value(phrase: str, value: str) -> str:
    text = _AT_RELATIVE_DAY.sub("", _AT_WEEKDAY.sub("", phrase.replace("{v}", value)))
    return text.replace("on the end of", "at the end of")


def _choice_phrase(step: Step, argument: Argument, value: str) -> str:
    frame, degree = step.frame, argument.label.split()[-1] if argument.label else ""
    if argument.role == "state":
        return _that_is(value, many=frame.many) if frame.reads else f"as {value}"
    if degree in _WORDS["degrees"]:
        return step.sampler.phrase(_TEMPLATES["degree"], value=value, degree=degree)
    if degree not in _WORDS["kinds"]:
        raise GenerationError(f"nobody says the {argument.label or 'choice'} in a sentence")
    if len(value.split()) > 1 and action_verbs().base(first := value.split()[0].lower()) == first:
        raise GenerationError("the value of a kind is an action")  # configuration options of type restore cluster
    if value.split()[-1].endswith("ed"):  # devices that are assigned, not devices of type assigned
        if not frame.reads:
            raise GenerationError("what is made is said to be so by no word that fits")
        return _that_is(value, many=frame.many)
    if not {noun_lemma(word) for word in value.lower().split()}.isdisjoint(frame.noun.key.split()):
        raise GenerationError("a kind of the thing would name the thing again")
    template = _TEMPLATES["choice"]
    return step.sampler.phrase(template, value=value, label=argument.label)


def _that_is(state: str, *, many: bool) -> str:
    """A clause that says in which state a thing is: that is open, that has failed."""
    if state.lower() in _WORDS["intransitive"]:
        return f"that {'have' if many else 'has'} {state}"
    return f"that {'are' if many else 'is'} {state}"


def _thing_phrase(frame: ToolFrame, argument: Argument, text: str) -> str:
    noun = argument.noun
    if noun is None:
        return f"for {text}"
    name = argument.names[0].lower()
    if argument.relation:
        return f"{argument.relation} {text}"
    if noun.key == frame.noun.key and frame.kind == "create":
        return f"as number {text}" if text[-1:].isdigit() else f"along the lines of {text}"
    if name.startswith(("destination", "target")):
        return f"to {text}"
    if name.startswith("from"):
        return f"from {text}"
    if _RECEIVER.match(name) and not name.startswith(tuple(_WORDS["no_receivers"])):
        return f"to {text}"
    if noun.person:
        return _person_phrase(frame, argument, text)
    if noun.preposition == "of" and not frame.reads:
        return f"with {text}"
    return f"{noun.preposition} {text}"


def _person_phrase(frame: ToolFrame, argument: Argument, text: str) -> str:
    noun = argument.noun
    if noun is None or frame.verb in _WORDS["send_verbs"]:
        return f"to {text}"
    has_role = " " in noun.key or noun.key in ("organiser", "caller", "host", "approver")
    if has_role and not frame.reads and noun.words[0] not in text:
        return f"with {text} as {article(noun.words[0])}"
    return f"for {text}"
