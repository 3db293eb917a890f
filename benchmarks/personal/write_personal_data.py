"""Write a person's data to disk: Maildirs and an mbox, calendars, cards, a tree of files; and the truth about them."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

from benchmarks.personal.acquaintances import make_acquaintances, write_cards
from benchmarks.personal.correspondence import make_letters, tell_letter
from benchmarks.personal.diary import write_calendars
from benchmarks.personal.documents import make_documents
from benchmarks.personal.mime_writer import mime_message
from benchmarks.personal.truth_tables import TruthTables

TODAY = date(2026, 6, 15)
"""The day on which requests about the data are made."""
ZONE = "America/New_York"
"""The user's time zone."""
TRUTH = "truth.json"
"""The file of the truth, beside the folders."""


def write_personal_data(home: Path, *, messages: int, seed: int = 0, today: date = TODAY) -> TruthTables:
    """Write the folders ``mail``, ``calendars``, ``cards`` and ``files``, and the truth, into a new folder.

    The same arguments give the same bytes. Half of the mails are in a Maildir, the others in an mbox; every tenth is in both.

    :param messages: different mails, 50 to 25,000.
    :param today: mails and events lie before it, but for recurring events.
    :raises FileExistsError: when the folder holds such data already.
    """
    random, zone, truth = Random(seed), ZoneInfo(ZONE), TruthTables()
    home.mkdir(parents=True, exist_ok=True)
    people = make_acquaintances(min(max(12, messages // 60), 400), random, truth)
    write_cards(home / "cards", people)
    documents = make_documents(home / "files", max(14, messages // 25), random, truth)
    write_calendars(home / "calendars", max(15, messages // 40), people, zone, today, random, truth)
    inbox = home / "mail" / "INBOX"
    for name in ("cur", "new", "tmp"):
        (inbox / name).mkdir(parents=True)
    with (home / "mail" / "archive.mbox").open("wb") as mbox:
        for number, letter in enumerate(make_letters(messages, people, documents, today, random)):
            tell_letter(letter, zone, truth)
            content = mime_message(letter)
            if number % 2 or number % 10 == 0:
                mbox.write(b"From somebody@example.com Mon Jan  1 00:00:00 2024\n")
                mbox.write(content.replace(b"\nFrom ", b"\n>From ") + b"\n")
            if number % 2 == 0:
                name = f"{number}.M0P1.host" if number % 20 == 4 else f"{number}.M0P1.host:2,S"
                inbox.joinpath("new" if number % 20 == 4 else "cur", name).write_bytes(content)
    truth.write(home / TRUTH)
    return truth
