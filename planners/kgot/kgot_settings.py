"""The parameters of a run, under the names of appendix B.1 of the paper where it names them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from inference.retry import RetryPolicy
from ontology.errors import InvalidArgumentError
from planners.stores.property_graph import QueryLimits

__all__ = ["MODEL_RETRIES", "KgotSettings", "NextStepKind", "NoiseKind", "PromptFormat", "RetrieveKind"]

RetrieveKind: TypeAlias = Literal["query", "script", "direct", "fusion"]
"""How the graph is asked: in its language, by Python, by reading the whole of it; or all of these, whose answers are voted on."""
NextStepKind: TypeAlias = Literal["majority", "judge"]
NoiseKind: TypeAlias = Literal["keep", "duplicates", "all"]
"""What is removed from the graph after writes: nothing, near-duplicates, or also what joins to nothing that is asked (appendix B.6)."""
PromptFormat: TypeAlias = Literal["xml", "markdown"]

MODEL_RETRIES = RetryPolicy(max_retries=5, base_delay_s=1.0, max_delay_s=60.0)
"""Of calls of a model's server: six attempts, 1 to 60 seconds apart (appendix B.3.2)."""

_RANGES: dict[str, tuple[float, float | None]] = {
    **dict.fromkeys(
        ("max_iterations", "max_final_solution_parsing", "max_calls_per_step", "max_answer_tokens"), (1, None)
    ),
    **dict.fromkeys(("num_next_steps_decision", "tool_call_votes"), (1, 100)),
    **dict.fromkeys(("max_retrieve_query_retry", "max_cypher_fixing_retry", "max_tool_retries"), (0, None)),
    **dict.fromkeys(("tool_retry_delay_s", "max_json_reasks"), (0, None)),
    "tools": (1, 8),
    "vote_temperature": (0, 2),
    "max_graph_chars": (1_000, None),
    "max_shown_bytes": (1_000, None),
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "retrieve": get_args(RetrieveKind),
    "next_step": get_args(NextStepKind),
    "noise": get_args(NoiseKind),
    "prompt_format": get_args(PromptFormat),
}


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
    :param tool_call_votes: answers that define calls; a call of more than half of them is made.
    :param tools: the most tools that a search returns, 1 to 8.
    :param auto_k: the service chooses how many, up to ``tools``. Off: of 372 labelled requests every needed tool was shown for 99 with
        eight tools, for 48 with the chosen number (docs/kgot.md).
    :param max_calls_per_step: the most calls of one iteration; the rest is left out.
    :param vote_temperature: of votes where there are several; 0 would make them one.
    :param noise: what is removed from the graph after writes. ``all`` may remove what a later iteration would have needed.
    :param max_json_reasks: how often an unusable answer is asked for again, with its fault (appendix B.3.1).
    :param repair_json: whether JSON amid other text, or only written wrong, is read before that.
    :param max_answer_tokens: of one answer of a model.
    :param max_graph_chars: of the graph in a prompt; a larger one is summarised.
    :param max_shown_bytes: of a tool's answer in a prompt.
    :param max_seconds: of a whole run; None for no limit.
    :param tool_retry_delay_s: before the first retry of a tool, doubled for each further one up to 5 s.
    :param query_limits: of each query and script.
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
    tool_call_votes: int = 1
    tools: int = 8
    auto_k: bool = False
    max_calls_per_step: int = 8
    vote_temperature: float = 0.7
    prompt_format: PromptFormat = "xml"
    noise: NoiseKind = "keep"
    max_json_reasks: int = 3
    repair_json: bool = True
    max_answer_tokens: int = 2_048
    max_graph_chars: int = 12_000
    max_shown_bytes: int = 16_384
    max_seconds: float | None = None
    tool_retry_delay_s: float = 0.5
    query_limits: QueryLimits = QueryLimits()  # noqa: RUF009  # frozen

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if not value >= least or (most is not None and value > most):
                allowed = f"{least:g} or more" if most is None else f"{least:g} to {most:g}"
                raise InvalidArgumentError(f"{value!r} is out of range", subject=name, remedy=f"Use {allowed}")
        for name, kinds in _CHOICES.items():
            if getattr(self, name) not in kinds:
                problem = f"{getattr(self, name)!r} is not known"
                raise InvalidArgumentError(problem, subject=name, remedy=f"Use one of {', '.join(kinds)}")
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise InvalidArgumentError("the value is not above 0", subject="max_seconds", remedy="Use seconds, or none")
        if not self.vote_temperature and max(self.num_next_steps_decision, self.tool_call_votes) > 1:
            problem = "at temperature 0 several votes are one"
            raise InvalidArgumentError(problem, subject="vote_temperature", remedy="Use more than 0, or one vote")

    @property
    def tool_retries(self) -> RetryPolicy:
        """The policy of retries of tools."""
        return RetryPolicy(
            max_retries=self.max_tool_retries,
            base_delay_s=self.tool_retry_delay_s,
            max_delay_s=5.0,
            max_retry_after_s=30.0,
        )
