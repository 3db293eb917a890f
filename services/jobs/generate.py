"""Data generation: a snapshot in, a folder of labelled requests and its report out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datagen.catalogue import Catalogue
from datagen.generation import RulesGenerator
from datagen.paths.rules_outputs import RulesOutputs
from datagen.paths.rules_sequence import RulesSequence
from datagen.report.result_files import write_result
from datagen.run.class_mix import equal_mix, read_mix
from datagen.run.make_requests import Steps, make_requests
from datagen.validation.rules_validator import rules_validators
from inference import load_encoder
from inference.cached_encoder import CachedEncoder
from inference.chat import ChatModel
from inference.encoder import Encoder
from inference.result_cache import ResultCache
from ontology.errors import CatalogError, EgotoolsError, InvalidArgumentError
from ontology.files import only_writer
from ontology.ontology import load_ontology
from ontology.progress import Progress
from retrieval.snapshot.reader import open_snapshot
from services.jobs.model_factory import ChatEndpoint, open_chat

__all__ = ["GENERATORS", "DatagenPlan", "Generation", "generate_requests"]

GENERATORS = ("rules", "llm")
_CONCURRENCY = 4  # requests that a model works on at once


@dataclass(frozen=True, slots=True, kw_only=True)
class DatagenPlan:
    """What to make, of what, and where it goes.

    :param store: folder of the published snapshot.
    :param out: folder of the results; what was generated in it already is not generated again.
    :param per_class: how many requests of each class, or a sixth of all where the mix has shares.
    :param generator: one of :data:`GENERATORS`.
    :param mix: file of counts or shares by class.
    :param ontology: file of the ontology; the shipped one where left out.
    :param endpoint: of the chat model, for ``llm``.
    """

    store: Path
    out: Path
    per_class: int = 50
    generator: str = GENERATORS[0]
    mix: Path | None = None
    seed: int = 0
    ontology: Path | None = None
    endpoint: ChatEndpoint = field(default_factory=ChatEndpoint)


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What came of it.

    :param figures: those of the report.
    :param report: its file.
    :param stopped: what ended it before its end, or None; everything made before is written.
    """

    figures: Mapping[str, Any]
    report: Path
    stopped: EgotoolsError | None


def generate_requests(plan: DatagenPlan, progress: Progress) -> Generation:
    """Make requests from a snapshot and write them with their report.

    :raises InvalidArgumentError: for options that cannot be served, before anything is written.
    :raises CatalogError: when no request could be made at all; the report then says why.
    :raises EgotoolsError: for what stops it before the first request is generated.
    """
    wanted = equal_mix(plan.per_class) if plan.mix is None else read_mix(plan.mix, plan.per_class)
    if plan.generator not in GENERATORS:
        raise InvalidArgumentError(
            f"there is no generator {plan.generator!r}",
            subject="--generator",
            remedy=f"Known: {', '.join(GENERATORS)}",
        )
    model = open_chat(plan.endpoint, needed_by="the generator llm") if plan.generator == "llm" else None
    snapshot = open_snapshot(plan.store)
    catalogue = Catalogue.of(snapshot, load_ontology(plan.ontology))
    # What a model answered is kept on the disk; what rules make is made again sooner than it is read.
    with only_writer(plan.out), ResultCache(plan.out / "cache.sqlite" if model else None) as cache:
        encoder = CachedEncoder(load_encoder(snapshot.manifest["encoder"]["name"]), cache)
        steps = (
            _steps(catalogue, encoder)
            if model is None
            else _llm_steps(catalogue, encoder, model, cache, name=plan.endpoint.model)
        )
        made = make_requests(catalogue, steps, wanted, folder=plan.out, seed=plan.seed, progress=progress)
        progress("report", 0, 0)
        figures = write_result(plan.out, made, encoder)
    report = plan.out / "report.md"
    if not made.generated.requests and made.generated.stopped is None:
        raise CatalogError(
            "no request could be made of this catalogue", subject=str(plan.store), remedy=f"{report} says why"
        )
    return Generation(figures=figures, report=report, stopped=made.generated.stopped)


def _steps(catalogue: Catalogue, encoder: Encoder) -> Steps:
    """The steps by rules."""
    return Steps(
        outputs=RulesOutputs(catalogue),
        sequence=lambda rp: RulesSequence(catalogue, rp),
        generator=RulesGenerator(catalogue),
        validators=lambda rp: (rules_validators(catalogue, rp),),
        encoder=encoder,
    )


def _llm_steps(catalogue: Catalogue, encoder: Encoder, model: ChatModel, cache: ResultCache, *, name: str) -> Steps:
    """Their twins by a chat model; the rules validate first, for they cost nothing.

    :param name: the model's own, whatever address it is asked at.
    """
    from datagen.llm import LlmGenerator, LlmOutputs, LlmSequence, llm_validators

    return Steps(
        outputs=LlmOutputs(catalogue, model, cache),
        sequence=lambda rp: LlmSequence(catalogue, model, cache),
        generator=LlmGenerator(catalogue, model, cache),
        validators=lambda rp: (rules_validators(catalogue, rp), llm_validators(catalogue, rp, model, cache)),
        encoder=encoder,
        concurrency=_CONCURRENCY,
        model=name,
    )
