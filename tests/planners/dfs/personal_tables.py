"""Tables like those of a person's mail, calendar and files, and the eight requests of the paper as graphs."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Any

from planners.dfs import Domain, QueryGraph
from planners.query.domain import read_domain
from tests.planners.dfs.memory_resolver import MemoryResolver, day

DOMAIN: Domain = read_domain("personal")
VARS = {
    "e": "Email", "e1": "Email", "e2": "Email", "p": "Person", "p1": "Person", "p2": "Person", "self": "Self",
    "f": "File", "dir": "Folder", "ev": "Event", "d": "Date", "pl": "Place", "w": "Webpage",
}  # fmt: skip
_WORDS = """
Find the last email received on January 10, 2025.
e one: e to self; e sent_on d; d.value = 2025-01-10..2025-01-11; e.ordinal = last
Find all the email attachments of type .txt.
f all: e has_attachment f; f.extension = txt
Find out who had email conversations with the person who sent out the file report-7.pdf.
p1 all: e2 participants p1; e2 participants p2; e1 from p2; e1 has_attachment f; f.name = report-7.pdf
Find out who attended the event in which Person 3 was present.
p1 all: p1 attended ev; p2 attended ev; p2.name = Person 3
Find all the events that were attended by anyone who has sent you a file.
ev all: p attended ev; e from p; e to self; e has_attachment f
Find the file folders that contain email attachments from Person 5.
dir all: f parent dir; e has_attachment f; e from p; p.name = Person 5
Find the webpage mentioned in the email from the person you met at an event in February.
w all: e mentions_url w; e from p; p attended ev; self attended ev; ev occurred_on d; d.value = 2025-02-01..2025-03-01
What is the name of the person that I met last week at Piedmont Park?
p all: p attended ev; self attended ev; ev occurred_on d; d.value = 2025-03-03..2025-03-10; ev location pl; pl.name = Place 1
"""
_LINES = _WORDS.strip().splitlines()
REQUESTS: dict[str, tuple[str, str, str]] = {
    words: (*graph.partition(": ")[0].split(), graph.partition(": ")[2])  # type: ignore[misc]
    for words, graph in zip(_LINES[::2], _LINES[1::2], strict=True)
}


def graph_of(returned: str, mode: str, constraints: str, *, action: str = "find") -> QueryGraph:
    """The graph of ``e to self; p.name = Jane Doe``: variables named as the paper names them."""
    found: list[dict[str, Any]] = []
    for text in constraints.split("; "):
        first, second, third = text.split(" ", 2)
        if "." in first:
            var, name = first.split(".")
            found.append({"kind": "filter", "var": var, "field": name, "op": second, "value": third})
        else:
            found.append({"kind": "edge", "from": first, "edge": second, "to": third})
    named = dict.fromkeys(each[key] for each in found for key in ("from", "to", "var") if key in each)
    return QueryGraph.model_validate(
        {
            "action": action,
            "return_var": returned,
            "return_mode": mode,
            "vars": {var: VARS[var] for var in named},
            "constraints": found,
        }
    )


def personal_tables(emails: int, *, seed: int = 0) -> MemoryResolver:
    """Random mail of two years, in the proportions of the paper's log: one mail in twenty has an attachment, nearly all are to the user."""
    random = Random(seed)
    people = [f"p{at}" for at in range(max(20, emails // 25))]
    files = [f"f{at}" for at in range(max(20, emails // 20))]
    events = [f"ev{at}" for at in range(max(20, emails // 25))]
    folders, places, pages = ([f"{stem}{at}" for at in range(30)] for stem in ("dir", "pl", "w"))
    days = [(date(2024, 1, 1) + timedelta(at)).isoformat() for at in range(730)]
    tables: dict[str, dict[str, dict[str, Any]]] = {
        "Email": {f"e{at}": {"sent_at": at, "subject": f"about {at % 97}", "content": "text"} for at in range(emails)},
        "Person": {each: {"name": f"Person {each[1:]}", "email_address": f"{each}@example.com"} for each in people},
        "File": {
            each: {"name": f"report-{each[1:]}.{kind}", "extension": kind}
            for each in files
            for kind in [random.choices(["pdf", "docx", "txt"], [60, 38, 2])[0]]
        },
        "Folder": {each: {"name": each} for each in folders},
        "Event": {each: {"start": at, "name": f"meeting {at}"} for at, each in enumerate(events)},
        "Place": {each: {"name": f"Place {each[2:]}"} for each in places},
        "Webpage": {each: {"url": f"https://{each}.example.com"} for each in pages},
    }
    tables["File"]["f7"] = {"name": "report-7.pdf", "extension": "pdf"}
    pairs: dict[tuple[str, str, str], set[tuple[str, str]]] = {signature: set() for signature in DOMAIN.signatures()}

    def join(source: str, name: str, target: str, one: str, two: str) -> None:
        pairs[source, name, target].add((one, two))

    for at in range(emails):
        mail, sender = f"e{at}", people[int(len(people) * random.random() ** 2)]
        join("Email", "from", "Person", mail, sender)
        join("Email", "participants", "Person", mail, sender)
        join("Email", "participants", "Self", mail, "self")
        if random.random() < 0.95:
            join("Email", "to", "Self", mail, "self")
        for other in random.sample(people, random.choice([0, 0, 1, 2])):
            join("Email", "to", "Person", mail, other)
            join("Email", "participants", "Person", mail, other)
        if random.random() < 0.05:
            join("Email", "has_attachment", "File", mail, random.choice(files))
        if random.random() < 0.5:
            join("Email", "mentions_url", "Webpage", mail, random.choice(pages))
        join("Email", "sent_on", "Date", mail, day(days[at * len(days) // emails]))
    join("Email", "has_attachment", "File", f"e{emails // 2}", "f7")
    for each in files:
        join("File", "parent", "Folder", each, random.choice(folders))
    for at, each in enumerate(events):
        when = days[at * len(days) // len(events)]
        lately = "2025-03-03" <= when < "2025-03-10"
        if lately or random.random() < 0.8:
            join("Self", "attended", "Event", "self", each)
        for other in random.sample(people, 2 if lately else random.choice([0, 1, 1, 2, 4])):
            join("Person", "attended", "Event", other, each)
        join("Event", "occurred_on", "Date", each, day(when))
        join("Event", "location", "Place", each, "pl1" if lately else random.choice(places[:4]))
    return MemoryResolver(DOMAIN, tables, pairs)
