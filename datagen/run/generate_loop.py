"""The loop that generates, validates and selects: until each class has what is wanted, or paths and attempts run out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from datagen.run.dedup import KeptTexts
from datagen.run.journal import Journal, Outcome
from datagen.run.queue import Queue, Unit
from datagen.seams import GeneratedText, Generator, RequestValidator
from datagen.synthetic_request import RejectedRequest, SyntheticRequest, Verdict
from datagen.tool_path import ToolPath
from datagen.validation.rules_validator import validate
from inference.concurrent_map import concurrent_map
from inference.encoder import Encoder
from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.progress import Progress
from retrieval.retriever import Request

__all__ = ["GeneratedRequests", "Progress", "RequestGenerator", "generate_all"]

_WAVE = 16  # units of one class before the next has its turn: a run that stops early has requests of all


@dataclass(frozen=True, kw_only=True)
class GeneratedRequests:
    """What came of it.

    :param requests: by class in the order of the classes, then in the order they were kept.
    :param rejected: each thing once, in the order it happened.
    :param stopped: what ended it before its end, or None.
    """

    requests: tuple[SyntheticRequest, ...]
    rejected: tuple[RejectedRequest, ...]
    stopped: EgotoolsError | None = None


@dataclass(frozen=True, kw_only=True)
class RequestGenerator:
    """Generates requests and has them validated; an outcome that the journal has is not computed again.

    :param validators: in rounds; a request that fails in one is not put before the next.
    :param concurrency: how many requests are worked on at once.
    """

    generator: Generator
    validators: Sequence[Sequence[RequestValidator]]
    journal: Journal
    concurrency: int = 1

    def generate(self, units: Sequence[Unit]) -> Iterator[tuple[Unit, Outcome]]:
        """Each unit with its outcome, written down, in order.

        :raises ModelError: when a model is needed and dead.
        :raises StorageError: when the disk cannot be written to.
        """
        for unit, outcome in concurrent_map(units, self._outcome, concurrency=self.concurrency):
            if self.journal.get(unit.key) is None:
                self.journal.keep(unit.key, outcome)
            yield unit, outcome

    def request(self, unit: Unit, outcome: Outcome) -> SyntheticRequest | RejectedRequest:
        """What a unit became by its outcome."""
        if isinstance(outcome.generated, RejectedRequest):
            return outcome.generated
        request = self._made(unit, outcome.generated, outcome.verdicts)
        failed = next((verdict for verdict in outcome.verdicts if not verdict.passed), None)
        return request if failed is None else _rejection(request, "validate", f"{failed.check}: {failed.reason}")

    def _made(self, unit: Unit, generated: GeneratedText, verdicts: tuple[Verdict, ...] = ()) -> SyntheticRequest:
        return SyntheticRequest(
            id=unit.id,
            text=generated.text,
            request_class=unit.request_class,
            path=unit.path,
            values=generated.values,
            generator=self.generator.name,
            verdicts=verdicts,
        )

    def _outcome(self, unit: Unit) -> Outcome:
        return self.journal.get(unit.key) or self._asked(unit)

    def _asked(self, unit: Unit) -> Outcome:
        generated = self.generator.generate(unit.path, unit.request_class, seed=unit.generation_seed)
        if isinstance(generated, RejectedRequest):
            return Outcome(generated=generated)
        request = self._made(unit, generated)
        try:
            Request(query=generated.text)
        except InvalidArgumentError as error:
            return Outcome(generated=_rejection(request, "generate", error.problem))
        for validators in self.validators:
            validated = validate(request, validators).verdicts
            request = replace(request, verdicts=request.verdicts + validated)
            if not all(verdict.passed for verdict in validated):
                break
        return Outcome(generated=generated, verdicts=request.verdicts)


def generate_all(
    paths: Mapping[str, Sequence[ToolPath]],
    wanted: Mapping[str, int],
    generator: RequestGenerator,
    encoder: Encoder,
    *,
    seed: int,
    progress: Progress,
) -> GeneratedRequests:
    """Generate requests of each class over its paths.

    :param paths: class → paths in order of preference, more than are wanted.
    :param wanted: class → how many requests.
    :param encoder: tells requests that are alike.
    :param seed: another seed, other texts.
    """
    queues = [Queue(name, paths.get(name, ()), wanted=count, seed=seed) for name, count in wanted.items() if count]
    choice = _Choice(generator=generator, kept=KeptTexts(encoder), requests=[], rejected=[])
    stopped: EgotoolsError | None = None
    total = sum(wanted.values())
    progress("requests", 0, total)
    while stopped is None and any(waves := [queue.take(_WAVE) for queue in queues]):
        for queue, wave in zip(queues, waves, strict=True):
            outcomes, stopped = _outcomes(wave, generator)
            choice.choose(queue, outcomes)
            progress("requests", len(choice.requests), total)
            if stopped is not None:
                break
    if stopped is None:
        generator.journal.settle()
    order = list(wanted)
    requests = sorted(choice.requests, key=lambda request: order.index(request.request_class))
    return GeneratedRequests(requests=tuple(requests), rejected=tuple(dict.fromkeys(choice.rejected)), stopped=stopped)


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """Keeps what passed and adds something."""

    generator: RequestGenerator
    kept: KeptTexts
    requests: list[SyntheticRequest]
    rejected: list[RejectedRequest]

    def choose(self, queue: Queue, outcomes: Sequence[tuple[Unit, Outcome]]) -> None:
        made = [(unit, self.generator.request(unit, outcome)) for unit, outcome in outcomes]
        texts = [request.text for _, request in made if isinstance(request, SyntheticRequest)]
        vectors = iter(self.kept.encode(texts))
        for unit, request in made:
            if isinstance(request, SyntheticRequest):
                vector = next(vectors)
                likeness = self.kept.likeness(request.text, vector)
                if not likeness:
                    self.kept.keep(request.id, request.text, vector)
                    self.requests.append(request)
                    queue.keep(unit)
                    continue
                request = _rejection(request, "diversity", likeness)
            self.rejected.append(request)
            queue.reject(unit)


def _outcomes(
    wave: Sequence[Unit], generator: RequestGenerator
) -> tuple[list[tuple[Unit, Outcome]], EgotoolsError | None]:
    """The outcomes of a wave up to the one that could not be had, and why not."""
    outcomes: list[tuple[Unit, Outcome]] = []
    try:
        for each in generator.generate(wave):
            outcomes.append(each)  # one by one: what came before an error is kept
    except EgotoolsError as error:
        return outcomes, error
    return outcomes, None


def _rejection(request: SyntheticRequest, stage: str, reason: str) -> RejectedRequest:
    return RejectedRequest(
        stage=stage,
        subject=request.path.tools,
        reason=reason,
        request_class=request.request_class,
        text=request.text,
    )
