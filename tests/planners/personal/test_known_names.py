"""Names of the data are found without case and accents before a request is read; what is no name of it is read as ever."""

from datetime import date
from pathlib import Path

import pytest

from planners.personal import PersonalData, index_in_use, known_names, refresh_index
from planners.query import load_parser
from planners.query.domain import read_domain
from planners.query.query_graph import words_of

TODAY = date(2026, 6, 15)
PEOPLE = ["Zoë Müller", "Sinéad O'Neill", "Doe\\, Jane", "Rosa", "April", "Salsa Night", "people"]
EVENTS = [
    "Dentist",
    "Night of the long tables",
    "Salsa night",
    "Lunch; late",
    "2026",
    "Budget",
    "Bob",
    "Planning March",
    "from Rosa Luna",
]
FILES = ["Documents/annual report.pdf", "2026/b.txt", "Travel/c.txt", "Anna/d.txt", "Berlin/e.txt"]
READ = {
    "Find emails from zoe müller": ["e from p", "p.name = Zoë Müller"],
    "Find emails from Zoe Miller": ["e from p", "p.name = Zoe Miller"],
    "Find emails from Sinead O’Neill to Rosa": ["e from p1", "e to p2", "p1.name = Sinéad O'Neill", "p2.name = Rosa"],
    "Which events did Doe, Jane attend?": ["p attended ev", "p.name = Doe, Jane"],
    "Who attended the night of the long tables?": ["p attended ev", "ev.name = Night of the long tables"],
    'Who attended "lunch; late"?': ["p attended ev", "ev.name = Lunch; late"],
    "Find emails from salsa night": ["e from p", "p.name = Salsa night"],
    "Who attended salsa night?": ["p attended ev", "ev.name = Salsa night"],
    "find all files in the folder Documents": ["f parent dir", "dir.name = Documents"],
    "find all documents in the travel folder": ["f parent dir", "dir.name = Travel"],
    "Find emails from Rosa Luna": ["e from p", "p.name = Rosa Luna"],
    "Find emails from Anna": ["e from p", "p.name = Anna"],
    "Find events with Bob": ["p attended ev", "p.name = Bob"],
    "Find events in Berlin": ["ev location pl", "pl.name = Berlin"],
    "Find events named Planning in March 2025": ["ev occurred_on d", "ev.name = Planning", "d.value = in March 2025"],
    "Find emails with the annual report.pdf": ["e has_attachment f", "f.name = annual report.pdf"],
    "Which files are in the folder 2026?": ["f parent dir", "dir.name = 2026"],
    "Find emails from April": ["e sent_on d", "d.value = from April"],
    "Who attended the Budget Workshop?": ["p attended ev", "ev.name = Budget Workshop"],
    "Find people who attended my dentist appointments": ["p attended ev", "self attended ev", "ev.name = Dentist"],
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    cards = "".join(f"BEGIN:VCARD\nVERSION:4.0\nFN:{each}\nUID:{each}\nEND:VCARD\n" for each in PEOPLE)
    day = "DTSTART;VALUE=DATE:20260601"
    events = "".join(f"BEGIN:VEVENT\nUID:{each}\nSUMMARY:{each}\n{day}\nEND:VEVENT\n" for each in EVENTS)
    written = {"cards/all.vcf": cards, "calendars/all.ics": f"BEGIN:VCALENDAR\n{events}END:VCALENDAR\n"}
    for name, text in {**written, **dict.fromkeys((f"files/{each}" for each in FILES), "x")}.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    refresh_index(PersonalData.below(home), home / "index.sqlite", today=TODAY)
    return home / "index.sqlite"


def test_names_of_the_data_are_read_as_they_stand_there(index: Path, subtests: pytest.Subtests) -> None:
    parser, domain = load_parser("rules.v1"), read_domain("personal")
    for request, wanted in READ.items():
        with subtests.test(ascii(request)), index_in_use(index):
            graph = parser.parse(request, domain, TODAY, names=known_names).graph
            assert sorted(map(words_of, graph.constraints)) == sorted(wanted)
