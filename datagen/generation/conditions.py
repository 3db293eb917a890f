"""Conditions on the result of a step: more than, before, still open, there are any."""

from __future__ import annotations

from datagen.generation.clause import Clause, clause_of
from datagen.generation.condition_outputs import ConditionOutput
from datagen.generation.data_files import templates
from datagen.generation.grammar import article
from datagen.generation.phrases import References
from datagen.generation.realisation import indefinite
from datagen.generation.sampler import Sampler
from datagen.generation.tool_frame import ToolFrame
from datagen.generation.value_sampler import draw

__all__ = ["condition_of"]

_TEMPLATES = templates("conditions")
_VALUE_KINDS = {"money": "money", "rate": "rating", "count": "few"}


def condition_of(frame: ToolFrame, references: References, sampler: Sampler, *, single: bool = False) -> str:
    """A condition on the result of a tool, as a clause without ``if``.

    :param single: of a list, that there is one thing; else that there are some.
    """
    clause = clause_of(frame, references, sampler, minimal=frame.kind == "get", short=True)
    if frame.many:
        return _one_exists(clause) if single else _some_exist(clause)
    word = clause.noun()
    if clause.identity:
        subject = f"{clause.identity}{clause.whose}"
    else:
        subject = f"my {word}" if frame.own and not clause.owner else f"the {word}{clause.whose}"
    tests = [test for output in frame.outputs for test in _tests(output, subject, sampler)]
    if tests:
        condition = sampler.pick(tests)
    elif clause.owner and not clause.identity and not frame.noun.uncountable:
        slots = {"a_thing": article(word), "whose": clause.whose, "owner": clause.owner}
        condition = sampler.phrase(_TEMPLATES["owned"], **slots)
    else:
        known = clause.identity or not clause.owner
        condition = sampler.phrase(_TEMPLATES["known" if known else "anything"], subject=subject)
    return f"{condition}{clause.tail}"


def _tests(output: ConditionOutput, subject: str, sampler: Sampler) -> list[str]:
    """Tests of one output of a thing."""
    label = output.label
    if output.kind == "state":
        state = sampler.pick(output.choices or _TEMPLATES["states"])
        return [f"{subject} is {state}", f"{subject} isn't {state} yet" if output.choices else f"{subject} is {state}"]
    if output.kind == "flag":
        return [f"{subject} is {label}", f"{subject} isn't {label}"]
    if output.kind == "date":
        date = sampler.dates.date()
        if label.split()[-1] in ("until", "to"):
            return [f"{subject} runs out before {date}", f"{subject} is good until at least {date}"]
        return [f"the {label} of {subject} is {sampler.pick(_TEMPLATES['date_comparisons'])} {date}"]
    value = draw(_VALUE_KINDS[output.kind], sampler.rng, sampler.lexicon)
    if output.kind == "rate" and "percent" in output.name.lower():
        value = draw("percent", sampler.rng, sampler.lexicon)
    return [f"the {label} of {subject} {sampler.pick(_TEMPLATES['comparisons'])} {value}"]


def _one_exists(clause: Clause) -> str:
    """There is one, which ``it`` can refer to."""
    noun, qualifier, word = clause.frame.noun, clause.qualifier(), clause.noun()
    tail = f"{clause.whose}{clause.tail}"
    if clause.name:
        things = clause.sampler.noun(noun, many=True)
        slots = {"a_thing": article(word), "things": things, "name": clause.name, "tail": tail}
        return clause.sampler.phrase(_TEMPLATES["named_person" if noun.person else "named_thing"], **slots)
    one = f"{indefinite(noun, word)}{qualifier}{tail}".replace(" that are ", " that is ")
    return clause.sampler.phrase(_TEMPLATES["one"], one=one)


def _some_exist(clause: Clause) -> str:
    qualifier = clause.qualifier()
    things = f"{clause.noun(many=True)}{qualifier}{clause.whose}{clause.tail}"
    if clause.frame.noun.mass:
        return clause.sampler.phrase(_TEMPLATES["some_mass"], things=things)
    number = clause.sampler.pick(_TEMPLATES["numbers"])
    return clause.sampler.phrase(_TEMPLATES["some"], number=number, things=things)
