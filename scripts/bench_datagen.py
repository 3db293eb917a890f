"""Speed of data generation: ``python -m scripts.bench_datagen``; part of ``make bench``.

Finds paths over the shipped company and over 3,000 and 10,000 tools of a large catalogue, and compares their cost with encoding the
catalogue's distinct inputs once. Then makes 600 requests over as many paths as ``egotools datagen`` takes for them, with all attempts
that are rejected, and compares that with encoding once those that were made: both sides are of the same requests, however many there
are. Seconds are of processor time of one thread, so that other work on the machine counts little. The large catalogue is ``../shared/bench/scale_44k`` where it
lies beside the checkout, else every operation of botocore and google-api-python-client, else what ``--catalog`` names, a
``tools.jsonl`` of a snapshot among them. The exit code is 1 when a threshold is missed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from datagen.generation import RulesGenerator
from datagen.interfaces import GeneratedText, RequestValidator
from datagen.paths.path_sampler import FoundPaths, find_paths
from datagen.paths.pp_graph import build_pp_graph
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.paths.rules_sequence import RulesSequence
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.run.make_requests import paths_for
from datagen.run.queue import PathQueue
from datagen.synthetic_request import CLASSES, RejectedRequest, SyntheticRequest
from datagen.validation.rules_validator import rules_validators, validate
from inference import load_encoder
from inference.arrays import Floats2d
from inference.encoder import Encoder
from ontology.ontology_file import load_ontology
from ontology.tool import Tool
from scripts.run_command import run_command
from scripts.speed.builds import catalog_tools

_WANTED = 600
_COMPANY = Path(__file__).parents[1] / "examples" / "enterprise" / "catalog"
_ENCODER = "egotools-minilm-int8.v1"

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class RequestRates:
    """Requests that one thread makes.

    :param made: distinct requests that passed, of ``wanted``.
    :param attempts: attempts at them; ``worded`` of these had a text, which was validated.
    :param wording_s: all attempts; ``checking_s``: validating all texts.
    :param encoding_s: encoding each request made once.
    """

    wanted: int = 0
    made: int = 0
    attempts: int = 0
    worded: int = 0
    wording_s: float = 0.0
    checking_s: float = 0.0
    encoding_s: float = 0.0

    @property
    def seconds(self) -> float:
        """Wording and checking, with all that was rejected."""
        return self.wording_s + self.checking_s


@dataclass(frozen=True, kw_only=True)
class DatagenTimes:
    """What was measured of one catalogue.

    :param seconds: step → seconds; those of the P-P graph without encoding. The last step indexes what validation compares with.
    :param encoding_s: encoding each distinct input once.
    """

    tools: int
    inputs: int
    seconds: dict[str, float]
    encoding_s: float
    rp_edges: int
    pp_edges: int
    paths: int
    requests: RequestRates

    @property
    def paths_s(self) -> float:
        """Everything up to the paths, without encoding."""
        return sum(self.seconds.values())

    @property
    def met(self) -> bool:
        """Whether paths cost no more than encoding, and wording and checking no more than encoding the requests."""
        requests = self.requests
        return self.paths_s <= self.encoding_s and 0 < requests.seconds <= requests.encoding_s


class _Timed:
    """An encoder that notes how long it took, and how much it was given."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name, self.dimensions, self.digest = encoder.name, encoder.dimensions, encoder.digest
        self.seconds, self.texts = 0.0, 0

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """As the encoder does."""
        start = time.process_time()
        rows = self._encoder.encode(texts)
        self.seconds += time.process_time() - start
        self.texts += len(texts)
        return rows


def main(
    tools: Annotated[
        list[int] | None,
        typer.Option(help="how many tools of the large catalogue, spread evenly; may be repeated; 0: only the company"),
    ] = None,
    catalog: Annotated[list[str] | None, typer.Option(help="address to read the tools from; may be repeated")] = None,
) -> None:
    """Run the benchmark."""
    encoder, missed = load_encoder(_ENCODER), False
    for chosen in _catalogues(tools or [3_000, 10_000], catalog):
        times = measure_datagen(chosen, encoder)
        print(table_of(times), end="\n\n", flush=True)
        missed |= not times.met
    if missed:
        print("A threshold is missed: paths and requests within the cost of encoding what they consist of.")
        raise typer.Exit(1)
    print("Every threshold is met.")


def _catalogues(sizes: Sequence[int], catalog: Sequence[str] | None) -> Iterator[Sequence[Tool]]:
    """Yield the tools of the shipped company, then so many of the large catalogue; a size above its own is its own."""
    yield catalog_tools([str(file) for file in sorted(_COMPANY.iterdir())])
    if not any(sizes):
        return
    large = catalog_tools(catalog)
    for size in sorted({min(size, len(large)) for size in sizes if size}):
        yield large[:: len(large) // size][:size]


def measure_datagen(tools: Sequence[Tool], encoder: Encoder) -> DatagenTimes:
    """Time each step up to the paths, generation and validation over these tools."""
    catalogue = ProfiledCatalogue(snapshot_id="", tools=tuple(tools), ontology=load_ontology())
    timed, seconds = _Timed(encoder), dict[str, float]()
    _step(seconds, "profiles", lambda: catalogue.profiles)
    outputs = _step(seconds, "outputs", lambda: RulesOutputs(catalogue).find())
    rp = _step(seconds, "R-P graph", lambda: build_rp_graph(catalogue, outputs))
    pp = _step(seconds, "P-P graph", lambda: build_pp_graph(catalogue, timed))
    seconds["P-P graph"] -= timed.seconds
    wanted = paths_for(dict.fromkeys(CLASSES, _WANTED // len(CLASSES)))
    sequence, generator = RulesSequence(catalogue, rp), RulesGenerator(catalogue)
    _step(seconds, "words of the tools", lambda: [generator.no_words(tool.id) for tool in catalogue.tools])
    find = partial(
        find_paths,
        catalogue,
        rp,
        pp.links,
        sequence,
        wanted=wanted,
        no_words=generator.no_words,
        no_part=generator.no_part,
    )
    found = _step(seconds, "sequence and paths", find)
    validators = _step(seconds, "index of the validators", lambda: rules_validators(catalogue, rp))
    return DatagenTimes(
        tools=len(catalogue.tools),
        inputs=timed.texts,
        seconds=seconds,
        encoding_s=timed.seconds,
        rp_edges=len(rp),
        pp_edges=len(pp.links),
        paths=sum(map(len, found.by_class.values())),
        requests=measure_requests(generator, validators, found, encoder),
    )


def measure_requests(
    generator: RulesGenerator, validators: Sequence[RequestValidator], found: FoundPaths, encoder: Encoder
) -> RequestRates:
    """Make requests over the paths of each class: as many of each, each path as often as datagen tries it."""
    queues = [PathQueue(name, paths, wanted=_WANTED // len(CLASSES), seed=0) for name, paths in found.by_class.items()]
    texts: set[str] = set()
    attempts = worded = 0
    wording_s = checking_s = 0.0
    while any(batches := [queue.take(1) for queue in queues]):
        for queue, batch in zip(queues, batches, strict=True):
            for attempt in batch:
                start = time.process_time()
                text = generator.generate(attempt.path, attempt.request_class, seed=attempt.generation_seed)
                wording_s += time.process_time() - start
                attempts += 1
                passed = False
                if isinstance(text, GeneratedText):
                    request = SyntheticRequest(
                        id=attempt.id,
                        text=text.text,
                        request_class=attempt.request_class,
                        path=attempt.path,
                        values=text.values,
                    )
                    start = time.process_time()
                    verdicts = validate(request, validators).verdicts
                    checking_s += time.process_time() - start
                    worded += 1
                    passed = text.text not in texts and all(verdict.passed for verdict in verdicts)
                if passed:
                    texts.add(text.text)
                    queue.keep(attempt)
                else:
                    queue.reject(attempt, final=isinstance(text, RejectedRequest) and text.is_final)
    encoder.encode(["a text"])  # loads the model
    start = time.process_time()
    encoder.encode(sorted(texts))
    return RequestRates(
        wanted=_WANTED,
        made=len(texts),
        attempts=attempts,
        worded=worded,
        wording_s=wording_s,
        checking_s=checking_s,
        encoding_s=time.process_time() - start,
    )


def table_of(times: DatagenTimes) -> str:
    """The figures as a Markdown table."""
    requests = times.requests
    rows = [(name, f"{seconds:.2f} s") for name, seconds in times.seconds.items()]
    rows += [
        ("**up to the paths**", f"**{times.paths_s:.2f} s**"),
        (f"encoding {times.inputs:,} distinct inputs once", f"{times.encoding_s:.2f} s"),
        ("paths, of encoding", f"{times.paths_s / times.encoding_s:.2f}" if times.encoding_s else "–"),
        ("R-P edges; P-P edges; paths", f"{times.rp_edges:,}; {times.pp_edges:,}; {times.paths:,}"),
        ("requests made, of those wanted", f"{requests.made:,} of {requests.wanted:,}"),
        (f"wording, {requests.attempts:,} attempts", f"{requests.wording_s:.2f} s"),
        (f"checking, {requests.worded:,} texts", f"{requests.checking_s:.2f} s"),
        ("encoding the requests made once", f"{requests.encoding_s:.2f} s"),
        (
            "**wording and checking, of encoding**",
            f"**{requests.seconds / requests.encoding_s:.2f}**" if requests.encoding_s else "–",
        ),
    ]
    return "\n".join([f"| {times.tools:,} tools | |", "|---|---:|", *(f"| {name} | {cell} |" for name, cell in rows)])


def _step(seconds: dict[str, float], name: str, make: Callable[[], Result]) -> Result:
    start = time.process_time()
    result = make()
    seconds[name] = time.process_time() - start
    return result


if __name__ == "__main__":
    run_command(main)
