"""The pipeline: outputs, edges, paths, requests; each step is a function over the results of the steps before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.paths.path_sampler import FoundPaths, find_paths
from datagen.paths.pp_graph import PpGraph, build_pp_graph
from datagen.paths.rp_graph import build_rp_graph
from datagen.run.generate_loop import GeneratedRequests, RequestGenerator, generate_all
from datagen.run.journal import open_journal
from datagen.seams import Generator, OutputFinder, RequestValidator, SequenceValidator, ToolOutputs
from datagen.synthetic_request import RejectedRequest
from inference.encoder import Encoder
from ontology.digests import code_digest
from ontology.progress import Progress

__all__ = ["Made", "Steps", "make_requests"]

_SURPLUS = 2.0
_MORE = 10  # paths that may be rejected even where few requests are wanted


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The implementation of each step. Those that need the R-P edges are made when these are known.

    :param validators: in rounds; a request that fails in one is not put before the next.
    :param encoder: of the catalogue's snapshot; compares inputs, and requests.
    :param concurrency: how many requests are generated at once; the result is the same.
    :param model: name of the chat model behind the steps, empty for rules: another model, another journal.
    """

    outputs: OutputFinder
    sequence: Callable[[Links], SequenceValidator]
    generator: Generator
    validators: Callable[[Links], Sequence[Sequence[RequestValidator]]]
    encoder: Encoder
    concurrency: int = 1
    model: str = ""


@dataclass(frozen=True, kw_only=True)
class Made:
    """Everything that was made from a catalogue.

    :param wanted: class → how many requests were wanted.
    :param names: step → versioned names of its implementations.
    """

    catalogue: Catalogue
    seed: int
    wanted: Mapping[str, int]
    names: Mapping[str, tuple[str, ...]]
    outputs: ToolOutputs
    rp: Links
    pp: PpGraph
    paths: FoundPaths
    generated: GeneratedRequests

    @property
    def rejected(self) -> tuple[RejectedRequest, ...]:
        """What did not become a request, of all steps in their order, each thing once."""
        return tuple(dict.fromkeys((*self.outputs.rejected, *self.paths.rejected, *self.generated.rejected)))


def make_requests(
    catalogue: Catalogue, steps: Steps, wanted: Mapping[str, int], *, folder: Path, seed: int, progress: Progress
) -> Made:
    """Make requests of these classes from a catalogue; the same for the same arguments, however often it was stopped.

    :param wanted: class → how many requests.
    :param folder: the folder of results, which keeps the journal.
    :raises EgotoolsError: for what happens before the first request is generated; what stops it later is in the result.
    """
    progress("outputs", 0, 0)
    outputs = steps.outputs.find()
    progress("edges", 0, 0)
    rp = build_rp_graph(catalogue, outputs)
    progress("similarity of inputs", 0, 0)
    pp = build_pp_graph(catalogue, steps.encoder)
    sequence, generator, validators = steps.sequence(rp), steps.generator, tuple(steps.validators(rp))
    paths = find_paths(catalogue, rp, pp.links, sequence, wanted=_with_surplus(wanted), seed=seed, progress=progress)
    names = {
        "outputs": (steps.outputs.name,),
        "sequence": (sequence.name,),
        "generator": (generator.name,),
        "validators": tuple(dict.fromkeys(validator.name for each in validators for validator in each)),
        "encoder": (steps.encoder.name,),
    }
    with open_journal(folder, _configuration(catalogue, names, steps.model)) as journal:
        requests = RequestGenerator(
            generator=generator, validators=validators, journal=journal, concurrency=steps.concurrency
        )
        generated = generate_all(paths.by_class, wanted, requests, steps.encoder, seed=seed, progress=progress)
    return Made(
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


def _with_surplus(wanted: Mapping[str, int]) -> dict[str, int]:
    """More paths than requests, for some will be rejected."""
    return {name: math.ceil(_SURPLUS * count) + _MORE if count else 0 for name, count in wanted.items()}


def _configuration(catalogue: Catalogue, names: Mapping[str, Sequence[str]], model: str) -> dict[str, Any]:
    """What an outcome depends on beside its path, class and seed, which its own key holds.

    The number of wanted requests is not a part of it: a run that wants more goes on with what is there.
    """
    return {
        "snapshot": catalogue.snapshot_id,
        "ontology": catalogue.ontology.digest,
        "steps": {step: list(each) for step, each in names.items()},
        "model": model,
        "code": code_digest("datagen"),
    }
