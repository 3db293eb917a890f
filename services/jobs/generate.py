"""Data generation: a snapshot in, a folder with labelled requests and their report out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from datagen.catalogue import ProfiledCatalogue
from datagen.models import LimitedChat, RecordedChat
from datagen.report import RunFigures, write_result
from datagen.run import Steps, equal_mix, make_requests, read_mix
from datagen.writing import BlindReader, ModelWriter, TemplateWriter
from inference import allowed_by_environment, load_encoder, require_allowed_model
from inference.cached_encoder import CachedEncoder
from inference.chat import ChatModel
from inference.result_cache import ResultCache
from ontology.errors import CatalogError, EgotoolsError, InvalidArgumentError
from ontology.files import only_writer
from ontology.ontology import load_ontology
from ontology.reporting import Progress
from retrieval.snapshot.reader import open_snapshot
from services.jobs.plans import DatagenPlan, open_chat

_CONCURRENCY = 4  # calls to a chat model at the same time


@dataclass(frozen=True, kw_only=True)
class Generation:
    """The result."""

    figures: RunFigures
    report: Path
    stopped: EgotoolsError | None  # what ended the generation early; everything written before is kept


def generate_requests(plan: DatagenPlan, progress: Progress) -> Generation:
    """Generate requests from the tools of a snapshot, and write them with their report. An invalid option is refused
    before anything is written; CatalogError when no request could be made."""
    wanted = equal_mix(plan.per_class) if plan.mix is None else read_mix(plan.mix, plan.per_class)
    models = _models(plan)
    snapshot = open_snapshot(plan.store)
    encoder_name = snapshot.manifest.encoder.name
    allowed = (*plan.allowed_models, *allowed_by_environment())
    require_allowed_model(encoder_name, allowed, subject=str(snapshot.folder))
    catalogue = ProfiledCatalogue.of(snapshot, load_ontology(plan.ontology))
    # Answers of a model are cached on the disk. Templates are faster than reading a cache, and a recording is one.
    kept = plan.out / "cache.sqlite" if models and plan.recording is None else None
    with only_writer(plan.out), ResultCache(kept) as cache:
        cached = CachedEncoder(load_encoder(encoder_name), cache)
        steps = Steps(writer=TemplateWriter(catalogue), reader=None, encoder=cached)
        if models:
            writer = ModelWriter(catalogue, models["writer"], cache)
            reader = BlindReader(catalogue, models["reader"], cache)
            steps = Steps(writer=writer, reader=reader, encoder=cached, concurrency=_CONCURRENCY)
        made = make_requests(catalogue, steps, wanted, seed=plan.seed, progress=progress)
        progress("report", 0, 0)
        figures = write_result(plan.out, made)
    report = plan.out / "report.md"
    if not made.requests and made.stopped is None:
        problem, remedy = "no request could be generated from this catalogue", f"See the reasons in {report}"
        raise CatalogError(problem, subject=str(plan.store), remedy=remedy)
    return Generation(figures=figures, report=report, stopped=made.stopped)


def _models(plan: DatagenPlan) -> Mapping[str, ChatModel]:
    """The models that write and read back; none for templates."""
    if plan.generator == "template":  # the URL may come from the environment
        given = {
            "--recording": plan.recording,
            "--reader-model": plan.reader_model,
            "--max-calls": plan.max_calls,
            "--llm-model": plan.endpoint.model,
            "--llm-max-tokens": plan.endpoint.max_tokens,
            "--llm-max-usd": plan.endpoint.max_usd,
            "--llm-usd-per-1k": plan.endpoint.usd_per_1k,
        }
        if option := next((option for option, value in given.items() if value), ""):
            problem, remedy = "the generator template uses no chat model", f"Add --generator llm, or leave out {option}"
            raise InvalidArgumentError(problem, subject=option, remedy=remedy)
        return {}
    if plan.generator != "llm":
        problem = f"there is no generator {plan.generator!r}"
        remedy = "Use llm, with a chat model, or template, which smoke-tests a catalogue"
        raise InvalidArgumentError(problem, subject="--generator", remedy=remedy)
    if plan.recording is not None:
        recorded = RecordedChat(plan.recording)
        return {"writer": recorded, "reader": recorded}
    budget = plan.endpoint.budget()
    writer = open_chat(plan.endpoint, needed_by="the generator llm", budget=budget)
    endpoint = plan.endpoint.of(plan.reader_model or plan.endpoint.model)
    reader = open_chat(endpoint, needed_by="the generator llm", budget=budget)
    if not plan.max_calls:
        return {"writer": writer, "reader": reader}
    return LimitedChat.sharing(plan.max_calls, writer=writer, reader=reader)
