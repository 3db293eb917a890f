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

_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("max_retrieve_query_retry", "max_cypher_fixing_retry", "max_tool_retries"), (0, math.inf)),
    **dict.fromkeys(("tool_retry_delay_s", "max_json_reasks"), (0, math.inf)),
    **dict.fromkeys(("max_graph_chars", "max_shown_bytes"), (1_000, math.inf)),
    "num_next_steps_decision": (1, 100),
    "tools": (1, 8),
}
"""Setting → its least and most value; of the other numbers the least is 1."""
_CHOICES = {"retrieve": get_args(RetrieveKind), "next_step": get_args(NextStepKind), "noise": get_args(NoiseKind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class KgotSettings:
    """How a run goes.

    :param max_iterations: each decides, and enlarges the graph or asks it; then the answer is forced.
    :param num_next_steps_decision: votes of a decision.
    :param max_retrieve_query_retry: how often a query that gave nothing is written anew.
    :param max_cypher_fixing_retry: how often a failing statement, query or script is corrected.
    :param max_final_solution_parsing: final answers, of which the most frequent wins.
    :param max_tool_retries: further attempts of a safe call after a transient fault.
    :param next_step: ``majority`` of the votes; or ``judge``: one more answer chooses among them.
    :param tools: the most tools that a search returns, 1 to 8.
    :param max_calls_per_step: the most calls of one iteration; the rest is left out.
    :param noise: what is removed from the graph after writes: ``keep`` for nothing, ``duplicates``.
    :param max_json_reasks: how often an unusable answer is asked for again, with its fault (appendix B.3.1).
    :param repair_json: whether JSON amid other text, or with wrong escapes, is read before that.
    :param max_answer_tokens: of one answer of a model.
    :param max_graph_chars: of the graph in a prompt; a larger one is summarised.
    :param max_shown_bytes: of a tool's answer in a prompt.
    :param max_seconds: of a whole run; None for no limit.
    :param tool_retry_delay_s: before the first retry of a tool, doubled for each further one up to 5 s.
    :raises InvalidArgumentError: for a value out of its range, by its name.
    """

    max_iterations: int = 7
    num_next_steps_decision: int = 5
    max_retrieve_query_retry: int = 3
    max_cypher_fixing_retry: int = 3
    max_final_solution_parsing: int = 3
    max_tool_retries: int = 6
    retrieve: RetrieveKind = "query"
    next_step: NextStepKind = "majority"
    tools: int = 8
    max_calls_per_step: int = 8
    noise: NoiseKind = "keep"
    max_json_reasks: int = 3
    repair_json: bool = True
    max_answer_tokens: int = 2_048
    max_graph_chars: int = 12_000
    max_shown_bytes: int = 16_384
    max_seconds: float | None = None
    tool_retry_delay_s: float = 0.5

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value, (least, most) = getattr(self, name), _RANGES.get(name, (1, math.inf))
            if name in _CHOICES:
                if value not in _CHOICES[name]:
                    remedy = f"Use one of {', '.join(_CHOICES[name])}"
                    raise InvalidArgumentError(f"{value!r} is not known", subject=name, remedy=remedy)
            elif name == "max_seconds":
                if value is not None and not value > 0:
                    raise InvalidArgumentError("the value is not above 0", subject=name, remedy="Use seconds, or none")
            elif not isinstance(value, bool) and not least <= value <= most:
                allowed = f"{least:g} or more" if most == math.inf else f"{least:g} to {most:g}"
                raise InvalidArgumentError(f"{value!r} is out of range", subject=name, remedy=f"Use {allowed}")
