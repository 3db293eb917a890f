"""The adaptive toolset of a run: approved versions serve every run, and a version that the run's own model made serves that run alone."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from inference.chat import ChatModel
from ontology.errors import StatementError, StorageError
from planners.calls.fence_marks import FenceMarks
from planners.calls.sandbox import Sandbox
from planners.graphseek.adapt.operator_version import OperatorVersion
from planners.graphseek.adapt.row_processing import process_sandbox
from planners.graphseek.adapt.version_contract import contract_of
from planners.graphseek.adapt.version_folder import VersionFolder
from planners.graphseek.adapt.version_operator import VersionOperator, check_version
from planners.graphseek.adapt.version_proposal import VersionMaker, VersionRequest
from planners.graphseek.operators.operator import Operator, OperatorFault, check_arguments
from planners.graphseek.turn import Fault, Invocation, StepRecord
from planners.stores.graph_schema import GraphSchema, ReadableGraph

__all__ = ["Adaptation", "OperatorAdapter"]

_log = logging.getLogger(__name__)
_FAILURES = 3
"""Of an operator in a run, after which a version is asked for; one is enough where the schema has changed (part of appendix A.3)."""
_OF_OPERATORS = frozenset({"unknown name", "engine", "empty", "arguments", "refused"})
"""Kinds of faults that another version could cure. That a call has arguments outside their schema is a fault of the plan."""
_OF_SCHEMAS = frozenset({"unknown name", "engine"})
"""Those that a name which the schema lacks gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """What came of asking for a version.

    :param version: None where none passed.
    :param problem: why there is none, or why it is not stored.
    """

    operator: str
    version: OperatorVersion | None = None
    problem: str = ""


class OperatorAdapter:
    """Versions of a folder, and the model that proposes new ones.

    :param folder: of the versions.
    :param model: None: none are proposed.
    :param accepted: fingerprint of the schema that the accepted catalog was made for; that of the run's catalog where empty.
    """

    def __init__(
        self,
        folder: Path,
        model: ChatModel | None = None,
        *,
        accepted: str = "",
        sandbox: Sandbox | None = None,
    ) -> None:
        self._folder = VersionFolder(folder)
        self._sandbox = sandbox or process_sandbox()
        self._maker = VersionMaker(model, self._sandbox, FenceMarks()) if model else None
        self._accepted = accepted

    @property
    def proposes(self) -> bool:
        """Whether it may ask a model."""
        return self._maker is not None

    def serving(self, operators: Sequence[Operator], graph: ReadableGraph, schema: GraphSchema) -> tuple[Operator, ...]:
        """Return the operators, each in its newest approved version for this schema, where it has one.

        A version is checked as if it were new: a file may say anything. One that fails is left out, and logged.
        """
        try:
            versions = self._folder.versions()
        except StorageError as error:
            _log.warning("versions of operators are left out: %s", error)
            return tuple(operators)
        for problem in self._folder.problems:
            _log.warning("a version of an operator is left out: %s", problem)
        fitting = [
            each for each in versions if each.status == "approved" and each.is_for(graph.dialect, schema.fingerprint)
        ]
        newest = {each.operator: each for each in fitting}
        return tuple(
            self._checked(each, newest[each.name], schema) if each.name in newest else each for each in operators
        )

    def operator(self, base: Operator, version: OperatorVersion) -> Operator:
        """Return a version as an operator."""
        return VersionOperator(base=base, version=version, sandbox=self._sandbox)

    async def adapt(
        self,
        records: Sequence[StepRecord],
        operators: Sequence[Operator],
        graph: ReadableGraph,
        schema: GraphSchema,
        catalog_fingerprint: str,
        tried: Collection[str],
    ) -> Adaptation | None:
        """Ask for a version of an operator that failed in the last step; None where none has to be asked for.

        :param tried: operators that were asked for before: each is once in a run.
        :raises BudgetExceededError: when the budget is used up.
        """
        made_for = self._accepted or catalog_fingerprint
        has_changed = bool(made_for) and made_for != schema.fingerprint
        for operator in operators:
            last = _failed(records[-1:], operator, schema)
            if self._maker is None or operator.name in tried or not last:
                continue
            failed = _failed(records, operator, schema)
            is_stale = has_changed and any(fault.kind in _OF_SCHEMAS for _, fault in last)
            contract = contract_of(operator, schema) if is_stale or len(failed) >= _FAILURES else None
            if contract is not None:
                request = VersionRequest(
                    operator=operator,
                    contract=contract,
                    graph=graph,
                    schema=schema,
                    arguments=last[-1][0].arguments,
                    faults=[fault for _, fault in failed],
                )
                return self._stored(operator.name, *await self._maker.made(request))
        return None

    def _checked(self, base: Operator, version: OperatorVersion, schema: GraphSchema) -> Operator:
        contract = contract_of(base, schema)
        try:
            if contract is None:
                raise StatementError("the operator can have no versions", subject=base.name)
            return self.operator(base, check_version(version, contract, schema))
        except StatementError as error:
            _log.warning("version %s is left out: %s", version.name, error)
            return base

    def _stored(self, operator: str, version: OperatorVersion | None, problem: str) -> Adaptation:
        if version is None:
            return Adaptation(operator=operator, problem=problem)
        try:
            return Adaptation(operator=operator, version=self._folder.add(version))
        except StorageError as error:
            return Adaptation(operator=operator, version=version, problem=f"it is not stored: {error}")


def _failed(records: Sequence[StepRecord], operator: Operator, schema: GraphSchema) -> list[tuple[Invocation, Fault]]:
    """Return the calls of an operator that failed by no fault of the plan."""
    return [
        (call, outcome)
        for record in records
        for call, outcome in record.pairs
        if call.operator == operator.name
        and isinstance(outcome, Fault)
        and outcome.kind in _OF_OPERATORS
        and _fits(call, operator, schema)
    ]


def _fits(call: Invocation, operator: Operator, schema: GraphSchema) -> bool:
    try:
        check_arguments(call.arguments, operator.parameters(schema, ()))
    except OperatorFault:
        return False
    return True
