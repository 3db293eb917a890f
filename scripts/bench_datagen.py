"""Speed of data generation: ``python -m scripts.bench_datagen``; part of ``make bench``.

Finds paths over a catalogue of 10,000 tools and compares their cost with encoding the catalogue's distinct inputs once, then
generates requests over the paths and validates them, and compares that with encoding the requests once. The catalogue is ``../shared/bench/scale_44k`` where it lies beside
the checkout, else every operation of botocore and google-api-python-client, else what ``--catalog`` names. The exit code is
1 when a threshold is missed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

import typer

from datagen.paths.path_sampler import FoundPaths, find_paths
from datagen.paths.pp_graph import build_pp_graph
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.paths.rules_sequence import RulesSequence
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import CLASSES, SyntheticRequest
from datagen.tool_links import ToolLinks
from inference import load_encoder
from inference.arrays import Floats2d
from inference.encoder import Encoder
from ontology.ontology_file import load_ontology
from ontology.tool import Tool
from scripts.run_command import run_command
from scripts.speed.builds import catalog_tools

PATHS_A_CLASS = 200
_GENERATED = 600
_ENCODER = "egotools-minilm-int8.v1"

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class RequestRates:
    """Requests that one thread makes.

    :param generated: requests, of ``asked`` that were asked for.
    :param generated_per_s: processed documents of the tools included.
    :param validated_per_s: by all validators of the rules.
    :param seconds: generating all that were asked for, and validating those generated.
    :param encoding_s: encoding as many requests once, the generated ones as often as needed.
    """

    asked: int = 0
    generated: int = 0
    generated_per_s: float = 0.0
    validated_per_s: float = 0.0
    seconds: float = 0.0
    encoding_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class DatagenTimes:
    """What was measured of one catalogue.

    :param seconds: step → seconds; those of the P-P graph without encoding.
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
        start = time.perf_counter()
        rows = self._encoder.encode(texts)
        self.seconds += time.perf_counter() - start
        self.texts += len(texts)
        return rows


def main(
    tools: Annotated[int, typer.Option(help="how many, the first of the catalogue")] = 10_000,
    catalog: Annotated[list[str] | None, typer.Option(help="address to read the tools from; may be repeated")] = None,
) -> None:
    """Run the benchmark."""
    times = measure_datagen(catalog_tools(catalog)[:tools], load_encoder(_ENCODER))
    print(table_of(times))
    if not times.met:
        print("A threshold is missed: paths and requests within the cost of encoding what they consist of.")
        raise typer.Exit(1)
    print("Every threshold is met.")


def measure_datagen(tools: Sequence[Tool], encoder: Encoder) -> DatagenTimes:
    """Time each step up to the paths, generation and validation over these tools."""
    catalogue = ProfiledCatalogue(snapshot_id="", tools=tuple(tools), ontology=load_ontology())
    timed, seconds = _Timed(encoder), dict[str, float]()
    _step(seconds, "profiles", lambda: catalogue.profiles)
    outputs = _step(seconds, "outputs", lambda: RulesOutputs(catalogue).find())
    rp = _step(seconds, "R-P graph", lambda: build_rp_graph(catalogue, outputs))
    pp = _step(seconds, "P-P graph", lambda: build_pp_graph(catalogue, timed))
    seconds["P-P graph"] -= timed.seconds
    wanted = dict.fromkeys(CLASSES, PATHS_A_CLASS)
    sequence = RulesSequence(catalogue, rp)
    found = _step(seconds, "sequence and paths", lambda: find_paths(catalogue, rp, pp.links, sequence, wanted=wanted))
    return DatagenTimes(
        tools=len(catalogue.tools),
        inputs=timed.texts,
        seconds=seconds,
        encoding_s=timed.seconds,
        rp_edges=len(rp),
        pp_edges=len(pp.links),
        paths=sum(map(len, found.by_class.values())),
        requests=measure_requests(catalogue, rp, found, encoder),
    )


def measure_requests(catalogue: ProfiledCatalogue, rp: ToolLinks, found: FoundPaths, encoder: Encoder) -> RequestRates:
    """Generate requests over some paths of each class, and validate them."""
    from datagen.generation import RulesGenerator
    from datagen.interfaces import GeneratedText
    from datagen.validation.rules_validator import rules_validators, validate

    generator, validators = RulesGenerator(catalogue), rules_validators(catalogue, rp)
    share = _GENERATED // len(CLASSES)
    jobs = [(name, path) for name, paths in found.by_class.items() for path in paths[:share]]
    if not jobs:
        return RequestRates()
    generator.generate(jobs[0][1], jobs[0][0], seed=0)  # loads the lexicon
    start = time.perf_counter()
    texts = [generator.generate(path, name, seed=seed) for seed, (name, path) in enumerate(jobs)]
    generated_s = time.perf_counter() - start
    requests = [
        SyntheticRequest(id=str(place), text=text.text, request_class=name, path=path, values=text.values)
        for place, (text, (name, path)) in enumerate(zip(texts, jobs, strict=True))
        if isinstance(text, GeneratedText)
    ]
    if not requests:
        return RequestRates(asked=len(jobs))
    validate(requests[0], validators)
    start = time.perf_counter()
    for request in requests:
        validate(request, validators)
    validated_s = time.perf_counter() - start
    texts_made = [request.text for request in requests]
    repeated = (texts_made * (len(jobs) // len(texts_made) + 1))[: len(jobs)]
    encoder.encode(texts_made[:1])  # loads the model
    start = time.perf_counter()
    encoder.encode(repeated)
    encoding_s = time.perf_counter() - start
    return RequestRates(
        asked=len(jobs),
        generated=len(requests),
        seconds=generated_s + validated_s,
        encoding_s=encoding_s,
        generated_per_s=len(requests) / generated_s,
        validated_per_s=len(requests) / validated_s,
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
        (
            "requests generated by rules",
            f"{requests.generated_per_s:,.0f}/s ({requests.generated} of {requests.asked})",
        ),
        ("requests validated by rules", f"{requests.validated_per_s:,.0f}/s"),
        (f"wording and checking {requests.asked:,} requests", f"{requests.seconds:.2f} s"),
        (f"encoding {requests.asked:,} requests once", f"{requests.encoding_s:.2f} s"),
    ]
    return "\n".join([f"| {times.tools:,} tools | |", "|---|---:|", *(f"| {name} | {cell} |" for name, cell in rows)])


def _step(seconds: dict[str, float], name: str, make: Callable[[], Result]) -> Result:
    start = time.perf_counter()
    result = make()
    seconds[name] = time.perf_counter() - start
    return result


if __name__ == "__main__":
    run_command(main)
