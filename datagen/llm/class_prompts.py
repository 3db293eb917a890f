"""The six classes of requests as the model is told them, and who might write one."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from datagen.synthetic_request import CLASSES

__all__ = ["KINDS", "Kind", "Said", "persona"]


Said = tuple[int, str, str]
"""Number of the step, input, value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A class of requests in the model's words.

    :param meaning: what makes a request one of the class.
    :param wording: how such a request is put, for who writes one.
    :param steps: an example's steps, from a bicycle workshop, which no catalogue of ours is about.
    :param example: the request for them.
    :param values: what that request says.
    :param why: why it is of the class.
    """

    meaning: str
    wording: str
    steps: str
    example: str
    values: tuple[Said, ...]
    why: str


_REPAIR = """Step 1. Find repairs: Repairs by customer, day brought in or state.
  told by the person: customer (optional), brought_in (optional, date), state (optional)
Step 2. Schedule repair: Sets the day on which a repair is done.
  told by the person: new_day (date)
  repair_id comes from step 1 (repair id)"""

_KINDS = (
    Kind(
        meaning="one task, done in one step",
        wording="Ask for one thing only, in one sentence.",
        steps="""Step 1. Repair state: Whether a repair is done and can be fetched.
  told by the person: bike, customer""",
        example="is the green touring bike of Mrs Amari ready yet?",
        values=((1, "bike", "green touring bike"), (1, "customer", "Mrs Amari")),
        why="one thing is asked for",
    ),
    Kind(
        meaning="two or more tasks that have nothing to do with each other; any order would do",
        wording="Ask for each step as an errand of its own. No errand may need the result of another.",
        steps="""Step 1. Order parts: Orders parts from a supplier.
  told by the person: part, quantity (integer), supplier (optional)
Step 2. Change shift: Moves a mechanic to another day.
  told by the person: mechanic, day (date)""",
        example="Please order six brake cables from Kessler, and move Tomasz's shift to Saturday.",
        values=((1, "part", "brake cables"), (1, "quantity", "six"), (2, "mechanic", "Tomasz"), (2, "day", "Saturday")),
        why="parts and a shift, and neither needs the other",
    ),
    Kind(
        meaning="several steps, said one after the other, where a later one uses the result of an earlier one",
        wording="Say every step, in order, so that it is plain which comes after which and uses its result.",
        steps=_REPAIR,
        example="Look up which bike Mrs Amari left on Monday, then put its repair down for Friday morning.",
        values=((1, "customer", "Mrs Amari"), (1, "brought_in", "Monday"), (2, "new_day", "Friday morning")),
        why="it says to look something up and then what to do with it",
    ),
    Kind(
        meaning="one task is said, but it cannot be done without a step that is not said",
        wording=(
            "Say only what should come out in the end, as one single wish. Do not mention the steps before it. "
            'No "then", "first", "after", "if", "also"; no "and" between two tasks.'
        ),
        steps=_REPAIR,
        example="Put the bike that Mrs Amari brought in down for Friday morning.",
        values=((1, "customer", "Mrs Amari"), (2, "new_day", "Friday morning")),
        why="only the new day is asked for; that the repair must be found first is left unsaid",
    ),
    Kind(
        meaning="a task that is to be done only if something holds, which has to be looked up first",
        wording='Ask for the last step under a condition ("if", "unless", "only when") on what an earlier one finds.',
        steps=_REPAIR,
        example="If the repair for Mr Osei is still waiting for parts, move it to next Tuesday.",
        values=((1, "customer", "Mr Osei"), (1, "state", "waiting for parts"), (2, "new_day", "next Tuesday")),
        why="the move depends on whether the repair is waiting",
    ),
    Kind(
        meaning="a question about a rule or a word that anybody could look up, and beside it a task of one's own",
        wording="Put a general question on the subject (what something means, what the rule is) beside the tasks.",
        steps="""Step 1. Book service: Books a service at the workshop.
  told by the person: service, day (date), bike (optional)""",
        example="What does truing a wheel mean? And book me in for one on Saturday, it's the blue city bike.",
        values=((1, "day", "Saturday"), (1, "bike", "blue city bike")),
        why="it asks what a word means, and for a booking",
    ),
)
KINDS: Mapping[str, Kind] = dict(zip(CLASSES, _KINDS, strict=True))
"""Class → how it is told."""

_WHO = (
    "a buyer between two meetings",
    "a new colleague who is still careful",
    "a team lead who is short of time",
    "somebody in the warehouse, on a phone",
    "an accountant who is exact about figures",
    "a manager who thinks aloud",
    "somebody from the service desk with a customer waiting",
    "an assistant who writes for the boss",
    "a planner late on a Friday",
    "an engineer who dislikes small talk",
    "somebody who has asked before and is a little annoyed",
    "a friendly colleague who gives the reason too",
)
_HOW = (
    "one plain question",
    "an order without please",
    "polite, with a please",
    "all lower case, clipped",
    'starting with "can you" or "could you"',
    'starting with "I need" or "we need"',
    "with the reason in half a sentence",
    "starting with the thing it is about",
    "starting with the name or date it is about",
)
_NAMED = (
    ("Ottilie Brandt", "Lyon"),
    ("Marek Dvorak", "Leeds"),
    ("Ines Carvalho", "Gdansk"),
    ("Rashid Haddad", "Utrecht"),
    ("Signe Lund", "Turin"),
    ("Kofi Boateng", "Graz"),
    ("Mei Tanaka", "Porto"),
    ("Paula Nowak", "Basel"),
    ("Declan Roche", "Ghent"),
    ("Amira Saleh", "Malmo"),
)
_WHEN = ("today", "last week", "3 March", "next Tuesday", "Q2", "the 14th", "in May", "tomorrow 9:30", "end of June")


def persona(seed: int, subject: str) -> str:
    """Who writes and how, the same for the same seed and subject."""
    chance = random.Random(f"{seed}\n{subject}")
    name, city = chance.choice(_NAMED)
    return (
        f"Written by {chance.choice(_WHO)}; {chance.choice(_HOW)}. If it needs a person, a town, a time or a number, take ones "
        f"like {name}, {city}, {chance.choice(_WHEN)}, {chance.randrange(20, 99_999)}. Variation {seed}."
    )
