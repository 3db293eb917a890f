"""What readers of a sheet say of the labels and the texts, and how far they agree.

- *Label error*: the share of the requests whose gold set is not what the reader needs (:class:`~research.reader_answers.Label`, ``wrong``).
  An alternative of a slot that the reader would not take counts as an error; the second figure forgives it.
- *Typeable*: the share of the requests that a colleague could have typed.
- Intervals are 95 % Wilson intervals. Kappa is Cohen's.

The adjudicated reading is that of both readers where they say the same of label and text, else that of the third file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from eval.queries import slot_name
from ontology.errors import InvalidArgumentError
from ontology.reporting import Proportion
from research.reader_answers import Answer, Gold, judged

__all__ = ["adjudicate", "kappa", "report"]

Answers = Mapping[str, Answer]
_DIFFERENT = "the readers differ, and nobody decided"


def kappa(one: Sequence[object], other: Sequence[object]) -> float | None:
    """Cohen's kappa of two equally long lists of judgements; None where chance alone explains full agreement."""
    size = len(one)
    observed = sum(a == b for a, b in zip(one, other, strict=True)) / size if size else 1.0
    chance = sum(one.count(value) * other.count(value) for value in set(one)) / size**2 if size else 1.0
    return None if chance == 1 else (observed - chance) / (1 - chance)


def adjudicate(gold: Mapping[str, Gold], readers: Sequence[Answers], final: Answers) -> dict[str, Answer]:
    """The answers that count: the adjudicated one, else that of the readers where they agree.

    :raises InvalidArgumentError: when a row on which they differ is not in ``final``.
    """
    open_rows = [row for row in differences(gold, readers) if row not in final]
    if open_rows:
        raise InvalidArgumentError(
            f"{len(open_rows)} rows are open: {', '.join(open_rows[:10])}", subject="adjudicated", remedy=_DIFFERENT
        )
    return {row: final.get(row, readers[0][row]) for row in gold}


def differences(gold: Mapping[str, Gold], readers: Sequence[Answers]) -> list[str]:
    """The rows on which readers differ: whether the label is wrong, or whether a colleague could have typed the text."""
    return [
        row
        for row, label in gold.items()
        if len({(judged(label, one[row]).wrong, one[row].typeable) for one in readers}) > 1
    ]


def report(
    texts: Mapping[str, str],
    gold: Mapping[str, Gold],
    readers: Mapping[str, Answers],
    final: Answers,
    *,
    rows: bool = True,
) -> Iterator[str]:
    """Yield the lines of the report in Markdown.

    :param final: adjudicated answers; where there are none, nothing is adjudicated.
    :param rows: whether the disputed rows are listed.
    """
    read = dict(readers)
    if final:
        read["adjudicated"] = adjudicate(gold, list(readers.values()), final)
    yield "| reader | label error | if one alternative is enough | lacks an alternative | ambiguous or missing | typeable |"
    yield "|---|---|---|---|---|---|"
    for name, answers in read.items():
        yield _line(name, gold, answers)
    for (one, first), (other, second) in combinations(readers.items(), 2):
        yield f"\n{one} and {other}: {_agreement(gold, first, second)}"
    last = list(read)[-1] if final or len(read) == 1 else ""
    if last:
        yield from _by_class(gold, read[last])
    if rows:
        yield from _disputed(texts, gold, read)


def _line(name: str, gold: Mapping[str, Gold], answers: Answers) -> str:
    labels = [judged(gold[row], answers[row]) for row in gold]
    shares = (
        sum(label.wrong for label in labels),
        sum(label.wrong_in_any_way for label in labels),
        sum(label.incomplete for label in labels),
        sum(bool(answers[row].ambiguous or answers[row].missing) for row in gold),
        sum(answers[row].typeable for row in gold),
    )
    return f"| {name} | {' | '.join(_share(hits, len(gold)) for hits in shares)} |"


def _share(hits: int, of: int) -> str:
    share = Proportion(hits, of)
    if share.value is None or share.low is None or share.high is None:
        return "none"
    return f"{hits}/{of} = {100 * share.value:.1f} % [{100 * share.low:.1f}, {100 * share.high:.1f}]"


def _agreement(gold: Mapping[str, Gold], one: Answers, other: Answers) -> str:
    told = []
    for what, value in (
        ("label", lambda answers, row: judged(gold[row], answers[row]).wrong),
        ("typeable", lambda answers, row: answers[row].typeable),
    ):
        first, second = ([value(answers, row) for row in gold] for answers in (one, other))
        same, chance = sum(a == b for a, b in zip(first, second, strict=True)), kappa(first, second)
        told.append(
            f"{what} {same}/{len(gold)} alike, kappa {'undefined' if chance is None else format(chance, '.2f')}"
        )
    alike = sum(_steps(one[row]) == _steps(other[row]) for row in gold)
    return "; ".join([*told, f"the same needed tools {alike}/{len(gold)}"])


def _steps(answer: Answer) -> tuple[bool, bool, frozenset[frozenset[str]]]:
    return answer.ambiguous, bool(answer.missing), frozenset(frozenset(slot) for slot in answer.slots)


def _by_class(gold: Mapping[str, Gold], answers: Answers) -> Iterator[str]:
    rows: dict[str, list[str]] = defaultdict(list)
    for row, label in gold.items():
        rows[label.request_class].append(row)
    yield "\n| class | label error | typeable |\n|---|---|---|"
    for name, of in sorted(rows.items()):
        wrong = sum(judged(gold[row], answers[row]).wrong for row in of)
        yield f"| {name or 'none'} | {_share(wrong, len(of))} | {_share(sum(answers[row].typeable for row in of), len(of))} |"


def _disputed(texts: Mapping[str, str], gold: Mapping[str, Gold], read: Mapping[str, Answers]) -> Iterator[str]:
    """The rows whose label somebody disputes, and those that somebody could not have typed."""
    yield "\nDisputed labels, and texts that nobody would type:"
    for row, label in gold.items():
        told = []
        for name, answers in read.items():
            answer = answers[row]
            wrong = judged(label, answer).wrong
            if wrong or not answer.typeable:
                parts = [f"needs {answer.needed}"] if wrong else []
                parts += [] if answer.typeable else ["not typeable"]
                told.append(f"  {name}: {', '.join(parts)}{f' ({answer.note})' if answer.note else ''}")
        if told:
            yield f"\n{row} [{label.request_class}] {label.request}: {texts[row]!r}"
            yield f"  gold: {' + '.join(f'({slot_name(slot)})' for slot in label.slots) or 'no tool'}"
            yield from told
