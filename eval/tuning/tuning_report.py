"""The report of a tuning: JSON values, and a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from eval.metrics import COMPLETE
from eval.report.blocks import (
    NOTHING,
    Cell,
    Document,
    Paragraph,
    Section,
    Table,
    make_table,
    number_columns,
    text_columns,
)
from eval.report.numbers import counted, percent, points
from eval.tuning.labels import Labels
from eval.tuning.tuning import Tuning
from eval.tuning.verdict import RecallChange
from retrieval.ranking.weights import SHIPPED

__all__ = ["basis", "changes_table", "tuning_document", "tuning_to_json", "weights_table"]


def tuning_to_json(tuning: Tuning, labels: Labels) -> dict[str, Any]:
    """Return the whole tuning as JSON values."""
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
            "not_completable": round(tuning.not_completable, 6),
        },
        "weights": {
            "shipped": dict(SHIPPED),
            "before": dict(tuning.before),
            "fitted": dict(tuning.weights),
            "folds": [dict(weights) for weights in tuning.fold_weights],
        },
        "strength": None if math.isinf(tuning.strength) else tuning.strength,
        "held_out": [_change(change) for change in tuning.held_out],
        "test": [_change(change) for change in tuning.test],
        "better": not tuning.reason,
        "reason": tuning.reason,
    }


def _change(change: RecallChange) -> dict[str, Any]:
    row = asdict(change)
    return {"class": row.pop("request_class"), **row, "difference": round(change.difference, 6)}


def tuning_document(tuning: Tuning, labels: Labels, *, title: str, outcome: str) -> Document:
    """Return the report as a document.

    :param outcome: the outcome in one sentence.
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
    """Return two sentences about the number of requests and groups."""
    requests = int((~labels.test_Q).sum())
    groups = len(set(labels.groups_Q[~labels.test_Q].tolist()))
    return (
        f"Fitted on {counted(requests, 'request')} of {counted(groups, 'group')}; requests of one tool path or "
        f"one gold set are one "
        f"group. No weights complete {percent(tuning.not_completable)} % of the requests, because a gold tool is "
        f"no candidate."
    )


def changes_table(changes: Sequence[RecallChange], *, caption: str) -> Table:
    """Return a table of CompleteRecall before and after, one row for each class and cutoff, all requests first."""
    rows = [
        (
            change.request_class or "all",
            f"{change.requests:,}",
            f"{change.cutoff}",
            percent(change.before),
            percent(change.after),
            Cell(text=points(change.difference), detail=f"[{points(change.low)}, {points(change.high)}]"),
        )
        for change in changes
    ]
    return make_table(
        (*text_columns("class"), *number_columns("requests", "k", "before", "after", "points")),
        rows,
        caption=f"{COMPLETE}@k in %, and the difference in points with its 95 % interval. {caption}",
        averages=[at for at, change in enumerate(changes) if not change.request_class],
    )


def weights_table(tuning: Tuning) -> Table:
    """Return a table of every weight: shipped, before, fitted, and its range over the folds."""
    rows = []
    for name, shipped in SHIPPED.items():
        folds = [weights[name] for weights in tuning.fold_weights]
        fitted = tuning.weights[name]
        rows.append(
            (
                name,
                f"{shipped:g}",
                f"{tuning.before[name]:g}",
                Cell(text=f"{fitted:.3g}", best=fitted != shipped),
                f"{min(folds):.3g} to {max(folds):.3g}" if folds else NOTHING,
            )
        )
    return make_table(
        (*text_columns("weight"), *number_columns("shipped", "before", "fitted", "in the folds")),
        rows,
        caption="Only the proportions of the features matter. A wide range over the folds means that the "
        "requests do not determine the weight.",
    )
