"""The mails of generated data: what each says, to whom, with which files and links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from random import Random
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

from benchmarks.personal.acquaintances import ME, Acquaintance, tell_person
from benchmarks.personal.documents import Document, attach
from benchmarks.personal.truth_tables import TruthTables

READERS = Acquaintance("readers", ("readers@lists.example",), card=False)
"""A mailing list: a person like others, as far as an address tells."""
Form: TypeAlias = Literal["plain", "latin1", "alternative", "html", "forward"]
_PLANTED = 6
_FORMS: tuple[Form, ...] = ("plain", "plain", "latin1", "alternative", "alternative", "html", "forward")
_ZONES = ("America/New_York", "Europe/Berlin", "Asia/Tokyo", "UTC")
_WORDS = (
    "agenda anchor autumn basket bridge candle canvas carbon cedar circle coffee copper cotton dinner draft engine fabric forest "
    "garden hammer harvest island jacket kettle ladder lantern letter marble market meadow mirror museum needle orange paper pencil "
    "pepper pillow planet pocket quarry ribbon river saddle salmon shadow signal silver spring station summer table thunder ticket "
    "timber tunnel velvet village violet walnut window winter über café naïve"
).split()
_SITES = (
    "https://www.example.com/news",
    "https://shop.example/item",
    "http://docs.example.org/guide",
    "https://maps.example/at",
)


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail.

    :param form: how it is written: plain text, both forms, HTML alone, or a short text with another mail in it.
    :param text: what it says; of a forwarded mail, what that says is in ``inner``.
    :param links: URLs, which are in the text too.
    :param listed: whether it came by a mailing list, so that only its delivery names the user.
    """

    id: str
    form: Form
    sender: Acquaintance
    to: tuple[Acquaintance, ...]
    cc: tuple[Acquaintance, ...]
    sent: datetime
    subject: str
    text: str
    links: tuple[str, ...] = ()
    documents: tuple[Document, ...] = ()
    reply_to: str = ""
    inner: str = ""
    listed: bool = False
    addresses: tuple[int, ...] = field(default=())


def make_letters(
    count: int, people: Sequence[Acquaintance], documents: Sequence[Document], today: date, random: Random
) -> Iterator[Letter]:
    """Yield mails between the user and others within the two years before a day, in no order of time."""
    threads: list[Letter] = []
    for number in range(count):
        answered = random.choice(threads) if threads and random.random() < 0.25 else None
        other = answered.sender if answered and answered.sender is not ME else _correspondent(people, random)
        mine = random.random() < 0.25 if answered is None else answered.sender is not ME
        sender = ME if mine else other
        extra = random.sample(list(people), random.choice((0, 0, 1, 2)))
        first, *rest = [each for each in [other if mine else ME, *extra] if each is not sender] or [other]
        listed = not mine and answered is None and random.random() < 0.05
        sent = datetime.combine(today, datetime.min.time(), ZoneInfo(random.choice(_ZONES)))
        sent -= timedelta(minutes=random.randint(1, 730 * 24 * 60))
        subject = f"{random.choice(_WORDS)} {random.choice(_WORDS)} {number}"
        letter = Letter(
            id=f"mail-{number}@post.example",
            form=random.choice(_FORMS),
            sender=sender,
            to=() if listed else (first,),
            cc=() if listed else tuple(rest),
            sent=sent.replace(microsecond=0),
            subject=f"Re: {answered.subject.removeprefix('Re: ')}" if answered else subject,
            text=_text(random),
            links=tuple(f"{random.choice(_SITES)}/{random.randrange(max(8, count // 8))}" for _ in range(_few(random))),
            documents=tuple({each.name: each for each in random.choices(documents, k=_few(random))}.values()),
            reply_to=answered.id if answered else "",
            inner=_text(random),
            listed=listed,
            addresses=tuple(random.randrange(2) for _ in range(6)),
        )
        letter = _planted(letter, number, people, documents, today)
        threads = [*threads[-30:], letter]
        yield letter


def _planted(
    letter: Letter, number: int, people: Sequence[Acquaintance], documents: Sequence[Document], today: date
) -> Letter:
    """Make sure that a few requests have an answer: mails to the user on 10 January of the year before, Jane Doe's files and links,
    a mail of a list."""
    if number >= _PLANTED:
        return letter
    subject = letter.subject.removeprefix("Re: ")
    letter = replace(letter, to=(ME,), cc=(), listed=False, reply_to="", subject=subject)
    if number < 3:
        sent = datetime(today.year - 1, 1, 10, 9 + 3 * number, tzinfo=ZoneInfo("America/New_York"))
        return replace(letter, sender=people[number], sent=sent)
    if number == 3:
        return replace(letter, sender=people[0], documents=tuple(documents[:4]))
    if number == 4:
        return replace(letter, sender=people[0], links=(f"{_SITES[0]}/jane",))
    return replace(letter, sender=people[3], to=(), listed=True)


def _correspondent(people: Sequence[Acquaintance], random: Random) -> Acquaintance:
    """Someone; few write much, many write little."""
    return people[min(int(random.expovariate(4 / len(people))), len(people) - 1)]


def _few(random: Random) -> int:
    return random.choice((0, 0, 0, 1, 2))


def _text(random: Random) -> str:
    lines = (" ".join(random.choices(_WORDS, k=random.randint(4, 12))) for _ in range(random.randint(2, 12)))
    return "\n".join(f"{line.capitalize()}." for line in lines)


def tell_letter(letter: Letter, zone: ZoneInfo, truth: TruthTables) -> None:
    """Add a mail and its edges to the truth."""
    text = f"{letter.text}\n{letter.inner}" if letter.form == "forward" else letter.text
    email = (
        "Email",
        truth.add("Email", letter.id, subject=letter.subject, content=text, sent_at=letter.sent.isoformat()),
    )
    day = letter.sent.astimezone(zone).date()
    truth.link(email, "sent_on", ("Date", f"{day}/{day + timedelta(days=1)}"))
    received = [*letter.to, *letter.cc, *([READERS, ME] if letter.listed else [])]
    for edge, people in (("from", [letter.sender]), ("to", received), ("participants", [letter.sender, *received])):
        for person in people:
            truth.link(email, edge, tell_person(person, truth))
    for link in letter.links:
        truth.add("Webpage", link, url=link)
        truth.link(email, "mentions_url", ("Webpage", link))
    for document in letter.documents:
        attach(document, letter.id, truth)
