"""The tools of each edge of the domain, in both directions, and how tests call them."""

from __future__ import annotations

from typing import Any

from benchmarks.personal import TruthTables
from planners.personal import personal_tools
from planners.query.domain import Domain, Lookup, read_domain

DOMAIN: Domain = read_domain("personal")
# By the domain's signature: the tools that a resolver has to find, forward and backward.
TOOLS = {
    ("Email", "from", "Person"): ("list_senders_of_emails", "list_emails_sent_by_people"),
    ("Email", "from", "Self"): ("find_which_emails_i_sent", "list_emails_sent_by_me"),
    ("Email", "to", "Person"): ("list_recipients_of_emails", "list_emails_received_by_people"),
    ("Email", "to", "Self"): ("find_which_emails_i_received", "list_emails_received_by_me"),
    ("Email", "participants", "Person"): ("list_participants_of_emails", "list_emails_with_participants"),
    ("Email", "participants", "Self"): ("find_which_emails_involve_me", "list_emails_involving_me"),
    ("Email", "has_attachment", "File"): ("list_attachments_of_emails", "list_emails_with_attachments"),
    ("Email", "mentions_url", "Webpage"): ("list_links_in_emails", "list_emails_mentioning_webpages"),
    ("Email", "sent_on", "Date"): ("get_dates_of_emails", "list_emails_sent_on_dates"),
    ("Person", "attended", "Event"): ("list_events_attended_by_people", "list_attendees_of_events"),
    ("Self", "attended", "Event"): ("list_events_attended_by_me", "find_which_events_i_attended"),
    ("File", "parent", "Folder"): ("list_folders_of_files", "list_folder_contents"),
    ("Event", "occurred_on", "Date"): ("get_dates_of_events", "list_events_on_dates"),
    ("Event", "location", "Place"): ("list_places_of_events", "list_events_at_places"),
}
FINDERS = {
    "Email": "find_emails",
    "Person": "find_people",
    "File": "find_files",
    "Folder": "find_folders",
    "Event": "find_events",
    "Webpage": "find_webpages",
    "Place": "find_places",
}


def lookup_of(signature: tuple[str, str, str], *, forward: bool) -> Lookup:
    """The lookup of an edge in one direction."""
    edge = DOMAIN.edge(signature[1], signature[0], signature[2])
    assert edge is not None
    return (edge.forward if forward else edge.backward)[signature[2]]


def call_tool(name: str, lookup: Lookup, ids: list[str]) -> list[dict[str, Any]]:
    """Call the tool of a lookup with identifiers; returns what it gives."""
    answer = getattr(personal_tools, name)(**{lookup.takes: ids})
    found: list[dict[str, Any]] = answer[lookup.gives.removesuffix("[].id")]
    return found


def all_of(truth: TruthTables, kind: str) -> set[str]:
    """The identifiers of all entities of a type; of dates, of those that something is linked to."""
    if kind == "Date":
        return {id_ for (_, _, target), pairs in truth.edges.items() if target == "Date" for _, id_ in pairs}
    return set(truth.entities.get(kind, ()))
