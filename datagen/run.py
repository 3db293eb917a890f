"""A run of data generation: outputs, edges, paths, then requests of each class until it is full or no path has an attempt left."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import yaml
from pydantic import Field, TypeAdapter, ValidationError

from datagen.catalogue import ProfiledCatalogue
from datagen.paths.alternatives import InterchangeableTools
from datagen.paths.edges import build_rp_graph
from datagen.paths.outputs import OutputRules, ToolOutputs
from datagen.paths.sampler import FoundPaths, find_paths
from datagen.paths.sequence import SequenceRules
from datagen.requests import CLASSES, DEPENDENT_CLASSES, RejectedRequest, SyntheticRequest, ToolLinks, ToolPath
from datagen.writing import BlindReader, Writer
from inference.encoder import Encoder, Floats1d
from inference.retry import concurrent_map
from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.files import read_bounded
from ontology.json_values import first_error
from ontology.names import words
from ontology.reporting import Progress

MAX_PER_CLASS = 1_000_000
MAX_COSINE = 0.95  # a text with a higher cosine to an accepted one is a near-duplicate
_MAX_REJECTIONS = 2  # attempts at a path in a row: each has other values and another style
_MAX_REQUESTS = 3  # of one class for a path, where a class has too few paths
_BATCH = 16  # attempts for one class before the next class: a run that stops early has requests of all classes
_PER_REQUEST, _PER_DEPENDENT = (
    2.0,
    12.0,
)  # paths for each wanted request: most paths of dependent steps make no sense to a writer
_EXTRA_PATHS = 10
# The requests that "Planning Agents on an Ego-Trip" measures: the smallest numbers with all percentages of its table 3
_PAPER = dict(zip(CLASSES, (75, 85, 111, 74, 80, 78), strict=True))
_SHARES = TypeAdapter(dict[Literal[CLASSES], Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]])  # type: ignore[valid-type]
_REMEDY = f"Give a share for each class, of these: {', '.join(CLASSES)}; or --mix paper for the shares of the paper"


def equal_mix(per_class: int) -> dict[str, int]:
    """Return the same number for each class.

    :raises InvalidArgumentError: when it is below 1 or above 1,000,000.
    """
    if not 1 <= per_class <= MAX_PER_CLASS:
        raise InvalidArgumentError(
            f"{per_class} requests a class cannot be made", subject="--per-class", remedy=f"Give 1 to {MAX_PER_CLASS:,}"
        )
    return dict.fromkeys(CLASSES, per_class)


def read_mix(file: Path, per_class: int) -> dict[str, int]:
    """Divide six times ``per_class`` requests by the shares of a YAML or JSON file, class → share, which need not add up to 1; ``paper`` where
    there is no such file.

    :raises InvalidArgumentError: when the file cannot be read, or for an invalid class or share.
    """
    total = sum(equal_mix(per_class).values())
    if str(file) == "paper" and not file.exists():
        return _apportion(_PAPER, total)
    try:
        shares = _SHARES.validate_python(yaml.safe_load(read_bounded(file)))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        problem = first_error(error) if isinstance(error, ValidationError) else " ".join(str(error).split())
        raise InvalidArgumentError(f"the mix cannot be read: {problem}", subject=str(file), remedy=_REMEDY) from error
    if not any(shares.values()):
        raise InvalidArgumentError("the mix has no request", subject=str(file), remedy=_REMEDY)
    return _apportion({name: shares.get(name, 0) for name in CLASSES}, total)


def _apportion(weights: Mapping[str, float], total: int) -> dict[str, int]:
    """Return integers in proportion to the weights that add up to the total (largest remainder; ties: earlier class)."""
    whole = sum(weights.values())
    exact = {name: total * weight / whole for name, weight in weights.items()}
    counts = {name: math.floor(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Who writes, who reads back, and how the texts are compared."""

    writer: Writer
    reader: BlindReader | None  # None where nobody reads back
    encoder: Encoder  # the encoder of the catalogue's snapshot
    concurrency: int = 1  # number of requests that are written at the same time; it does not change the result


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The results of all steps for one catalogue."""

    catalogue: ProfiledCatalogue
    seed: int
    wanted: Mapping[str, int]  # map from class to the wanted number of requests
    names: Mapping[str, str]
    outputs: ToolOutputs
    rp: ToolLinks
    paths: FoundPaths
    requests: Sequence[SyntheticRequest]  # in the order of the classes, then in the order of acceptance
    rejected: Sequence[RejectedRequest]  # distinct rejections of all steps, in the order of the run
    stopped: EgotoolsError | None = None  # the error that ended the run early, or None


def make_requests(
    catalogue: ProfiledCatalogue, steps: Steps, wanted: Mapping[str, int], *, seed: int, progress: Progress
) -> RunResult:
    """Generate requests from a catalogue. Deterministic, given the answers of the models.

    :param wanted: map from class to the wanted number of requests.
    :raises EgotoolsError: for an error before the first request is written; a later error is in the result.
    """
    progress("outputs", 0, 0)
    outputs = OutputRules(catalogue).find()
    progress("edges", 0, 0)
    rp = build_rp_graph(catalogue, outputs)
    sequence = SequenceRules(catalogue, rp)
    paths = find_paths(catalogue, rp, sequence, wanted=_paths_for(wanted), seed=seed, progress=progress)
    run = _Run(catalogue, rp, steps, seed)
    queues = [_Queue(name, paths.by_class[name], wanted=count) for name, count in wanted.items() if count]
    stopped: EgotoolsError | None = None
    total = sum(wanted.values())
    progress("requests", 0, total)
    while stopped is None and any(batches := [queue.take(_BATCH) for queue in queues]):
        for queue, batch in zip(queues, batches, strict=True):
            stopped = stopped or run.fill(queue, batch)
            progress("requests", len(run.accepted), total)
    return RunResult(
        catalogue=catalogue,
        seed=seed,
        wanted=wanted,
        names={
            "writer": steps.writer.name,
            "reader": steps.reader.name if steps.reader else "",
            "encoder": steps.encoder.name,
        },
        outputs=outputs,
        rp=rp,
        paths=paths,
        requests=sorted(run.accepted, key=lambda one: list(wanted).index(one.request_class)),
        rejected=tuple(dict.fromkeys((*outputs.rejected, *paths.rejected, *run.rejected))),
        stopped=stopped,
    )


def _paths_for(wanted: Mapping[str, int]) -> dict[str, int]:
    """The number of paths for each class: more than requests, because some are rejected."""
    shares = {name: _PER_DEPENDENT if name in DEPENDENT_CLASSES else _PER_REQUEST for name in wanted}
    return {name: math.ceil(shares[name] * count) + _EXTRA_PATHS if count else 0 for name, count in wanted.items()}


def _seed_of(*parts: object) -> int:
    """Return a seed of 32 bits that depends on all parts."""
    text = "\n".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt at one request; ``number`` counts those for this path in this class, from 0."""

    path: ToolPath
    request_class: str
    number: int = 0

    @property
    def id(self) -> str:
        return f"{self.request_class}-{self.path.id}-{self.number}"


class _Run:
    """Writes, checks and selects; each outcome is a function of its attempt, so that threads change nothing."""

    def __init__(self, catalogue: ProfiledCatalogue, rp: ToolLinks, steps: Steps, seed: int) -> None:
        self._steps, self._seed = steps, seed
        self._alternatives = InterchangeableTools(catalogue, rp)
        self.duplicates = NearDuplicates(steps.encoder)
        self.accepted: list[SyntheticRequest] = []
        self.rejected: list[RejectedRequest] = []

    def fill(self, queue: _Queue, batch: Sequence[_Attempt]) -> EgotoolsError | None:
        """Select from the outcomes of a batch; return the error that stopped it, if one did."""
        outcomes: list[tuple[_Attempt, SyntheticRequest | RejectedRequest]] = []
        stopped = None
        try:
            for outcome in concurrent_map(batch, self._outcome, concurrency=self._steps.concurrency):
                outcomes.append(outcome)  # one by one, to keep the requests before an error
        except EgotoolsError as error:
            stopped = error
        texts = [made.text for _, made in outcomes if isinstance(made, SyntheticRequest)]
        vectors: Iterator[Floats1d] = iter(self._steps.encoder.encode(texts) if texts else ())
        for attempt, made in outcomes:
            if isinstance(made, SyntheticRequest):
                vector = next(vectors)
                duplicate = self.duplicates.add(made.id, made.text, vector)
                if not duplicate:
                    self.accepted.append(made)
                    queue.keep(attempt)
                    continue
                made = _rejected(made, "diversity", duplicate)
            self.rejected.append(made)
            queue.reject(attempt, final=made.final)
        return stopped

    def _outcome(self, attempt: _Attempt) -> SyntheticRequest | RejectedRequest:
        seed = _seed_of(self._seed, attempt.id, *attempt.path.tools)
        made = self._steps.writer.write(attempt.path, attempt.request_class, id=attempt.id, seed=seed)
        return (
            made
            if isinstance(made, RejectedRequest)
            else _read_back(self._alternatives.narrowed(made), self._steps, seed)
        )


def _read_back(request: SyntheticRequest, steps: Steps, seed: int) -> SyntheticRequest | RejectedRequest:
    """Return a request with the verdicts of the reader, or a rejection; as it is where nobody reads back. Raises
    ModelError when the reader's model is unavailable."""
    if steps.reader is None:
        return request
    verdicts = steps.reader.read(request, seed=seed)
    if isinstance(verdicts, str):
        return _rejected(request, "validate", verdicts)
    if failed := next((one for one in verdicts if not one.passed), None):
        return _rejected(request, "validate", f"{failed.check}: {failed.reason}")
    return replace(request, verdicts=verdicts)


def _rejected(request: SyntheticRequest, stage: str, reason: str) -> RejectedRequest:
    return RejectedRequest(
        stage=stage,
        subject=request.path.tools,
        reason=reason,
        request_class=request.request_class,
        text=request.text,
    )


class _Queue:
    """The paths of one class in the order of their attempts: fresh ones after rejected ones, accepted ones again at the end."""

    def __init__(self, request_class: str, paths: Sequence[ToolPath], *, wanted: int) -> None:
        distinct = {path.id: path for path in reversed(paths)}
        fresh = [path for path in paths if distinct[path.id] is path]
        self._fresh = iter([_Attempt(path, request_class) for path in fresh])
        self._wanted, self._kept = wanted, 0
        self._retried: deque[_Attempt] = deque()
        self._repeated: deque[_Attempt] = deque()
        self._rejections: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()

    def take(self, most: int) -> list[_Attempt]:
        """Return the next attempts, at most ``most`` and the number still wanted; none if full or exhausted."""
        taken: list[_Attempt] = []
        needed = min(self._wanted - self._kept, most)
        for waiting in (_popped(self._retried), self._fresh, _popped(self._repeated)):
            taken.extend(islice(waiting, max(needed - len(taken), 0)))
        return taken

    def keep(self, attempt: _Attempt) -> None:
        """Record that the request of an attempt was accepted."""
        self._kept += 1
        self._requests[attempt.path.id] += 1
        self._rejections.pop(attempt.path.id, None)
        if self._requests[attempt.path.id] < _MAX_REQUESTS:
            self._repeated.append(replace(attempt, number=attempt.number + 1))

    def reject(self, attempt: _Attempt, *, final: bool) -> None:
        """Record that an attempt was rejected; a final one is not tried again."""
        self._rejections[attempt.path.id] += 1
        if not final and self._rejections[attempt.path.id] < _MAX_REJECTIONS:
            self._retried.append(replace(attempt, number=attempt.number + 1))


def _popped(waiting: deque[_Attempt]) -> Iterator[_Attempt]:
    while waiting:
        yield waiting.popleft()


class NearDuplicates:
    """The accepted texts, by their words and by their vectors."""

    def __init__(self, encoder: Encoder) -> None:
        self._ids: list[str] = []
        self._by_words: dict[str, str] = {}
        self._stacked = np.zeros((0, encoder.dimensions), dtype=np.float32)
        self._recent: list[Floats1d] = []

    def add(self, text_id: str, text: str, vector: Floats1d) -> str:
        """Add a text, or return why it is a near-duplicate: one sentence without a full stop."""
        said = " ".join(words(text))
        if said in self._by_words:
            return f"it says the same as {self._by_words[said]}"
        if len(self._recent) > len(self._stacked) // 8 + 64:
            self._stacked, self._recent = np.concatenate([self._stacked, *(one[None] for one in self._recent)]), []
        cosines = np.concatenate([self._stacked @ vector, [float(one @ vector) for one in self._recent]])
        if len(cosines) and float(cosines.max()) > MAX_COSINE:
            nearest = int(cosines.argmax())
            return f"its cosine to {self._ids[nearest]} is {float(cosines[nearest]):.3f}, above {MAX_COSINE}"
        self._ids.append(text_id)
        self._by_words[said] = text_id
        self._recent.append(vector)
        return ""
