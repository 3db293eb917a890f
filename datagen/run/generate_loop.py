"""The generation loop: generate, validate and select until each class is full, or no path has an attempt left."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from datagen.interfaces import GeneratedText, Generator, RequestValidator
from datagen.run.dedup import NearDuplicateFilter
from datagen.run.journal import Journal, Outcome
from datagen.run.queue import Attempt, PathQueue
from datagen.run.stored_rows import StoredRows, stored_rejections, stored_requests
from datagen.run.stored_vectors import StoredVectors
from datagen.synthetic_request import RejectedRequest, SyntheticRequest, Verdict
from datagen.tool_path import ToolPath
from datagen.validation.rules_validator import validate
from inference.concurrent_map import concurrent_map
from inference.encoder import Encoder
from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.progress import Progress
from retrieval.query.request import Request

__all__ = ["GeneratedRequests", "RequestGenerator", "generate_all"]

_BATCH = 16  # attempts for one class before the next class: a run that stops early has requests of all classes


@dataclass(frozen=True, kw_only=True)
class GeneratedRequests:
    """The requests of a run. They are on the disk, and read one by one: memory holds the place of each.

    :param requests: in the order of the classes, then in the order of acceptance.
    :param rejected: distinct rejections, in the order of the run.
    :param vectors: of the texts of the requests, in the order of acceptance.
    :param stopped: the error that ended the run early, or None.
    """

    requests: StoredRows[SyntheticRequest]
    rejected: StoredRows[RejectedRequest]
    vectors: StoredVectors = field(compare=False)
    stopped: EgotoolsError | None = None


@dataclass(frozen=True, kw_only=True)
class RequestGenerator:
    """Generates and validates requests; an outcome in the journal is not computed again.

    :param validators: in rounds; a request that fails in one round skips the next rounds.
    :param concurrency: number of requests that are processed at the same time.
    :param narrowed: returns a request with the alternatives of its tools that its words leave open.
    """

    generator: Generator
    validators: Sequence[Sequence[RequestValidator]]
    journal: Journal
    concurrency: int = 1
    narrowed: Callable[[SyntheticRequest], SyntheticRequest] = lambda request: request

    def requests(self, attempts: Sequence[Attempt]) -> Iterator[SyntheticRequest | RejectedRequest]:
        """Yield the outcome of each attempt in order, after writing it to the journal.

        :raises ModelError: when a model is needed and unavailable.
        :raises StorageError: when the journal cannot be written.
        """
        keyed = [(attempt.key, attempt) for attempt in attempts]
        outcomes = concurrent_map(
            keyed, lambda one: self.journal.get(one[0]) or self._outcome(one[1]), concurrency=self.concurrency
        )
        for (key, attempt), outcome in outcomes:
            if key not in self.journal:
                self.journal.keep(key, outcome)
            yield self._request(attempt, outcome)

    def _request(self, attempt: Attempt, outcome: Outcome) -> SyntheticRequest | RejectedRequest:
        if isinstance(outcome.generated, RejectedRequest):
            return outcome.generated
        request = self._unvalidated(attempt, outcome.generated)
        failed = next((verdict for verdict in outcome.verdicts if not verdict.passed), None)
        if failed is not None:
            return _rejection(request, "validate", f"{failed.check}: {failed.reason}")
        return replace(self.narrowed(request), verdicts=outcome.verdicts)

    def _unvalidated(self, attempt: Attempt, generated: GeneratedText) -> SyntheticRequest:
        return SyntheticRequest(
            id=attempt.id,
            text=generated.text,
            request_class=attempt.request_class,
            path=attempt.path,
            values=generated.values,
            generator=generated.by or self.generator.name,
        )

    def _outcome(self, attempt: Attempt) -> Outcome:
        generated = self.generator.generate(attempt.path, attempt.request_class, seed=attempt.generation_seed)
        if isinstance(generated, RejectedRequest):
            return Outcome(generated=generated)
        request = self._unvalidated(attempt, generated)
        try:
            Request(query=generated.text)
        except InvalidArgumentError as error:
            return Outcome(generated=_rejection(request, "generate", error.problem))
        verdicts: tuple[Verdict, ...] = ()
        for validators in self.validators:
            verdicts += validate(request, validators).verdicts
            if not all(verdict.passed for verdict in verdicts):
                break
        return Outcome(generated=generated, verdicts=verdicts)


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

    :param paths: map from class to its paths in order of preference, more than wanted.
    :param wanted: map from class to the wanted number of requests.
    :param encoder: encoder of the near-duplicate filter.
    :param seed: seed of the texts.
    """
    queues = [PathQueue(name, paths.get(name, ()), wanted=count, seed=seed) for name, count in wanted.items() if count]
    folder = generator.journal.folder
    selection = _Selection(
        duplicates=NearDuplicateFilter(encoder, folder),
        requests=stored_requests(list(wanted), folder),
        rejected=stored_rejections(folder),
    )
    stopped: EgotoolsError | None = None
    total = sum(wanted.values())
    progress("requests", 0, total)
    while stopped is None and any(batches := [queue.take(_BATCH) for queue in queues]):
        for queue, batch in zip(queues, batches, strict=True):
            made: list[SyntheticRequest | RejectedRequest] = []
            try:
                for request in generator.requests(batch):
                    made.append(request)  # one by one, to keep the requests before an error
            except EgotoolsError as error:
                stopped = error
            selection.select(queue, batch, made)
            progress("requests", len(selection.requests), total)
            if stopped is not None:
                break
    if stopped is None:
        generator.journal.settle()
    return GeneratedRequests(
        requests=selection.requests,
        rejected=selection.rejected,
        vectors=selection.duplicates.vectors,
        stopped=stopped,
    )


@dataclass(frozen=True, kw_only=True)
class _Selection:
    """Accepts requests that passed and are not near-duplicates.

    :param seen: the hashes of the rejections: equal ones are told once.
    """

    duplicates: NearDuplicateFilter
    requests: StoredRows[SyntheticRequest]
    rejected: StoredRows[RejectedRequest]
    seen: set[bytes] = field(default_factory=set)

    def select(
        self, queue: PathQueue, batch: Sequence[Attempt], made: Sequence[SyntheticRequest | RejectedRequest]
    ) -> None:
        """Select from the outcomes of a batch; ``made`` is shorter than the batch where an error stopped it."""
        texts = [request.text for request in made if isinstance(request, SyntheticRequest)]
        candidates = iter(self.duplicates.encode(texts))
        for attempt, request in zip(batch, made, strict=False):
            if isinstance(request, SyntheticRequest):
                candidate = next(candidates)
                duplicate = self.duplicates.find_duplicate(request.text, candidate)
                if not duplicate:
                    self.duplicates.add(request.id, request.text, candidate)
                    self.requests.append(request, request.request_class)
                    queue.keep(attempt)
                    continue
                request = _rejection(request, "diversity", duplicate)
            self._reject(request)
            # no seed gave a text: another would not either (on the company, aws3 and vendors4 it halved the attempts and lost no request)
            queue.reject(attempt, final=request.is_final)

    def _reject(self, rejected: RejectedRequest) -> None:
        key = hashlib.sha256(json.dumps(asdict(rejected)).encode()).digest()[:16]
        if key not in self.seen:
            self.seen.add(key)
            self.rejected.append(rejected)


def _rejection(request: SyntheticRequest, stage: str, reason: str) -> RejectedRequest:
    return RejectedRequest(
        stage=stage,
        subject=request.path.tools,
        reason=reason,
        request_class=request.request_class,
        text=request.text,
    )
