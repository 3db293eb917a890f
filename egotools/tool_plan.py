"""The values of the call ``Plan``: the calls that lead to goal tools, in order, and where each input comes from."""

from __future__ import annotations

from dataclasses import dataclass

from egotools.values import NeedResult, may_not_fit

__all__ = ["OpenInput", "PlanInput", "PlanStep", "ToolPlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInput:
    """An input of a step, and where its value comes from.

    :param parameter: its name; empty where a tool only must go first.
    :param source: ``step``; ``done``, a tool that was executed already; ``have`` and ``request``, a known value; ``context``, which the
        request or the caller's configuration gives; ``ask``: the user must be asked.
    :param step: number of the step that supplies it, or 0.
    :param supplier: id of the tool that supplies it, or empty.
    :param output: its output with the value (``suppliers[].id``), or empty.
    :param kind: ``supplies``, ``resolved_by`` or ``depends_on``; empty for a source that is no tool.
    :param confidence: in [0, 1]: of that edge; 1 for a value of ``have``, 0 for ``ask``.
    :param value: of ``have`` and ``request``; empty where the caller keeps it, or the request says it in words.
    :param required: whether the tool cannot be called without.
    :param alternatives: ids of other tools that could supply it, the best first.
    """

    parameter: str
    source: str
    step: int = 0
    supplier: str = ""
    output: str = ""
    kind: str = ""
    confidence: float = 0.0
    value: str = ""
    required: bool = True
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One call.

    :param number: from 1.
    :param kind: ``goal``, ``resolved_by`` (it turns words into an identifier), ``supplies`` or ``depends_on`` (a document says that it
        must go first).
    :param confidence: in [0, 1]: the surest use of it by a later step. Of a goal: 1 where the caller named it, else the probability that the request
        needs it, 0 where not estimated.
    :param inputs: those that are filled or must be.
    """

    number: int
    tool_id: str
    kind: str
    confidence: float
    inputs: tuple[PlanInput, ...] = ()

    def bindings(self) -> tuple[str, ...]:
        """One line for each input that an earlier step fills: ``step 2.supplier_id ← step 1.suppliers[].id``."""
        return tuple(
            f"step {self.number}.{each.parameter} ← step {each.step}" + (f".{each.output}" if each.output else "")
            for each in self.inputs
            if each.step and each.parameter
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenInput:
    """A value that no step supplies.

    :param parameter: name of the input, as the first step that needs it writes it.
    :param description: of the input, or empty.
    :param source: ``ask`` or ``context``.
    :param steps: numbers of the steps that need it.
    """

    parameter: str
    description: str
    source: str
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPlan:
    """An ordered list of calls. Nothing was called.

    :param steps: each after those that it takes values from.
    :param open_inputs: what must be asked of the user, and what the surroundings of the calls give.
    :param cost: see ``PlanResponse.cost`` of the contract.
    :param fallbacks: what was left out and why, one sentence each; usually empty.
    :param answerable_probability: of the query, as in :class:`egotools.values.Response`; None without one, or where not estimated.
    :param unanswerable: whether no tool fits the query; see ``abstain`` of :meth:`egotools.Client.plan`.
    :param need_results: for each need, in order, its best tool and how well it is served; empty without needs.
    """

    steps: tuple[PlanStep, ...]
    open_inputs: tuple[OpenInput, ...] = ()
    cost: float = 0.0
    snapshot_id: str = ""
    fallbacks: tuple[str, ...] = ()
    answerable_probability: float | None = None
    unanswerable: bool = False
    need_results: tuple[NeedResult, ...] = ()

    @property
    def guesses(self) -> tuple[PlanStep, ...]:
        """The goals that nobody named: the query or the needs chose them."""
        return tuple(step for step in self.steps if step.kind == "goal" and step.confidence < 1)

    @property
    def doubt(self) -> str:
        """That goals that nobody named may not fit, with the probability that a tool does; else empty."""
        return may_not_fit(self.answerable_probability) if self.unanswerable and self.guesses else ""

    @property
    def tool_ids(self) -> tuple[str, ...]:
        """Ids of the tools, in the order of their calls."""
        return tuple(step.tool_id for step in self.steps)
