"""The parameters of a run, under the names of appendix B.1 of the paper where it names them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from inference.retry import RetryPolicy
from ontology.errors import InvalidArgumentError

RetrieveKind: TypeAlias = Literal["query", "script", "direct", "fusion"]
"""How the graph is asked: in its language, by Python, by reading the whole of it; or all of these, whose answers are voted on."""
NextStepKind: TypeAlias = Literal["majority", "judge"]
NoiseKind: TypeAlias = Literal["keep", "duplicates"]
"""What is removed from the graph after writes: nothing, or nodes that stand there twice (appendix B.6)."""

MODEL_RETRIES = RetryPolicy(max_retries=5, base_delay_s=1.0, max_delay_s=60.0)
"""Of calls of a model's server: six attempts, 1 to 60 seconds apart (appendix B.3.2)."""

MOST_FIXES = 3
"""How often a failing statement, query, script or program is corrected, and a query that gave nothing is written anew."""

_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("max_iterations", "max_final_solution_parsing", "max_answer_tokens"), (1, math.inf)),
    "num_next_steps_decision": (1, 100),
    "tools": (1, 8),
    "max_seconds": (0.001, math.inf),
    "tool_retry_delay_s": (0, math.inf),
}
_CHOICES = {"retrieve": get_args(RetrieveKind), "next_step": get_args(NextStepKind), "noise": get_args(NoiseKind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class KgotSettings:
    """How a run goes.

    :param max_iterations: each decides, and enlarges the graph or asks it; then the answer is forced.
    :param num_next_steps_decision: votes of a decision.
    :param max_final_solution_parsing: final answers, of which the most frequent wins.
    :param next_step: ``majority`` of the votes; or ``judge``: one more answer chooses among them.
    :param tools: the most tools that a search returns, 1 to 8.
    :param noise: what is removed from the graph after writes: ``keep`` for nothing, ``duplicates``.
    :param max_answer_tokens: of one answer of a model.
    :param max_seconds: of a whole run; None for no limit.
    :param tool_retry_delay_s: before the first retry of a tool, doubled for each further one up to 5 s.
    :raises InvalidArgumentError: for a value out of its range, by its name.
    """

    max_iterations: int = 7
    num_next_steps_decision: int = 5
    max_final_solution_parsing: int = 3
    retrieve: RetrieveKind = "query"
    next_step: NextStepKind = "majority"
    tools: int = 8
    noise: NoiseKind = "keep"
    max_answer_tokens: int = 2_048
    max_seconds: float | None = None
    tool_retry_delay_s: float = 0.5

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if (chosen := getattr(self, name)) not in choices:
                remedy = f"Use one of {', '.join(choices)}"
                raise InvalidArgumentError(f"{chosen!r} is not known", subject=name, remedy=remedy)
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                allowed = f"{least:g} or more" if most == math.inf else f"{least:g} to {most:g}"
                raise InvalidArgumentError(f"{value!r} is out of range", subject=name, remedy=f"Use {allowed}")
