"""Why two names that look alike must stay apart: numbers, opposites, kinds of a thing, derived words."""

from __future__ import annotations

import re
from functools import cache

__all__ = ["american", "british_or_american", "edit_distance", "same_spelling", "veto"]

# Words of one group exclude each other: names that differ by two of a group are two things.
_OPPOSITES = """
create delete remove update read get list search
add remove subtract
insert delete
activate deactivate suspend
enable disable
open close
start stop end finish
begin end
first last second third fourth fifth
previous next current
old new
before after
from to
source target destination origin
sender receiver recipient
inbound outbound
incoming outgoing
input output
import export
upload download
push pull
send receive
read write
request response
question answer
ask bid
buy sell
purchase sales sale
buyer seller
payer payee
debtor creditor
lender borrower
debit credit
payable receivable
income expense
revenue cost
profit loss
asset liability
gross net
planned actual
estimated actual
min max minimum maximum average mean median sum total
low high medium
lower upper
small large
short long
left right
top bottom
up down
north south east west
horizontal vertical
width height depth length weight
latitude longitude
header item line footer
order requisition quote quotation contract invoice receipt
supplier customer
vendor customer
employer employee
employee manager
manager assistant
parent child
master slave
primary secondary
internal external
public private
local remote global
domestic foreign international national
active inactive
valid invalid
success failure
accept reject
approve reject
lock unlock
attach detach
connect disconnect
subscribe unsubscribe
follow unfollow
like dislike
encrypt decrypt
encode decode
uppercase lowercase
compress decompress
mount unmount
assign unassign
register unregister deregister
login logout
in out
arrival departure
pickup delivery
shipment delivery return
departure return
adult child infant
male female
day week month quarter year hour minute second
daily weekly monthly quarterly yearly annual hourly
monday tuesday wednesday thursday friday saturday sunday
january february march april may june july august september october november december
morning afternoon evening night
user group role team
tag label category
name id identifier code key number
title name
email phone fax
billing shipping
street city state country
row column
increase decrease
positive negative
true false
with without
include exclude
allow deny
grant revoke
draft final
home away
win lose
win loss
red green blue yellow black white
"""
_NEGATING = ("un", "in", "im", "non", "dis", "de", "anti", "mis", "re", "pre", "post", "sub", "super", "over", "under")
# Endings that make another thing of a word: an actor, a deed, a quality.
_DERIVING = (
    *("er", "or", "r", "ee", "ment", "ion", "ation", "less", "able", "ible", "ful", "ist", "ism", "ship"),
    *("ity", "al", "ic", "ing", "ed", "d", "y", "ly", "ness", "ian", "ant", "ent"),
)
_DIGITS = re.compile(r"\d+")
_SPELLINGS = (
    (re.compile(r"isation"), "ization"),
    (re.compile(r"is(?=(e|ed|er|ing|able)$)"), "iz"),
    (re.compile(r"ys(?=(e|ed|er|ing)$)"), "yz"),
    (re.compile(r"our(?=$|ed$|ing$|ite$|able$)"), "or"),
    (re.compile(r"([aeiouy][^aeiouy]{1,3}[aeiou])ll(?=(ed|ing|er|ation)$)"), r"\1l"),
    (re.compile(r"(?<=[bcdfgpt])re$"), "er"),
    (re.compile(r"ogue$"), "og"),
    (re.compile(r"(?<=..)ence$"), "ense"),
    (re.compile(r"amme$"), "am"),
    (re.compile(r"cheque"), "check"),
    (re.compile(r"(?<=[fr][io])l(?!l)(?=$|ment|s$)"), "ll"),
    (re.compile(r"adviser"), "advisor"),
)
_MIN_RESPELLED = 5
_MIN_SWAPPED = 6


def _groups() -> dict[str, frozenset[int]]:
    groups: dict[str, set[int]] = {}
    for number, line in enumerate(filter(None, _OPPOSITES.splitlines())):
        for word in line.split():
            groups.setdefault(word, set()).add(number)
    return {word: frozenset(numbers) for word, numbers in groups.items()}


_GROUPS = _groups()


def veto(one: str, other: str) -> str:
    """Why two canonical names must not become one node, one clause; empty when nothing speaks against it."""
    if _DIGITS.findall(one) != _DIGITS.findall(other):
        return "different numbers"
    if one.replace(" ", "") == other.replace(" ", ""):
        return ""
    left, right = one.split(), other.split()
    if len(left) != len(right):
        return "one is a kind or a part of the other"
    pairs = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
    for a, b in pairs:
        if _GROUPS.get(a, frozenset()) & _GROUPS.get(b, frozenset()):
            return f"{a!r} and {b!r} are opposites"
        if reason := _derived(a, b):
            return reason
    if left[-1] != right[-1] and not same_spelling(left[-1], right[-1]):
        return f"different heads, {left[-1]!r} and {right[-1]!r}"
    return ""


def _derived(a: str, b: str) -> str:
    short, long = sorted((a, b), key=lambda word: (len(word), word))
    if british_or_american(short, long):
        return ""
    if any(long == prefix + short for prefix in _NEGATING):
        return f"{long!r} is not {short!r}"
    stem = short.removesuffix("e")
    if long.startswith(stem) and long[len(stem) :] in _DERIVING:
        return f"{long!r} is another word made from {short!r}"
    if _stemmed(short) & _stemmed(long):
        return f"{short!r} and {long!r} are two words made from one"
    return ""


def _stemmed(word: str) -> set[str]:
    return {word[: -len(ending)] for ending in _DERIVING if word.endswith(ending) and len(word) - len(ending) >= 4}


def same_spelling(a: str, b: str) -> bool:
    """Whether two words differ as spellings of one word do: by region, or by few letters for their length.

    A letter too many, too few, or two that changed places is a slip. A letter that stands where another stood makes
    another word of technical names (``bitlshift``, ``bitrshift``).
    """
    if british_or_american(a, b):
        return True
    if len(a) == len(b) and not _swapped(a, b):
        return False
    return edit_distance(a, b, 2) <= max(_allowed(a, b), 2 * _swapped(a, b))


def _swapped(a: str, b: str) -> bool:
    """Whether two neighbouring letters of a longer word changed places."""
    if len(a) != len(b) or len(a) < _MIN_SWAPPED:
        return False
    at = [place for place, (one, other) in enumerate(zip(a, b, strict=True)) if one != other]
    return len(at) == 2 and at[1] == at[0] + 1 and a[at[0]] == b[at[1]] and a[at[1]] == b[at[0]]


def _allowed(a: str, b: str) -> int:
    shortest = min(len(a), len(b))
    return 2 if shortest >= 10 else 1 if shortest >= 6 else 0


def british_or_american(a: str, b: str) -> bool:
    """Whether two words are one in British and American spelling: ``organisation``, ``organization``."""
    return min(len(a), len(b)) >= _MIN_RESPELLED and (a == b or american(a) == american(b))


@cache
def american(word: str) -> str:
    """A key that the regional spellings of a word share."""
    if len(word) < _MIN_RESPELLED:
        return word
    for pattern, replacement in _SPELLINGS:
        word = pattern.sub(replacement, word)
    return word


def edit_distance(a: str, b: str, limit: int) -> int:
    """Letters to insert, drop or change to make ``b`` of ``a``; anything above ``limit`` is told as ``limit + 1``."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    previous = list(range(len(b) + 1))
    for row, letter in enumerate(a, 1):
        current = [row]
        for column, other in enumerate(b, 1):
            changed = previous[column - 1] + (letter != other)
            current.append(min(changed, previous[column] + 1, current[-1] + 1))
        if min(current) > limit:
            return limit + 1
        previous = current
    return min(previous[-1], limit + 1)
