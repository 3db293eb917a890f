"""What a tuning says of itself: JSON for machines, and a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from eval.metrics import COMPLETE
from eval.report.blocks import NOTHING, Cell, Column, Document, Paragraph, Section, Table
from eval.report.numbers import counted, percent, points
from eval.tuning.labels import Labels
from eval.tuning.tuning import Tuning
from eval.tuning.verdict import Change
from retrieval.snapshot.weights import SHIPPED

__all__ = ["basis", "changes_table", "tuning_document", "tuning_to_json", "weights_table"]


def tuning_to_json(tuning: Tuning, labels: Labels) -> dict[str, Any]:
    """All of it as JSON values."""
    tested = int(labels.test_Q.sum())
    return {
        "measure": COMPLETE,
        "k": tuning.k,
        "seed": tuning.seed,
        "requests": {
            "name": labels.queries.name,
            "sha256": labels.queries.sha256,
            "fitted_on": len(labels.test_Q) - tested,
            "groups": len(set(labels.groups_Q[~labels.test_Q].tolist())),
            "test": tested,
            "test_left_out": labels.left_out,
            "hopeless": round(tuning.hopeless, 6),
        },
        "weights": {
            "shipped": asdict(SHIPPED),
            "before": asdict(tuning.before),
            "fitted": asdict(tuning.weights),
            "folds": [asdict(weights) for weights in tuning.fold_weights],
        },
        "strength": None if math.isinf(tuning.strength) else tuning.strength,
        "held_out": [_change(change) for change in tuning.held_out],
        "test": [_change(change) for change in tuning.test],
        "better": not tuning.reason,
        "reason": tuning.reason,
    }


def _change(change: Change) -> dict[str, Any]:
    row = asdict(change)
    return {"class": row.pop("request_class"), **row, "difference": round(change.difference, 6)}


def tuning_document(tuning: Tuning, labels: Labels, *, title: str, outcome: str) -> Document:
    """The page.

    :param outcome: what came of it, one sentence.
    """
    sections = [
        Section(title="Outcome", blocks=(Paragraph(text=outcome), Paragraph(text=basis(tuning, labels)))),
        Section(
            title="Held-out paths",
            blocks=(changes_table(tuning.held_out, caption="Each request under weights fitted without its group."),),
        ),
    ]
    if tuning.test:
        left_out = (
            f" {labels.left_out:,} share a path or gold set with those and are left out." if labels.left_out else ""
        )
        caption = f"Requests marked as test, which were never fitted on.{left_out}"
        sections.append(Section(title="Test requests", blocks=(changes_table(tuning.test, caption=caption),)))
    sections.append(Section(title="Weights", blocks=(weights_table(tuning),)))
    return Document(title=title, sections=tuple(sections))


def basis(tuning: Tuning, labels: Labels) -> str:
    """What it rests on, in two sentences."""
    requests = int((~labels.test_Q).sum())
    groups = len(set(labels.groups_Q[~labels.test_Q].tolist()))
    return (
        f"Fitted on {counted(requests, 'request')} of {counted(groups, 'group')}; requests of one tool path or one gold set "
        f"are one. {percent(tuning.hopeless)} % of the requests no weights complete: a gold tool is no candidate."
    )


def changes_table(changes: Sequence[Change], *, caption: str) -> Table:
    """CompleteRecall before and after, a row for each class and cutoff: all requests first."""
    rows = []
    for change in changes:
        interval = f"[{points(change.low)}, {points(change.high)}]"
        rows.append(
            (
                Cell(text=change.request_class or "all"),
                Cell(text=f"{change.requests:,}"),
                Cell(text=f"{change.cutoff}"),
                Cell(text=percent(change.before)),
                Cell(text=percent(change.after)),
                Cell(text=points(change.difference), detail=interval),
            )
        )
    return Table(
        caption=f"{COMPLETE}@k in %, and the difference in points with its 95 % interval. {caption}",
        columns=(
            Column(name="class", number=False),
            *(Column(name=name) for name in ("requests", "k", "before", "after", "points")),
        ),
        rows=tuple(rows),
        averages=frozenset(at for at, change in enumerate(changes) if not change.request_class),
    )


def weights_table(tuning: Tuning) -> Table:
    """Every weight: shipped, before, fitted, and how far those of the folds lie apart."""
    rows = []
    for name, shipped in asdict(SHIPPED).items():
        folds = [getattr(weights, name) for weights in tuning.fold_weights]
        rows.append(
            (
                Cell(text=name),
                Cell(text=f"{shipped:g}"),
                Cell(text=f"{getattr(tuning.before, name):g}"),
                Cell(text=f"{getattr(tuning.weights, name):.3g}", best=getattr(tuning.weights, name) != shipped),
                Cell(text=f"{min(folds):.3g} to {max(folds):.3g}") if folds else NOTHING,
            )
        )
    return Table(
        caption="Only the proportions of the features matter. Where the folds disagree, the requests say little of that weight.",
        columns=(
            Column(name="weight", number=False),
            *(Column(name=name) for name in ("shipped", "before", "fitted", "in the folds")),
        ),
        rows=tuple(rows),
    )
