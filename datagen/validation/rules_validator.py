"""Validation: labelled requests are put before judges, and what those find goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.seams import RequestJudge
from datagen.synthetic_request import SyntheticRequest
from datagen.validation.class_check import ClassJudge
from datagen.validation.error_check import ErrorJudge
from datagen.validation.fluency import Leaks
from datagen.validation.path_fit import Fitter
from datagen.validation.sequence_check import SequenceCheck

__all__ = ["rules_judges", "validate"]


def rules_judges(catalogue: Catalogue, rp: Links) -> tuple[RequestJudge, ...]:
    """The judges that go by rules: of class, sequence and errors, in this order.

    :param rp: the R-P edges of the catalogue.
    """
    fitter = Fitter(catalogue, rp)
    return (ClassJudge(fitter=fitter), SequenceCheck(fitter=fitter), ErrorJudge(fitter=fitter, leaks=Leaks(catalogue)))


def validate(request: SyntheticRequest, judges: Sequence[RequestJudge]) -> SyntheticRequest:
    """The request with the verdicts of all judges, in their order, in place of those it had.

    :raises ModelError: when a judge needs a model and that is dead.
    """
    return replace(request, verdicts=tuple(judge.judge(request) for judge in judges))
