"""Data generation: a snapshot in, a folder with labelled requests and their report out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from datagen.catalogue import ProfiledCatalogue
from datagen.long_tasks import make_long_tasks
from datagen.models import LimitedChat, RecordedChat
from datagen.report import RunFigures, write_result
from datagen.run import RunResult, Steps, equal_mix, make_requests, read_mix
from datagen.unanswerable import make_unanswerable
from datagen.writing import BlindReader, ModelWriter, TemplateWriter
from inference import allowed_by_environment, load_encoder, require_allowed_model
from inference.cached_encoder import CachedEncoder
from inference.chat import ChatModel
from inference.result_cache import ResultCache
from ontology.errors import CatalogError, EgotoolsError, InvalidArgumentError
from ontology.files import disk_errors, only_writer, write_rows
from ontology.ontology import load_ontology
from ontology.reporting import Progress
from retrieval.snapshot.reader import open_snapshot
from services.jobs.plans import DatagenPlan, open_chat

_UNANSWERABLE, _LONG_TASKS = "unanswerable.jsonl", "long_tasks.jsonl"
_CONCURRENCY = 4  # calls to a chat model at the same time


@dataclass(kw_only=True)
class Further:
    """The requests beside those of the six classes, by the file that was asked for."""

    made: dict[str, int] = field(default_factory=dict)  # number of requests
    wanted: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, tuple[str, ...]] = field(default_factory=dict)  # what was left out, one sentence each
    absent: tuple[str, ...] = ()  # kinds of requests that no tool serves for which nothing was found, one sentence each


@dataclass(frozen=True, kw_only=True)
class Generation:
    """The result."""

    figures: RunFigures
    further: Further
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
        further, stopped = _write_further(plan, made, steps)
    report = plan.out / "report.md"
    if not made.requests and made.stopped is None:
        problem, remedy = "no request could be generated from this catalogue", f"See the reasons in {report}"
        raise CatalogError(problem, subject=str(plan.store), remedy=remedy)
    return Generation(figures=figures, further=further, report=report, stopped=made.stopped or stopped)


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


def _write_further(plan: DatagenPlan, made: RunResult, steps: Steps) -> tuple[Further, EgotoolsError | None]:
    """Write the further requests of a plan, remove a file that it does not ask for, and return the error that stopped the long tasks."""
    wanted = {_UNANSWERABLE: plan.unanswerable, _LONG_TASKS: plan.long}
    for name in (name for name, count in wanted.items() if not count):
        with disk_errors(plan.out):
            (plan.out / name).unlink(missing_ok=True)
    further = Further(wanted={name: count for name, count in wanted.items() if count})
    if plan.unanswerable:
        none = make_unanswerable(made.catalogue, made.requests, plan.unanswerable, seed=plan.seed)
        further.made[_UNANSWERABLE], further.reasons[_UNANSWERABLE] = len(none.requests), none.left_out
        further.absent = none.absent
        write_rows(plan.out / _UNANSWERABLE, (one.to_json() for one in none.requests))
    if plan.long and made.stopped is None:
        try:
            long = make_long_tasks(made.catalogue, made.requests, steps, plan.long, seed=plan.seed)
        except EgotoolsError as error:
            return further, error
        further.made[_LONG_TASKS], further.reasons[_LONG_TASKS] = len(long.tasks), long.reasons
        write_rows(plan.out / _LONG_TASKS, (one.to_json() for one in long.tasks))
    return further, None
