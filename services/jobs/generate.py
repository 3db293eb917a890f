"""Data generation: a snapshot in, a folder with labelled requests and their report out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from datagen.generation import RulesGenerator
from datagen.interfaces import Generator
from datagen.paths.rules_outputs import RulesOutputs
from datagen.paths.rules_sequence import RulesSequence
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.report.figures import RunFigures
from datagen.report.result_files import write_result
from datagen.run.class_mix import equal_mix, read_mix
from datagen.run.make_requests import Steps, make_requests
from datagen.tool_links import ToolLinks
from datagen.validation.rules_validator import rules_validators
from inference import allowed_by_environment, load_encoder, require_allowed_model
from inference.cached_encoder import CachedEncoder
from inference.chat import ChatModel
from inference.encoder import Encoder
from inference.result_cache import ResultCache
from ontology.errors import CatalogError, EgotoolsError, InvalidArgumentError
from ontology.files import only_writer
from ontology.ontology_file import load_ontology
from ontology.progress import Progress
from retrieval.snapshot.reader import open_snapshot
from services.jobs.generate_further import FurtherRequests, write_further
from services.jobs.model_factory import open_chat
from services.jobs.plans import DatagenPlan

__all__ = ["Generation", "generate_requests"]

_GENERATORS = ("rules", "llm")
_WORDING = "wording"
_CONCURRENCY = 4  # calls to a chat model at the same time


@dataclass(frozen=True, kw_only=True)
class Generation:
    """The result.

    :param figures: the figures of the report.
    :param further: the requests beside those of the six classes.
    :param report: the file of the report.
    :param stopped: the error that ended the generation early, or None. Everything generated before is written.
    """

    figures: RunFigures
    further: FurtherRequests
    report: Path
    stopped: EgotoolsError | None


def generate_requests(plan: DatagenPlan, progress: Progress) -> Generation:
    """Generate requests from the tools of a snapshot, and write them with their report.

    :raises InvalidArgumentError: for an invalid option, before anything is written.
    :raises CatalogError: when no request could be generated; the report has the reasons.
    :raises EgotoolsError: for an error before the first request is generated.
    """
    wanted = equal_mix(plan.per_class) if plan.mix is None else read_mix(plan.mix, plan.per_class)
    if plan.generator not in _GENERATORS:
        raise InvalidArgumentError(
            f"there is no generator {plan.generator!r}",
            subject="--generator",
            remedy=f"Use {' or '.join(_GENERATORS)}",
        )
    if plan.generator != "llm":
        _reject_model_options(plan)
    model = open_chat(plan.endpoint, needed_by="the generator llm") if plan.generator == "llm" else None
    snapshot = open_snapshot(plan.store)
    encoder_name = snapshot.manifest.encoder.name
    allowed = (*plan.allowed_models, *allowed_by_environment())
    require_allowed_model(encoder_name, allowed, subject=str(snapshot.folder))
    catalogue = ProfiledCatalogue.of(snapshot, load_ontology(plan.ontology))
    # Answers of a model are cached on the disk. The rules are faster than reading a cache.
    with only_writer(plan.out), ResultCache(plan.out / "cache.sqlite" if model else None) as cache:
        encoder = CachedEncoder(load_encoder(encoder_name), cache)
        steps = _rules_steps(catalogue, encoder)
        if model is not None:
            steps = _llm_steps(plan, steps, catalogue, model, cache)
        made = make_requests(catalogue, steps, wanted, folder=plan.out, seed=plan.seed, progress=progress)
        progress("report", 0, 0)
        figures = write_result(plan.out, made, encoder)
        further = write_further(plan, catalogue, made)
    report = plan.out / "report.md"
    if not made.generated.requests and made.generated.stopped is None:
        raise CatalogError(
            "no request could be generated from this catalogue",
            subject=str(plan.store),
            remedy=f"See the reasons in {report}",
        )
    return Generation(figures=figures, further=further, report=report, stopped=made.generated.stopped)


def _reject_model_options(plan: DatagenPlan) -> None:
    """Reject options that only a chat model heeds; the URL may come from the environment, so it is none of them.

    :raises InvalidArgumentError: for the first such option that is given.
    """
    given = {
        "--llm-steps": plan.llm_steps is not None,
        "--reworded-only": plan.reworded_only,
        "--llm-model": bool(plan.endpoint.model),
        "--llm-max-tokens": bool(plan.endpoint.max_tokens),
        "--llm-max-usd": bool(plan.endpoint.max_usd),
        "--llm-usd-per-1k": bool(plan.endpoint.usd_per_1k),
    }
    for option, is_given in given.items():
        if is_given:
            raise InvalidArgumentError(
                f"the generator {plan.generator!r} uses no chat model",
                subject=option,
                remedy=f"Add --generator llm, or leave out {option}",
            )


def _rules_steps(catalogue: ProfiledCatalogue, encoder: Encoder) -> Steps:
    """The rule-based steps."""
    generator = RulesGenerator(catalogue)
    return Steps(
        outputs=RulesOutputs(catalogue),
        sequence=lambda rp: RulesSequence(catalogue, rp),
        generator=lambda rp: generator,
        validators=lambda rp: (rules_validators(catalogue, rp),),
        encoder=encoder,
    )


def _llm_steps(
    plan: DatagenPlan, rules: Steps, catalogue: ProfiledCatalogue, model: ChatModel, cache: ResultCache
) -> Steps:
    """The rule-based steps with a chat model in those that the plan names. The rules validate first: they cost nothing."""
    from datagen.llm import LlmGenerator, LlmOutputs, LlmSequence, ParaphraseCheck, Paraphraser, llm_validators

    def reworded(rp: ToolLinks) -> Generator:
        check = ParaphraseCheck(catalogue, rules_validators(catalogue, rp))
        return LlmGenerator(
            rules.generator(rp), check, Paraphraser(check, model, cache), fallback=not plan.reworded_only
        )

    by_model: dict[str, Any] = {
        _WORDING: {"generator": reworded},
        "outputs": {"outputs": LlmOutputs(catalogue, model, cache)},
        "sequence": {"sequence": lambda rp: LlmSequence(catalogue, model, cache)},
        "verdicts": {
            "validators": lambda rp: (*rules.validators(rp), llm_validators(catalogue, rp, model, cache)),
        },
    }
    chosen = _llm_step_names(_WORDING if plan.llm_steps is None else plan.llm_steps, by_model)
    replaced = {field: step for name in chosen for field, step in by_model[name].items()}
    return replace(rules, **replaced, concurrency=_CONCURRENCY, model=plan.endpoint.model)


def _llm_step_names(names: str, known: Collection[str]) -> list[str]:
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    unknown = sorted(set(chosen) - set(known))
    if unknown or not chosen:
        problem = f"there is no step {unknown[0]!r}" if unknown else "no step is named"
        raise InvalidArgumentError(problem, subject="--llm-steps", remedy=f"Use some of {', '.join(known)}")
    return chosen
