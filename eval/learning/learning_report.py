"""The JSON form of a learning, printed by ``--json`` and kept in the store."""

from __future__ import annotations

from typing import Any

from eval.learning.held_out import Learning

__all__ = ["learning_to_json"]


def learning_to_json(learning: Learning) -> dict[str, Any]:
    """The figures of a learning as JSON values."""
    learned = learning.learned
    return {
        "sessions": learning.sessions,
        "reporters": learning.reporters,
        "k": learning.k,
        "held_out": {
            "asked": learning.asked,
            "before": round(learning.before, 4),
            "after": round(learning.after, 4),
            "gained": learning.gained,
            "lost": learning.lost,
            "p_value": learning.p_value,
        },
        "reason": learning.reason,
        "pairs": 0 if learned is None else len(learned.used_with.heads),
        "observed_outputs": 0 if learned is None else len(learned.returns),
        "weights": {} if learned is None else {"requests": learned.request_weight, "pairs": learned.pair_weight},
    }
