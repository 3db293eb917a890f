"""Finding and counting by fields, against the truth of generated data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ontology.errors import InvalidArgumentError
from planners.personal import PersonalData, index_in_use, personal_tools, refresh_index
from tests.planners.personal.conftest import Home


def _ids(answer: Any, key: str) -> set[str]:
    return {each["id"] for each in answer[key]}


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("emails", "Email"),
        ("people", "Person"),
        ("files", "File"),
        ("folders", "Folder"),
        ("events", "Event"),
        ("webpages", "Webpage"),
        ("places", "Place"),
    ],
)
def test_without_condition_all_are_found_counted_and_paged(tools: Home, key: str, kind: str) -> None:
    find, count = getattr(personal_tools, f"find_{key}"), getattr(personal_tools, f"count_{key}")
    wanted = set(tools.truth.entities[kind])
    assert _ids(find(), key) == wanted
    assert count() == find()["total"] == find(limit=0)["total"] == len(wanted)
    size, offset, pages = max(1, len(wanted) // 3), 0, []
    while offset is not None:
        page = find(limit=size, offset=offset)
        pages += [each["id"] for each in page[key]]
        offset = page["next_offset"]
    assert sorted(pages) == sorted(wanted)
    with pytest.raises(InvalidArgumentError, match="limit"):
        find(limit=10**9)
    with pytest.raises(InvalidArgumentError, match="offset"):
        find(offset=-1)


@pytest.mark.parametrize("part", ["über", "CAFÉ naïve", "garden", "hidden", "no such words"])
def test_emails_by_their_text(tools: Home, part: str) -> None:
    emails = tools.truth.entities["Email"].items()
    wanted = {id_ for id_, mail in emails if part.casefold() in " ".join(mail["content"].casefold().split())}
    assert _ids(personal_tools.find_emails(content_contains=part), "emails") == wanted
    assert personal_tools.count_emails(content_contains=part) == len(wanted)


def test_emails_by_their_subject(tools: Home) -> None:
    emails = tools.truth.entities["Email"].items()
    for part in ("GARDEN", "re: ", "über"):
        wanted = {id_ for id_, mail in emails if part.casefold() in mail["subject"].casefold()}
        assert _ids(personal_tools.find_emails(subject_contains=part.strip()), "emails") >= wanted
    assert personal_tools.find_emails(subject_contains="' OR 1=1 --")["total"] == 0


def test_people_by_name_and_by_each_address(tools: Home) -> None:
    for id_, person in tools.truth.entities["Person"].items():
        assert id_ in _ids(personal_tools.find_people(name=f" {person['name'].upper()} "), "people")
        for address in person["email_addresses"]:
            assert _ids(personal_tools.find_people(email_address=address.title()), "people") == {id_}
    assert personal_tools.find_people(name="Alex Rivers")["people"] == [], "the user is none of the people"


def test_files_by_name_and_extension(tools: Home) -> None:
    files = tools.truth.entities["File"].items()
    wanted = {id_ for id_, file in files if file["extension"] == "pdf"}
    assert wanted
    assert _ids(personal_tools.find_files(extension="PDF"), "files") == wanted
    assert _ids(personal_tools.find_files(extension=".pdf"), "files") == wanted
    for id_, file in files:
        assert id_ in _ids(personal_tools.find_files(name=file["name"]), "files")


def test_events_by_the_whole_name_or_a_part(tools: Home) -> None:
    events = tools.truth.entities["Event"].items()
    name = next(event["name"] for _, event in events if " " in event["name"])
    whole = {id_ for id_, event in events if event["name"] == name}
    part = {id_ for id_, event in events if name.split()[0].casefold() in event["name"].casefold()}
    assert _ids(personal_tools.find_events(name=name.upper()), "events") == whole
    assert _ids(personal_tools.find_events(name_contains=name.split()[0].upper()), "events") == part


def test_places_and_folders_by_name_and_webpages_by_url(tools: Home) -> None:
    assert _ids(personal_tools.find_places(name="piedmont park"), "places") == {
        "piedmont park, 400 park dr ne, atlanta"
    }
    assert _ids(personal_tools.find_folders(name="2025"), "folders") == {"files/Documents/Taxes/2025"}
    for url in tools.truth.entities["Webpage"]:
        assert _ids(personal_tools.find_webpages(url=url), "webpages") == {url}
        short = url.partition("://")[2].removeprefix("www.")
        assert _ids(personal_tools.find_webpages(url=f"{short}/"), "webpages") == {url}


def test_cards_that_share_an_address_are_of_one_person(tmp_path: Path) -> None:
    card = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:{}\r\n{}END:VCARD\r\n"
    cards = [("Ann Other", "ab"), ("A. Other", "bc"), ("Ann O.", "cd"), ("Ben", "e"), ("Cem", "")]
    (tmp_path / "cards").mkdir()
    written = (card.format(name, "".join(f"EMAIL:{at}@x.example\r\n" for at in addresses)) for name, addresses in cards)
    (tmp_path / "cards" / "all.vcf").write_text("".join(written))
    refresh_index(PersonalData.below(tmp_path), tmp_path / "index.sqlite")
    with index_in_use(tmp_path / "index.sqlite"):
        people = {each["name"]: each["email_addresses"] for each in personal_tools.find_people()["people"]}
    assert people == {"Ann Other": [f"{at}@x.example" for at in "abcd"], "Ben": ["e@x.example"], "Cem": []}
