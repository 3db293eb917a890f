"""Each edge of the domain, in both directions, against the truth of generated data."""

from __future__ import annotations

from typing import Any

import pytest

from datagen.personal import TruthTables
from ontology.errors import InvalidArgumentError
from planners.dfs.domain import Domain, Lookup, read_domain
from planners.personal import personal_tools
from tests.planners.personal.conftest import Home

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


def test_the_domain_has_fourteen_signatures_twelve_fields_and_nine_types() -> None:
    assert set(DOMAIN.signatures()) == set(TOOLS)
    assert sum(len(kind.fields) for kind in DOMAIN.types.values()) == 12
    assert len(DOMAIN.types) == 9
    assert {name for name, kind in DOMAIN.types.items() if kind.lookup} == set(FINDERS)


@pytest.mark.parametrize("signature", TOOLS, ids=" ".join)
@pytest.mark.parametrize("forward", [True, False], ids=["forward", "backward"])
def test_a_tool_gives_the_edges_of_the_truth(tools: Home, signature: tuple[str, str, str], forward: bool) -> None:
    pairs = tools.truth.pairs(*signature)
    source, _, target = signature
    asked = all_of(tools.truth, source if forward else target)
    found = call_tool(TOOLS[signature][0 if forward else 1], lookup_of(signature, forward=forward), sorted(asked))
    got = {(each["source_id"], each["id"]) if forward else (each["id"], each["source_id"]) for each in found}
    assert pairs
    assert got == pairs
    assert len(found) == len(got), "a pair comes once"


@pytest.mark.parametrize("signature", TOOLS, ids=" ".join)
@pytest.mark.parametrize("forward", [True, False], ids=["forward", "backward"])
def test_a_tool_answers_for_the_identifiers_that_it_was_asked_for_only(
    tools: Home, signature: tuple[str, str, str], forward: bool
) -> None:
    pairs = sorted(tools.truth.pairs(*signature))
    one = pairs[0][0 if forward else 1]
    name, lookup = TOOLS[signature][0 if forward else 1], lookup_of(signature, forward=forward)
    found = call_tool(name, lookup, [one])
    assert {each["source_id"] for each in found} == {one}
    unknown = "1999-01-01/1999-01-02" if lookup.takes == "date_ranges" else "nobody'); DROP TABLE email; --"
    assert call_tool(name, lookup, [unknown]) == []
    assert call_tool(name, lookup, []) == []


def test_the_tools_are_those_of_the_domain_and_counts() -> None:
    edges = {name for both in TOOLS.values() for name in both}
    counts = {name.replace("find_", "count_") for name in FINDERS.values()}
    assert len(edges) == 28
    assert set(personal_tools.__all__) == edges | counts | set(FINDERS.values())


def test_open_ends_and_what_is_no_range(tools: Home) -> None:
    emails = tools.truth.entities["Email"]
    assert len(personal_tools.list_emails_sent_on_dates(["../.."])["emails"]) == len(emails)
    with pytest.raises(InvalidArgumentError, match="no range of days"):
        personal_tools.list_emails_sent_on_dates(["last week"])


def test_an_event_of_several_days_is_found_on_each(tools: Home) -> None:
    days: dict[str, list[str]] = {}
    for event, day in sorted(tools.truth.pairs("Event", "occurred_on", "Date")):
        days.setdefault(event, []).append(day)
    event, on = max(days.items(), key=lambda item: len(item[1]))
    assert len(on) > 1
    for day in on:
        assert event in {each["id"] for each in personal_tools.list_events_on_dates([day])["events"]}


def test_a_folder_says_why_an_attachment_is_in_it(tools: Home) -> None:
    attachments = [id_ for id_, file in tools.truth.entities["File"].items() if file["kind"] == "attachment"]
    reasons = {each["reason"].split(" as ")[0] for each in personal_tools.list_folders_of_files(attachments)["folders"]}
    assert reasons == {"same content", "same name and size"}
    on_disk = [id_ for id_, file in tools.truth.entities["File"].items() if file["kind"] == "on disk"]
    assert {each["reason"] for each in personal_tools.list_folders_of_files(on_disk)["folders"]} == {"it lies there"}


def test_no_index_is_a_named_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("EGOTOOLS_PERSONAL_INDEX", raising=False)
    with pytest.raises(InvalidArgumentError, match="no index of personal data is named"):
        personal_tools.count_emails()
    monkeypatch.setenv("EGOTOOLS_PERSONAL_INDEX", str(tmp_path / "none.sqlite"))
    with pytest.raises(InvalidArgumentError, match="cannot be opened"):
        personal_tools.count_emails()
