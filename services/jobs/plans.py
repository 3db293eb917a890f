"""Plans of the jobs: one frozen dataclass each. The command makes its options from the fields.

Importing this module imports no numeric library, so that the command can first set the thread variables.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from typer import Argument, Option

if TYPE_CHECKING:
    from inference.chat import Budget

__all__ = [
    "DEFAULT_KEEP",
    "DEFAULT_RERANKER",
    "DEFAULT_STORE",
    "AllowedModels",
    "BuildPlan",
    "ChatEndpoint",
    "DatagenPlan",
    "EvaluationPlan",
    "LearningPlan",
    "Reranker",
    "SigningKey",
    "TuningPlan",
]

DEFAULT_STORE = Path("store")
DEFAULT_RERANKER = "fusion.v2"
DEFAULT_KEEP = 5
_DEFAULT_ENCODER = "egotools-minilm-int8.v1"
_Rare = partial(Option, hidden=True)  # shown by --help-all

SnapshotFolder: TypeAlias = Annotated[
    Path, Argument(metavar="SNAPSHOT", help="Store with a published snapshot, or the folder of one snapshot.")
]
OntologyFile: TypeAlias = Annotated[
    Path | None, _Rare("--ontology", help="Ontology file (YAML). Default: the one that ships with egotools.")
]
Reranker: TypeAlias = Annotated[
    str,
    _Rare("--reranker", help="Second stage: fusion.v2 (none), cross-encoder:FOLDER (extra torch), http:[MODEL@]URL."),
]
SigningKey: TypeAlias = Annotated[
    Path | None,
    _Rare("--signing-key", metavar="FILE", envvar="EGOTOOLS_SIGNING_KEY", help="Private key that signs the snapshot."),
]
AllowedModels: TypeAlias = Annotated[
    tuple[str, ...],
    _Rare(
        "--allow-model",
        metavar="NAME",
        help="Encoder that the snapshot may name beside the embedded ones: openai:MODEL@BASE_URL. It is loaded or contacted, "
        "with your key. Repeatable; also EGOTOOLS_ALLOWED_MODELS, separated by commas.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatEndpoint:
    """A chat model behind an OpenAI-compatible endpoint, and the budget of the job. The key is in
    ``OPENAI_API_KEY``.
    """

    base_url: Annotated[
        str,
        Option(
            "--llm-url", envvar="OPENAI_BASE_URL", help="OpenAI-compatible endpoint, up to /v1. Key: OPENAI_API_KEY."
        ),
    ] = ""
    model: Annotated[str, Option("--llm-model", help="Name of the model at that endpoint.")] = ""
    max_tokens: Annotated[
        int, _Rare("--llm-max-tokens", min=0, help="Stop before prompts and answers exceed these tokens; 0: no limit.")
    ] = 0
    max_usd: Annotated[
        float,
        _Rare("--llm-max-usd", min=0.0, help="Stop before this cost in US dollars; 0: no limit. Needs the price."),
    ] = 0.0
    usd_per_1k: Annotated[float, _Rare("--llm-usd-per-1k", min=0.0, help="Price of 1,000 tokens in US dollars.")] = 0.0

    def of(self, model: str) -> ChatEndpoint:
        """Return the endpoint with another model: ``NAME``, or ``NAME@BASE_URL``."""
        name, at, url = model.partition("@http")
        return replace(self, model=name, base_url=f"http{url}" if at else self.base_url)

    def budget(self) -> Budget:
        """Return a new budget, of all models of the job."""
        from inference.chat import Budget

        return Budget(
            max_tokens=self.max_tokens or None,
            max_usd=self.max_usd or None,
            usd_per_1k_prompt=self.usd_per_1k,
            usd_per_1k_completion=self.usd_per_1k,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """A build: which documents, how, and where the snapshot is published."""

    addresses: Annotated[
        tuple[str, ...],
        Argument(
            metavar="ADDRESS",
            help="Files, folders, patterns, http(s):// addresses, python:MODULE, mcp:COMMAND, mcp+http://…, aws:SERVICE, "
            "google-discovery:API, each also as NAME=ADDRESS; or a sources file (docs/sources.md).",
        ),
    ]
    store: Annotated[
        Path,
        Option(
            "--out",
            "-o",
            "--store",
            file_okay=False,
            envvar="EGOTOOLS_STORE",
            help="Store to publish in; made if missing.",
        ),
    ] = DEFAULT_STORE
    overlays: Annotated[
        tuple[Path, ...],
        Option(
            "--overlay", metavar="FILE", help="Overlay file (docs/overlay.md). Repeatable; a later one has priority."
        ),
    ] = ()
    findings: Annotated[
        str,
        Option(
            "--findings",
            help="Documents that could mislead a model: report, quarantine (until approved), or refuse to build.",
        ),
    ] = "report"
    strict: Annotated[bool, Option("--strict", help="Fail when a document or record is rejected.")] = False
    published: Annotated[
        bool, Option("--publish/--no-publish", help="--no-publish: keep the published snapshot; see egotools diff.")
    ] = True
    encoder: Annotated[
        str,
        Option(
            help="Sentence encoder: also minilm-l6-int8.v1, hashing.v1, sentence-transformers:NAME (extra torch), "
            "openai:MODEL@BASE_URL (extra llm)."
        ),
    ] = _DEFAULT_ENCODER
    extractor: Annotated[str, _Rare(help="How triples are extracted: rules, or llm (a chat model; see --llm-url).")] = (
        "rules"
    )
    endpoint: ChatEndpoint = field(default_factory=ChatEndpoint)
    ontology: OntologyFile = None
    keep: Annotated[
        int,
        _Rare(min=0, envvar="EGOTOOLS_KEEP", help="How many snapshots the store keeps, beside those in use. 0: all."),
    ] = DEFAULT_KEEP
    signing_key: SigningKey = None
    weights: Annotated[
        str, _Rare("--weights", help="keep (tuned ones, where 80 % of the tools are as they were), or shipped.")
    ] = "keep"
    graph_store: Annotated[
        str,
        _Rare("--graph-store", help="Also write the graph to neo4j:bolt://USER:PASSWORD@HOST:PORT."),
    ] = ""
    observed: Annotated[
        Path | None, _Rare("--observed", help="JSON Lines of values in use, {value, parameter}: their shapes are kept.")
    ] = None
    phrases: Annotated[
        str,
        _Rare(
            "--phrases",
            metavar="openai:MODEL@URL",
            help="Chat model that writes everyday phrases of each tool (docs/building.md).",
        ),
    ] = ""
    phrases_file: Annotated[
        Path | None,
        _Rare(
            "--phrases-file", metavar="FILE", help="Everyday phrases as JSON Lines: read, and with --phrases added to."
        ),
    ] = None
    cached: Annotated[bool, _Rare("--cache/--no-cache", help="Reuse extractions and vectors of unchanged tools.")] = (
        True
    )
    workers: Annotated[int, _Rare(min=1, help="Processes that extract, and threads that encode.")] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DatagenPlan:
    """Data generation: requests of which snapshot, how many, and where they are written."""

    store: SnapshotFolder
    out: Annotated[
        Path,
        Option(
            "--out", "-o", file_okay=False, help="Folder for the requests and the report; answers are cached there."
        ),
    ]
    per_class: Annotated[int, Option(help="Number of requests of each of the six classes.")] = 50
    generator: Annotated[
        str,
        Option(
            help="llm: a chat model writes, and another call reads back. template: sentence templates, for smoke tests."
        ),
    ] = "template"
    endpoint: ChatEndpoint = field(default_factory=ChatEndpoint)
    reader_model: Annotated[
        str, _Rare("--reader-model", help="Model that reads back. Default: the one that writes.")
    ] = ""
    max_calls: Annotated[int, _Rare("--max-calls", min=0, help="Stop before more calls of models; 0: no limit.")] = 0
    recording: Annotated[
        Path | None, _Rare(exists=True, dir_okay=False, help="Recorded answers in place of a model (JSON Lines).")
    ] = None
    mix: Annotated[
        Path | None,
        _Rare(help="YAML or JSON: class → number of requests or share; or paper. Default: the same for each class."),
    ] = None
    unanswerable: Annotated[
        int, Option(min=0, help="Number of requests that no tool serves, for unanswerable.jsonl.")
    ] = 0
    long: Annotated[int, Option(min=0, help="Number of tasks of 5 to 12 tools, for long_tasks.jsonl.")] = 0
    seed: Annotated[int, Option(help="The same seed gives the same requests.")] = 0
    ontology: OntologyFile = None
    allowed_models: AllowedModels = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPlan:
    """An evaluation: which systems, on which requests, and where the results are written."""

    store: SnapshotFolder
    queries: Annotated[
        tuple[Path, ...],
        Option(
            "--queries",
            "-q",
            help="Labelled requests: JSON Lines with id, query, tools (docs/evaluation.md). Repeatable.",
        ),
    ]
    out: Annotated[
        Path,
        Option("--out", "-o", file_okay=False, help="Folder for the results. Answers in it that still hold are kept."),
    ]
    systems: Annotated[
        tuple[str, ...],
        Option(
            help="Presets, ablations (default-no-…), grpc:HOST:PORT[/PRESET], paper-four, baselines, ablations, all; "
            "by commas. Default: paper-four,rrf,fusion,default."
        ),
    ] = ()
    needs: Annotated[
        bool, Option("--needs", help="Measure requests by their recorded needs too: NAME@whole, @needs, @needs-alone.")
    ] = False
    needs_files: Annotated[
        tuple[Path, ...],
        Option("--needs-file", metavar="FILE", help="Recorded needs: JSON Lines with id and needs. Implies --needs."),
    ] = ()
    k: Annotated[int, Option("--k", "-k", min=3, max=1_000, help="Number of tools that an answer may have.")] = 30
    limit: Annotated[int, Option(min=0, help="Measure a sample of this many requests; 0: all.")] = 0
    split: Annotated[str, Option(help="Only requests of this split (dev or test).")] = ""
    baseline: Annotated[str, _Rare(help="Differences are to this system. Default: rrf, or the first.")] = ""
    timeout_s: Annotated[float, _Rare("--timeout", min=0.001, help="Seconds for one request.")] = 10.0
    name: Annotated[str, _Rare(help="Name of the requests in the report. Default: that of their first file.")] = ""
    footprint: Annotated[
        bool, _Rare(help="Measure memory and loading time of each system, in a process of its own.")
    ] = True
    allow_missing: Annotated[
        bool, _Rare("--allow-missing", help="Measure although gold tools are not in the snapshot; they are not found.")
    ] = False
    gold_edges: Annotated[
        tuple[Path, ...],
        _Rare(
            "--dependencies", help="True dependencies between tools, JSON Lines with from and to: they score the graph."
        ),
    ] = ()
    external_edges: Annotated[
        tuple[Path, ...],
        _Rare("--edges", help="Edges of another method, JSON Lines with source and target, scored beside the graph's."),
    ] = ()
    reranker: Reranker = DEFAULT_RERANKER
    allowed_models: AllowedModels = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningPlan:
    """A tuning: ranking weights of which snapshot, fitted to which requests, and where the new version is published."""

    snapshot: SnapshotFolder
    labels: Annotated[
        Path | None,
        Option(
            "--on", help="Labelled requests of people: JSON Lines with id, query, tools, and perhaps split (dev, test)."
        ),
    ] = None
    rollback: Annotated[bool, Option("--rollback", help="Go back to the ranking weights before the present ones.")] = (
        False
    )
    out: Annotated[
        Path | None, Option("--out", "-o", file_okay=False, help="Store to publish in. Default: the one that is tuned.")
    ] = None
    k: Annotated[int, Option("--k", "-k", min=1, max=1_000, help="Better is a higher CompleteRecall at this k.")] = 10
    seed: Annotated[int, _Rare(min=0, help="Seed of the division into requests to search on and held-out ones.")] = 0
    allow_missing: Annotated[
        bool, _Rare("--allow-missing", help="Fit although gold tools are not in the snapshot; they are not found.")
    ] = False
    allowed_models: AllowedModels = ()
    signing_key: SigningKey = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPlan:
    """A learning from use: of which store, from which sessions, and how the influence of a reporter is bounded."""

    store: Annotated[
        Path, Option("--store", "-s", file_okay=False, help="Store of snapshot and outcomes.", envvar="EGOTOOLS_STORE")
    ] = DEFAULT_STORE
    logs: Annotated[
        tuple[Path, ...],
        Option("--log", metavar="FILE", help="Also learn from JSON Lines: query, tools, time, reporter, succeeded."),
    ] = ()
    outcomes: Annotated[
        Path | None, Option("--outcomes", file_okay=False, metavar="FOLDER", help="Default: that of the store.")
    ] = None
    k: Annotated[
        int,
        Option("--k", "-k", min=1, max=1_000, help="A session is answered when all its tools are among the best k."),
    ] = 5
    min_reporters: Annotated[
        int, Option("--min-reporters", min=1, max=100, help="Reporters that must have used a tool before it counts.")
    ] = 2
    forget: Annotated[bool, Option("--forget", help="Publish the snapshot without what was learned.")] = False
    allowed_models: AllowedModels = ()
    signing_key: SigningKey = None
