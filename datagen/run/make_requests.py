"""The pipeline: outputs, edges, paths, requests; each step is a function of the results of the steps before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datagen.interfaces import Generator, OutputFinder, RequestValidator, SequenceValidator, ToolOutputs
from datagen.paths.interchangeable import InterchangeableTools
from datagen.paths.path_sampler import FoundPaths, find_paths
from datagen.paths.pp_graph import PpGraph, build_pp_graph
from datagen.paths.rp_graph import build_rp_graph
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.run.generate_loop import GeneratedRequests, RequestGenerator, generate_all
from datagen.run.journal import open_journal
from datagen.synthetic_request import DEPENDENT_CLASSES, RejectedRequest
from datagen.tool_links import ToolLinks
from inference.encoder import Encoder
from ontology.digests import code_digest
from ontology.progress import Progress

__all__ = ["RunResult", "Steps", "make_requests", "paths_for"]

_PER_REQUEST = 2.0  # paths
_PER_DEPENDENT = 12.0
"""Paths for each request of dependent steps. Of the paths over Slack, Box, Zoom, Netlify and Brex 2 to 11 % get a text: mostly
nothing singles out the one thing of a list. With 2 paths each, 6 of 30 explicit and 6 of 30 implicit requests were made, with
12 each, which are all paths there are, 27 and 12. A class that is full tries no further path."""
_EXTRA_PATHS = 10  # additional paths, because some are rejected even where few requests are wanted


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The backend of each step. Backends that need the R-P edges are created when the edges are known.

    :param validators: in rounds; a request that fails in one round skips the next rounds.
    :param encoder: the encoder of the catalogue's snapshot, for the comparison of inputs and of requests.
    :param concurrency: number of requests that are generated at the same time; it does not change the result.
    :param model: name of the chat model of the steps, empty for rules; each model has its own journal.
    """

    outputs: OutputFinder
    sequence: Callable[[ToolLinks], SequenceValidator]
    generator: Callable[[ToolLinks], Generator]
    validators: Callable[[ToolLinks], Sequence[Sequence[RequestValidator]]]
    encoder: Encoder
    concurrency: int = 1
    model: str = ""


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The results of all steps for one catalogue.

    :param wanted: map from class to the wanted number of requests.
    :param names: map from step to the versioned names of its backends.
    """

    catalogue: ProfiledCatalogue
    seed: int
    wanted: Mapping[str, int]
    names: Mapping[str, tuple[str, ...]]
    outputs: ToolOutputs
    rp: ToolLinks
    pp: PpGraph
    paths: FoundPaths
    generated: GeneratedRequests

    @property
    def rejected(self) -> Iterator[RejectedRequest]:
        """The distinct rejections of all steps, in their order; those of the generated requests have stages of their own."""
        yield from dict.fromkeys((*self.outputs.rejected, *self.paths.rejected))
        yield from self.generated.rejected


def make_requests(
    catalogue: ProfiledCatalogue,
    steps: Steps,
    wanted: Mapping[str, int],
    *,
    folder: Path,
    seed: int,
    progress: Progress,
) -> RunResult:
    """Generate requests from a catalogue. Deterministic, also after interruptions.

    :param wanted: map from class to the wanted number of requests.
    :param folder: the folder of results, which contains the journal.
    :raises EgotoolsError: for an error before the first request is generated; a later error is in the result.
    """
    progress("outputs", 0, 0)
    outputs = steps.outputs.find()
    progress("edges", 0, 0)
    rp = build_rp_graph(catalogue, outputs)
    progress("similarity of inputs", 0, 0)
    pp = build_pp_graph(catalogue, steps.encoder)
    sequence, generator, validators = steps.sequence(rp), steps.generator(rp), tuple(steps.validators(rp))
    paths = find_paths(
        catalogue,
        rp,
        pp.links,
        sequence,
        wanted=paths_for(wanted),
        no_words=generator.no_words,
        no_part=generator.no_part,
        seed=seed,
        progress=progress,
    )
    names = {
        "outputs": (steps.outputs.name,),
        "sequence": (sequence.name,),
        "generator": (generator.name,),
        "validators": tuple(dict.fromkeys(validator.name for each in validators for validator in each)),
        "encoder": (steps.encoder.name,),
    }
    with open_journal(folder, _configuration(catalogue, names, steps.model)) as journal:
        requests = RequestGenerator(
            generator=generator,
            validators=validators,
            journal=journal,
            concurrency=steps.concurrency,
            narrowed=InterchangeableTools(catalogue, rp).narrowed,
        )
        generated = generate_all(paths.by_class, wanted, requests, steps.encoder, seed=seed, progress=progress)
    return RunResult(
        catalogue=catalogue,
        seed=seed,
        wanted=wanted,
        names=names,
        outputs=outputs,
        rp=rp,
        pp=pp,
        paths=paths,
        generated=generated,
    )


def paths_for(wanted: Mapping[str, int]) -> dict[str, int]:
    """Return the number of paths for each class: more than requests, because some are rejected."""
    shares = {name: _PER_REQUEST if name not in DEPENDENT_CLASSES else _PER_DEPENDENT for name in wanted}
    return {name: math.ceil(shares[name] * count) + _EXTRA_PATHS if count else 0 for name, count in wanted.items()}


def _configuration(catalogue: ProfiledCatalogue, names: Mapping[str, Sequence[str]], model: str) -> dict[str, Any]:
    """Return what an outcome depends on in addition to its path, class and seed, which are in its key.

    The number of wanted requests is not included, so a run that wants more requests uses the existing journal.
    """
    return {
        "snapshot": catalogue.snapshot_id,
        "ontology": catalogue.ontology.digest,
        "steps": {step: list(each) for step, each in names.items()},
        "model": model,
        "code": code_digest("datagen"),
    }
