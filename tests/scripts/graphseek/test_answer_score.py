"""Two rules for answers: the paper's, and the whole set and nothing else."""

from __future__ import annotations

import pytest

from scripts.graphseek.answer_score import Answer, Score, score_answer
from scripts.graphseek.question import Truth

_TWO = Truth(kind="names", parts=(("Alpha", "Beta"),), also=("Europe",))
_PARTS = Truth(kind="names", parts=(("Alpha", "Beta"), ("West",)))
_SUM = Truth(kind="number", parts=((99.99611371388764,),))
_COUNT = Truth(kind="number", parts=((1289.0,),))
_RANKED = Truth(kind="ranking", parts=(("B2", "A1", "C3"),))
_PAIRS = Truth(kind="pairs", parts=(("Alpha", 3, "Beta", 4),))
_NONE = Truth(kind="names", parts=((),))
_RIGHT, _SOME, _WRONG = Score(True, True), Score(True, False), Score(False, False)


@pytest.mark.parametrize(
    ("truth", "answer", "score"),
    [
        (_TWO, Answer(tables=[{"name": ["beta", "Alpha"], "hops": [1, 2]}]), _RIGHT),
        (_TWO, Answer(tables=[{"name": ["Beta", "Alpha", "Alpha", None]}]), _RIGHT),
        (_TWO, Answer(tables=[{"name": ["Alpha", "Beta", "Europe"]}]), _RIGHT),
        (_TWO, Answer(tables=[{"name": ["Alpha"]}]), _SOME),
        (_TWO, Answer(tables=[{"name": ["Alpha", "Beta", "Gamma"]}]), _SOME),
        (_TWO, Answer(tables=[{"name": ["Gamma"]}]), _WRONG),
        (_TWO, Answer(text="These are Alpha and Beta, both in Europe."), _RIGHT),
        (_TWO, Answer(text="Alpha, Beta and Gamma"), _SOME),
        (_TWO, Answer(text="Alphabet"), _WRONG),
        (_TWO, Answer(), _WRONG),
        (_PARTS, Answer(tables=[{"site": ["Alpha", "Beta"]}, {"region": ["West", "West"]}]), _RIGHT),
        (_PARTS, Answer(tables=[{"name": ["Alpha", "Beta", "West"]}]), _RIGHT),
        (_PARTS, Answer(tables=[{"site": ["Alpha", "Beta"]}]), _SOME),
        (_SUM, Answer(text="The highest is 99.99611371388764."), _RIGHT),
        (_SUM, Answer(text="It is about 100.00."), _RIGHT),
        (_SUM, Answer(text="It is about 100."), _WRONG),
        (_SUM, Answer(tables=[{"max_unitCost": [99.99611371388764]}]), _RIGHT),
        (_SUM, Answer(tables=[{"unitCost": [1.0, 99.99611371388764]}]), _SOME),
        (_COUNT, Answer(text="There are 1,289 of them."), _RIGHT),
        (_COUNT, Answer(text="There are 289 of them."), _WRONG),
        (_COUNT, Answer(text="BM-1289 in line L1289"), _WRONG),
        (_RANKED, Answer(tables=[{"name": ["B2", "A1", "C3", "D4"]}]), _RIGHT),
        (_RANKED, Answer(tables=[{"name": ["A1", "B2", "C3"]}]), _SOME),
        (_RANKED, Answer(text="First B2, then A1 and C3"), _RIGHT),
        (_RANKED, Answer(text="A1, B2, C3"), _SOME),
        (_PAIRS, Answer(tables=[{"name": ["Beta", "Alpha", None], "count": [4, 3, 9]}]), _RIGHT),
        (_PAIRS, Answer(tables=[{"name": ["Beta", "Alpha"], "count": [4, 4]}]), _SOME),
        (_PAIRS, Answer(text="Alpha: 3, Beta: 4"), _RIGHT),
        (_PAIRS, Answer(text="Alpha: 4, Beta: 3"), _WRONG),
        (_NONE, Answer(tables=[{"name": []}]), _RIGHT),
        (_NONE, Answer(text="There is none."), _RIGHT),
        (_NONE, Answer(tables=[{"name": ["Alpha"]}]), _WRONG),
        (_NONE, Answer(), _WRONG),  # a question that was not read is not answered by chance
    ],
)
def test_answers_get_the_score_of_both_rules(truth: Truth, answer: Answer, score: Score) -> None:
    assert score_answer(truth, answer, names=("Alpha", "Beta", "Gamma", "Europe")) == score
