"""Validation: labelled requests are put before validators, and what those find goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.seams import RequestValidator
from datagen.synthetic_request import SyntheticRequest
from datagen.validation.class_check import ClassCheck
from datagen.validation.error_check import ErrorCheck
from datagen.validation.fluency import Leaks
from datagen.validation.path_fit import Fitter
from datagen.validation.sequence_check import SequenceCheck

__all__ = ["rules_validators", "validate"]


def rules_validators(catalogue: Catalogue, rp: Links) -> tuple[RequestValidator, ...]:
    """The validators that go by rules: of class, sequence and errors, in this order.

    :param rp: the R-P edges of the catalogue.
    """
    fitter = Fitter(catalogue, rp)
    return (ClassCheck(fitter=fitter), SequenceCheck(fitter=fitter), ErrorCheck(fitter=fitter, leaks=Leaks(catalogue)))


def validate(request: SyntheticRequest, validators: Sequence[RequestValidator]) -> SyntheticRequest:
    """The request with the verdicts of all validators, in their order, in place of those it had.

    :raises ModelError: when a validator needs a model and that is dead.
    """
    return replace(request, verdicts=tuple(validator.validate(request) for validator in validators))
