"""Validation by rules: a class check, a sequence check and an error check, and what applies them to a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from datagen.interfaces import RequestValidator
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SyntheticRequest, Verdict
from datagen.tool_links import ToolLinks
from datagen.validation.answered_conditions import Attributes
from datagen.validation.asked_object import AskedObjects
from datagen.validation.class_check import find_class_fault
from datagen.validation.edge_needs import EdgeNeeds
from datagen.validation.error_check import find_error
from datagen.validation.fluency import DocumentLeaks
from datagen.validation.object_match import ObjectNames
from datagen.validation.path_fit import PathFitter
from datagen.validation.rivals import Rivals
from datagen.validation.sequence_check import find_sequence_fault

__all__ = ["RulesValidator", "rules_validators", "validate"]


@dataclass(frozen=True, kw_only=True)
class RulesValidator:
    """One check by rules.

    :param find_fault: why a request fails the check, in a sentence; empty when it passes.
    :param passed: the reason of a verdict that passes; ``{}`` stands for the class.
    """

    check: str
    find_fault: Callable[[SyntheticRequest], str]
    passed: str
    name: str = "rules.v1"

    def validate(self, request: SyntheticRequest) -> Verdict:
        """The verdict on a request.

        :raises NotFoundError: when the catalogue lacks a tool of the path.
        """
        fault = self.find_fault(request)
        reason = fault or self.passed.format(request.request_class)
        return Verdict(check=self.check, passed=not fault, reason=reason, by=self.name)


def rules_validators(catalogue: ProfiledCatalogue, rp: ToolLinks) -> tuple[RequestValidator, ...]:
    """The validators that go by rules: of class, sequence and errors, in this order.

    :param rp: the R-P edges of the catalogue.
    """
    fitter = PathFitter(catalogue, rp)
    everyday = fitter.slots.everyday
    tools = tuple(fitter.slots.all())
    names, asked, attributes = ObjectNames(tools, everyday), AskedObjects(tools, everyday), Attributes(tools, everyday)
    leaks = DocumentLeaks(catalogue)
    needs, rivals = EdgeNeeds(catalogue, rp, fitter.slots), Rivals(catalogue, fitter.slots)
    return (
        RulesValidator(
            check="class",
            find_fault=lambda request: find_class_fault(request, fitter),
            passed="its words and its path are those of {}",
        ),
        RulesValidator(
            check="sequence",
            find_fault=lambda request: find_sequence_fault(request, fitter, names, asked, attributes),
            passed="each tool gets what it needs from the request, from a tool before it or by default",
        ),
        RulesValidator(
            check="error",
            find_fault=lambda request: find_error(request, fitter, leaks, asked, needs, rivals),
            passed="it is complete, its values go with its inputs and it needs each of its tools",
        ),
    )


def validate(request: SyntheticRequest, validators: Sequence[RequestValidator]) -> SyntheticRequest:
    """The request with the verdicts of all validators, in their order, in place of those it had.

    :raises ModelError: when a validator needs a model and that is unavailable.
    """
    return replace(request, verdicts=tuple(validator.validate(request) for validator in validators))
