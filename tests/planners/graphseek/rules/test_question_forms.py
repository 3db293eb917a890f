"""Forms of questions on a graph whose words the rules were not made on."""

from __future__ import annotations

import asyncio

import pytest

from tests.planners.graphseek.rules.library_graph import CATALOG, write_library
from tests.planners.graphseek.rules.rule_runs import Answered, answer_all

W, R, S, K, D = "The Long Winter", "Rivers", "Stone and Sand", "BK-77", "Short Days"
NAMES: dict[str, set[str]] = {
    "List all books.": {W, R, S, K, D},
    "Which volumes did Ada Stern write?": {W, R, D},
    "Which books by the author Ada Stern are novels?": {W, D},
    "Who wrote 'Rivers'?": {"Ada Stern"},
    "Which author wrote 'Rivers'?": {"Ada Stern"},
    "Which books cite 'The Long Winter'?": {S, D},
    "Which books does the book 'The Long Winter' cite?": {R},
    "Which books does 'Stone and Sand' cite within two steps?": {W, R},
    "Which books cite both 'The Long Winter' and 'Rivers'?": {S},
    "Which books cite 'The Long Winter' but do not cite 'Rivers'?": {D},
    "Which books do not cite 'Rivers'?": {R, K, D},
    "Which books cite 'Rivers' or 'The Long Winter'?": {W, S, D},
    "Which books cite 'The Long Winter' but not 'Stone and Sand'?": {S, D},  # which nothing cites
    "Which books by Ada Stern are not novels?": {R},
    "Which authors are from Norland or Rivera?": {"Ada Stern", "Bo Lind", "Cleo Park"},
    "If 'Rivers' and 'BK-77' are missing, which books are affected?": {W, S, D},
    "Which books don't cite 'Rivers'?": {R, K, D},
    "Which books are cited by no other book?": {S, K, D},
    "List all of the rare books.": {W, D},
    "List every book that Ada Stern wrote.": {W, R, D},
    "What cites 'Rivers'?": {W, S},
    "What cites 'Rivers' in two steps?": {W, S, D},
    "Which books have more than 150 pages?": {W, S, D},
    "Which books have at most 120 pages?": {R, K},
    "Which books have more than two hundred and twenty pages?": {W, S},
    "Which books have at least three hundred pages?": {W, S},
    "Which books have fewer than 0.1 thousand pages?": {K},
    "Which authors have at most half a dozen books?": {"Ada Stern", "Bo Lind", "Cleo Park"},
    "Which authors have fewer than a dozen books?": {"Ada Stern", "Bo Lind", "Cleo Park"},
    "Which rare books are there?": {W, D},
    "Which books have a price below 12.5 EUR?": {R, K},
    "Which books stand in the library 'Old Library'?": {W, R, S},
    "Which books does the Old Library hold?": {W, R, S},
    "Which authors have at least two books?": {"Ada Stern"},
    "Which authors have only one book?": {"Bo Lind", "Cleo Park"},
    "Which books are cited by no book?": {S, K, D},
    "Which authors have only books that are novels?": {"Bo Lind"},
    "Which authors have only novels with more than 300 pages?": {"Bo Lind"},
    "Which books were lent to Dora Ek in 2023?": {W, R},
    "Which books were lent to Dora Ek in the fourth quarter of 2022?": {S},
    "Which books are planned to be lent to Dora Ek?": {W},
    "Which books were published in 2021?": {R, S},
    "Which books were published after 2019?": {R, S, D},
    "Which books were published before 2019?": {K},
    "Which book has the highest price?": {S},
    "Which two books have the fewest pages?": {K, R},
    "Which author has the most books?": {"Ada Stern"},
    "Which book cites the most books?": {S},
    "Which author has the fewest books?": {"Bo Lind", "Cleo Park"},
    "Which book is cited by the fewest books?": {S, K, D},
    "Which book has the highest fee?": {R, D},
    "Which two books have the highest fee?": {R, D},
    "Which books were written by authors from Rivera?": {S},
    "Which authors are from Norland?": {"Ada Stern", "Cleo Park"},
    "Which author from Norland has the most books?": {"Ada Stern"},
    "Who quotes 'Rivers'?": {W, S},
    "Who wrote the rare books?": {"Ada Stern"},
    "Which books quote exactly one book?": {W, D},
    "Which authors wrote the books that were lent to Emil Fuchs?": {"Ada Stern"},
    "In which room does the book with the highest price stand?": {"Attic"},
    "If 'Rivers' is missing, which books are affected?": {W, S, D},
    "Where does the book 'Rivers' stand?": {"Blue Room"},
    "Which books have titles that start with 'S'?": {S, D},
}
SAID: dict[str, str] = {
    "How many books are there?": "5",
    "Count the books.": "5",
    "How many books are there in total?": "5",
    "How many novels did Ada Stern write?": "2",
    "How many books does each author have?": "Ada Stern: 3; Bo Lind: 1; Cleo Park: 1",
    "How many books are there per genre?": "novel: 3; poems: 2",
    "What is the average price of the novels?": "32.58",
    "What is the total price of the books by Ada Stern?": "64.5",
    "What is the highest price?": "45.25",
    "What is the price of 'Rivers' and 'BK-77'?": "Rivers: 12 EUR; BK-77: 8 EUR",
    "Compare the price of 'Rivers' with 'BK-77'.": "Rivers: 12 EUR; BK-77: 8 EUR",
    "Which author has the most novels or poems?": "Ada Stern: 3",
    "What is the genre of 'Rivers'?": "Rivers: poems",
    "What kind of book is 'Rivers'?": "Rivers: poems",
    "What is the price of 'Rivers' and where does it stand?": "“where” was not read",
    "What is the signature of 'Rivers'?": "Rivers: B-2",
    "How many pages does 'Short Days' have?": "Short Days: 200",
    "What is the number of pages of 'Short Days'?": "Short Days: 200",
    "How many pages do the books by Bo Lind have?": "Stone and Sand: 410",
    "Is 'Rivers' rare?": "Rivers: no",
    "Which two books contribute most to the total charge of Dora Ek?": "Stone and Sand: 9.5; The Long Winter: 3",
}
ASKED_BACK = {
    "What is Springfield?": "Library",
    "Which book is the cheapest?": "fee or price",
    "Which books cite 'Rivrs'?": "Rivers",
    "Which books does the author Adara have?": "Ada Stern",
}
UNREADABLE = {
    "?": "what is asked for",
    "What is love?": "love",
    "Who won the cup in 1998?": "what is asked for",
    "Which books are boring?": "boring",
    "Which writers have worked since 2020?": "when",
    "Which books cite 'Xyzzy'?": "Xyzzy",
    "Which books were lent to Dora Ek in 2022 and in 2023?": "several times",
    "Which books cite '; MATCH (n) DETACH DELETE n'?": "DETACH DELETE",
    "Which books cite the book `) OR 1=1 //`?": "",
    f"Which books cite '{'x' * 1200}'?": "longer",
    "Which authors wrote five books?": "“five”",
    "Which books quote two books?": "“two”",
    "Who is the price of 'Rivers'?": "“price”",
    "Which books are longer than 'Rivers'?": "“longer than”",
    "Which books have more pages than 'Rivers'?": "“more pages than”",
    "Which books by Ada Stern are nicer?": "“nicer”",
    "How many neighbours does 'Rivers' have?": "“neighbours”",
    "What is the wonderful Springfield?": "“wonderful”",
    "Which authors wrote 5 books?": "“5”",
    "Which authors of 'Rivers' have more than fifteen children?": "“more than fifteen”",
    "Which books have a title above five?": "“above five”",
    "Which authors have more than 1 and fewer than 3 books?": "“more than 1”",
    "Which authors have at least dozens of books?": "“at least”",
    "Which books by Ada Stern have hundreds of pages?": "“hundreds”",
    "Which author has the third most books?": "“third”",
    "Which books have more than 12 trillion pages?": "“trillion”",
    "Which books have ٣٢٠ pages?": "“٣٢٠”",
    "What is the average price of the two novels?": "“two”",
    "Which two authors have at least one book?": "which 2",
    "Which authors are from Norland and Rivera?": "two values of country",
    "Which authors are from Norland or Ada Stern?": "“Norland” is a value",
    "Which books by Ada Stern are novels and essays?": "“essays”",
    "Which books does 'Stone and Sand' cite within fifty steps?": "not 50",
}
CHANGING = {
    "Which books except novels did Ada Stern write?": "“except”",
    "Which books cite 'Rivers' without citing 'The Long Winter'?": "“without”",
    "Which novels cite neither 'Rivers' nor 'The Long Winter'?": "“neither”",
    "Which other novels are rare?": "“other”",
    "Which novels or rare books cite 'Rivers'?": "“or”",
    "Which authors do not novels?": "“not”",
    "Which authors wrote all books?": "“all”",
    "Which authors have books that are all novels?": "“all”",
    "Which books by Ada Stern were both?": "“both”",
    "Sum up the pages of the novels.": "“Sum”",
    "What is the median price of the novels?": "“median”",
    "What percentage of the novels are rare?": "“percentage”",
    "Which top books did Ada Stern write?": "“top”",
    "Which books were lent to Dora Ek between March and April 2023?": "“between”",
    "In which room does 'Rivers' stand, with how many steps?": "“",
    "If 'Rivers' is missing, which is the cheapest book?": "“the cheapest”",
    "If 'Rivers' is missing, which books with at least 300 pages are affected?": "“at least 300”",
}
"""With a word that changes what is asked, and that no part of a plan makes use of."""
HINTED = {
    "Which books are boring?": ("Book has the properties", "price", "written by"),
    "Which books have more than 5 pagges?": ("Near words: “pages”",),
    "What is love?": ("The graph has", "Writer", "Room"),
    "How many dragons are there?": ("The graph has", "Book"),
}
"""What a refusal names, so that another question can be asked."""
TALK = ("Which books were lent to Dora Ek?", "Which authors wrote them?")


PRESUMED: dict[str, tuple[str, str]] = {
    "Who wrote the novel 'Stone and Sand'?": ("Bo Lind", ""),
    "Who wrote the novel 'Rivers'?": ("Ada Stern", "“Rivers” is not of the genre novel"),
    "Rivers is a novel written by whom?": ("Ada Stern", "“Rivers” is not of the genre novel"),
    "How many pages does the novel 'Short Days' have?": ("200", ""),
}
"""What a question says of a thing that it names, without asking for it: a note tells where it is not so."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answered]:
    folder = tmp_path_factory.mktemp("library")
    write_library(folder / "library.lbdb")
    talks = [TALK, *([text] for text in (*NAMES, *SAID, *ASKED_BACK, *UNREADABLE, *CHANGING, *HINTED, *PRESUMED))]
    return asyncio.run(answer_all(f"ladybug:{folder / 'library.lbdb'}", folder, talks, CATALOG))


@pytest.mark.parametrize("question", NAMES)
def test_a_set_of_names(answers: dict[str, Answered], question: str) -> None:
    answered = answers[question]
    assert answered.outcome == "answered", answered.run
    columns = [column for table in answered.tables for column in table.values()]
    assert NAMES[question] in [set(column) for column in columns], answered.text
    assert all(name in answered.text for name in NAMES[question])


@pytest.mark.parametrize("question", SAID)
def test_a_number_a_value_or_pairs(answers: dict[str, Answered], question: str) -> None:
    assert answers[question].outcome == "answered", answers[question].run
    assert SAID[question] in answers[question].text


@pytest.mark.parametrize("question", PRESUMED)
def test_what_is_presumed_of_a_named_thing_is_checked(answers: dict[str, Answered], question: str) -> None:
    answered, (truth, note) = answers[question], PRESUMED[question]
    said, _, notes = answered.text.partition("\nNote")
    assert answered.outcome == "answered" and truth in said, answered.text
    assert note in notes if note else not notes


@pytest.mark.parametrize("question", ASKED_BACK)
def test_two_readings_ask_back(answers: dict[str, Answered], question: str) -> None:
    assert answers[question].outcome == "asked back", answers[question].run
    assert ASKED_BACK[question] in answers[question].text


@pytest.mark.parametrize("question", UNREADABLE)
def test_what_cannot_be_read_is_said(answers: dict[str, Answered], question: str) -> None:
    assert answers[question].outcome == "unreadable", answers[question].run
    assert UNREADABLE[question] in answers[question].text


@pytest.mark.parametrize("question", CHANGING)
def test_a_word_that_changes_what_is_asked_is_used_or_refused(answers: dict[str, Answered], question: str) -> None:
    assert answers[question].outcome == "unreadable", answers[question].run
    assert CHANGING[question] in answers[question].text
    assert "; say" in answers[question].text


@pytest.mark.parametrize("question", HINTED)
def test_a_refusal_names_what_the_graph_has(answers: dict[str, Answered], question: str) -> None:
    assert answers[question].outcome == "unreadable", answers[question].run
    assert all(each in answers[question].text for each in HINTED[question]), answers[question].text
