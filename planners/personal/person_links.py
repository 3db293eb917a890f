"""Who is who: cards that share an address are of one person, an address on no card is a person of its own, one is the user."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import networkx as nx

from planners.personal.mail_text import folded

__all__ = ["SELF", "link_persons"]

SELF = "self"
"""The identifier of the user, who is not among the persons."""


@dataclass(frozen=True, slots=True)
class _Person:
    id: str
    name: str
    addresses: list[str]
    own: bool = False


def link_persons(db: sqlite3.Connection) -> None:
    """Make the tables of persons anew."""
    for table in ("person", "person_address", "me"):
        db.execute(f"DELETE FROM {table}")
    carded = list(_carded(db))
    taken = {address for person in carded for address in person.addresses}
    written = _written_names(db)
    others = [_Person(at, _most_written(at, names), [at]) for at, names in written.items() if at not in taken]
    mine = [person for person in carded if person.own]
    addresses = [address for person in mine for address in person.addresses]
    db.execute("INSERT INTO me VALUES (?, ?, ?)", (SELF, mine[0].name if mine else "", json.dumps(addresses)))
    db.executemany("INSERT INTO person_address VALUES (?, ?)", [(address, SELF) for address in addresses])
    for person in [*carded, *others]:
        if not person.own:
            row = (person.id, person.name, folded(person.name), json.dumps(person.addresses))
            db.execute("INSERT OR IGNORE INTO person VALUES (?, ?, ?, ?)", row)
            db.executemany("INSERT INTO person_address VALUES (?, ?)", [(each, person.id) for each in person.addresses])


def _carded(db: sqlite3.Connection) -> Iterator[_Person]:
    """Yield the persons of the cards, in the order of these."""
    cards = db.execute("SELECT c.* FROM card c JOIN source s ON s.row = c.source ORDER BY s.key, c.row").fetchall()
    graph: nx.Graph[int | str] = nx.Graph()
    for at, card in enumerate(cards):
        graph.add_node(at)
        graph.add_edges_from((at, address) for address in json.loads(card["addresses"]))
    for members in nx.connected_components(graph):
        group = [cards[at] for at in sorted(each for each in members if isinstance(each, int))]
        addresses = list(dict.fromkeys(address for card in group for address in json.loads(card["addresses"])))
        name = next((card["name"] for card in group if card["name"]), addresses[0] if addresses else "")
        id_ = addresses[0] if addresses else f"card:{group[0]['uid'] or name}"
        yield _Person(id_, name, addresses, any(card["own"] for card in group))


def _most_written(address: str, written: Mapping[str, int]) -> str:
    names = sorted((name for name in written if name), key=lambda name: (-written[name], name))
    return names[0] if names else address.partition("@")[0]


def _written_names(db: sqlite3.Connection) -> dict[str, Counter[str]]:
    """Address → the names written beside it in mails and events, and how often."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for address, name, times in db.execute(
        "SELECT a.address, a.name, count(*) FROM email_address a JOIN email e ON e.row = a.email "
        "WHERE e.shown AND a.role != 'delivered' GROUP BY 1, 2 UNION ALL "
        "SELECT a.address, a.name, count(*) FROM event_attendee a JOIN event v ON v.row = a.event WHERE v.shown GROUP BY 1, 2"
    ):
        found[address][name] += times
    return found
