"""Plans of the jobs: one frozen dataclass each. The command makes its options from the fields.

Importing this module imports no numeric library, so that the command can first set the thread variables.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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

DEFAULT_STORE = Path("egotools-store")
DEFAULT_RERANKER = "fusion.v2"
DEFAULT_KEEP = 5
_DEFAULT_ENCODER = "egotools-minilm-int8.v1"

SnapshotFolder: TypeAlias = Annotated[
    Path, Argument(metavar="SNAPSHOT", help="Store with a published snapshot, or the folder of one snapshot.")
]
OntologyFile: TypeAlias = Annotated[
    Path | None, Option("--ontology", help="Ontology file (YAML). Default: the one that ships with egotools.")
]
Reranker: TypeAlias = Annotated[
    str,
    Option(
        "--reranker",
        help="Second ranking stage: fusion.v2 (no reranker), cross-encoder:FOLDER (extra torch), http:URL or http:MODEL@URL.",
    ),
]

SigningKey: TypeAlias = Annotated[
    Path | None,
    Option(
        "--signing-key",
        metavar="FILE",
        envvar="EGOTOOLS_SIGNING_KEY",
        help="Private key that signs the snapshot, as `egotools keys create` writes it. Default: not signed.",
    ),
]

AllowedModels: TypeAlias = Annotated[
    tuple[str, ...],
    Option(
        "--allow-model",
        metavar="NAME",
        help="Encoder that the snapshot may name beside the embedded ones, for example openai:MODEL@BASE_URL. It is "
        "loaded or contacted, with your key. Repeat for several. Also: EGOTOOLS_ALLOWED_MODELS, separated by commas.",
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
            "--llm-url",
            envvar="OPENAI_BASE_URL",
            help="Base URL of an OpenAI-compatible endpoint, up to and including /v1. Needed for llm. The key is read "
            "from OPENAI_API_KEY.",
        ),
    ] = ""
    model: Annotated[str, Option("--llm-model", help="Name of the model at that endpoint. Needed for llm.")] = ""
    max_tokens: Annotated[
        int,
        Option("--llm-max-tokens", min=0, help="Stop before prompts and answers exceed this many tokens; 0: no limit."),
    ] = 0
    max_usd: Annotated[
        float,
        Option(
            "--llm-max-usd",
            min=0.0,
            help="Stop before the cost exceeds this many US dollars; 0: no limit. Needs the price.",
        ),
    ] = 0.0
    usd_per_1k: Annotated[
        float, Option("--llm-usd-per-1k", min=0.0, help="Price of 1,000 tokens in US dollars, for --llm-max-usd.")
    ] = 0.0

    def of(self, model: str) -> ChatEndpoint:
        """Return the endpoint with another model."""
        return replace(self, model=model)

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
            help="Tool documents: files, folders, glob patterns, http(s):// addresses of documents, or live sources "
            "(python:MODULE, mcp:COMMAND, mcp+http://…, aws:SERVICE, google-discovery:API); each also as NAME=ADDRESS, "
            "which names its tools NAME/…. Or a sources file (sources.yaml): names, locations, owners, filters, and "
            "credentials by reference.",
        ),
    ]
    store: Annotated[
        Path,
        Option(
            "--out",
            "-o",
            file_okay=False,
            envvar="EGOTOOLS_STORE",
            help="Store to publish the snapshot in; created if missing.",
        ),
    ] = DEFAULT_STORE
    ontology: OntologyFile = None
    overlays: Annotated[
        tuple[Path, ...],
        Option(
            "--overlay",
            metavar="FILE",
            help="Overlay file (YAML): synonyms, aliases, context parameters, dependencies, hidden and boosted tools, "
            "other descriptions. Repeat for several; a later one has priority.",
        ),
    ] = ()
    findings: Annotated[
        str,
        Option(
            "--findings",
            help="What is done with tools whose documents could mislead a model (docs/trust.md): report (all tools "
            "are built), quarantine (hold their documents back until they are approved), or refuse (build nothing).",
        ),
    ] = "report"
    phrases: Annotated[
        str,
        Option(
            "--phrases",
            metavar="openai:MODEL@URL",
            help="Chat model that writes everyday phrases of each tool, by which people find it who do not know its document's words "
            "(docs/building.md). The key is read from OPENAI_API_KEY; the limits are --llm-max-tokens and --llm-max-usd.",
        ),
    ] = ""
    phrases_file: Annotated[
        Path | None,
        Option(
            "--phrases-file",
            metavar="FILE",
            help="Everyday phrases as JSON lines: read, and with --phrases added to for the other tools.",
        ),
    ] = None
    extractor: Annotated[
        str, Option(help="How triples are extracted: rules (no model), or llm (a chat model; see --llm-url).")
    ] = "rules"
    encoder: Annotated[
        str,
        Option(
            help="Sentence encoder: egotools-minilm-int8.v1, minilm-l6-int8.v1 (not tuned), hashing.v1 (no model), "
            "sentence-transformers:PATH_OR_NAME (extra torch) or openai:MODEL@BASE_URL (extra llm).",
        ),
    ] = _DEFAULT_ENCODER
    keep: Annotated[
        int,
        Option(
            min=0,
            envvar="EGOTOOLS_KEEP",
            help="How many snapshots the store keeps, the published one included; older ones are removed unless a process "
            "serves them. 0: all.",
        ),
    ] = DEFAULT_KEEP
    signing_key: SigningKey = None
    weights: Annotated[
        str,
        Option(
            "--weights",
            help="Ranking weights: keep (those that egotools tune published, where at least 80 % of the tools are as they "
            "were), or shipped.",
        ),
    ] = "keep"
    graph_store: Annotated[
        str,
        Option(
            "--graph-store",
            help="Also write the graph to a database: ladybug:PATH or neo4j:bolt://user:password@host:port. Default: "
            "none.",
        ),
    ] = ""
    observed: Annotated[
        Path | None,
        Option(
            "--observed",
            help="JSON Lines file of values in use, {value, parameter} or {value, entity}: only their shapes are kept.",
        ),
    ] = None
    strict: Annotated[
        bool, Option("--strict", help="Fail when a document or record is rejected. Default: report it and go on.")
    ] = False
    cached: Annotated[
        bool,
        Option("--cache/--no-cache", help="Reuse the extractions and vectors of unchanged tools from the last build."),
    ] = True
    published: Annotated[
        bool,
        Option(
            "--publish/--no-publish",
            help="With --no-publish the snapshot is kept in the store, but the published one stays; see egotools diff.",
        ),
    ] = True
    workers: Annotated[int, Option(min=1, help="Number of processes that extract and of threads that encode.")] = 2
    endpoint: ChatEndpoint = field(default_factory=ChatEndpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatagenPlan:
    """Data generation: requests of which snapshot, how many, and where they are written."""

    store: SnapshotFolder
    out: Annotated[
        Path,
        Option(
            "--out",
            "-o",
            file_okay=False,
            help="Folder for tools.jsonl, queries.jsonl, rejected.jsonl, edges.jsonl, outputs.jsonl and the report. "
            "Answers of a model are cached there: the same command asks nothing twice.",
        ),
    ]
    per_class: Annotated[int, Option(help="Number of requests of each of the six classes.")] = 50
    generator: Annotated[
        str,
        Option(
            help="llm: a chat model writes each request, and another call reads it back without the labels (see --llm-url). "
            "template: sentence templates, without a model; they smoke-test a catalogue, and nobody types so."
        ),
    ] = "template"
    reader_model: Annotated[
        str,
        Option("--reader-model", help="Model that reads back, at the same endpoint. Default: the one that writes."),
    ] = ""
    max_calls: Annotated[
        int, Option("--max-calls", min=0, help="Stop before more calls of models than this; 0: no limit.")
    ] = 0
    recording: Annotated[
        Path | None,
        Option(
            exists=True,
            dir_okay=False,
            help="Recorded answers in place of a model: JSON Lines of prompt, answer, model and date. Needs --generator llm.",
        ),
    ] = None
    mix: Annotated[
        Path | None,
        Option(
            help="YAML or JSON file: class → number of requests, or class → share of six times --per-class; or a name: "
            "paper, the shares of the paper's own requests. Default: the same number for each class.",
        ),
    ] = None
    unanswerable: Annotated[
        int,
        Option(
            min=0,
            help="Number of requests that no tool serves, for unanswerable.jsonl: an action that the tools lack, another "
            "domain, small talk.",
        ),
    ] = 0
    long: Annotated[
        int,
        Option(
            min=0,
            help="Number of tasks of 5 to 12 tools, for long_tasks.jsonl. Their paths are those of other requests together.",
        ),
    ] = 0
    seed: Annotated[int, Option(help="Seed of the sampling: the same seed gives the same requests.")] = 0
    ontology: OntologyFile = None
    allowed_models: AllowedModels = ()
    endpoint: ChatEndpoint = field(default_factory=ChatEndpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPlan:
    """An evaluation: which systems, on which requests, and where the results are written."""

    store: SnapshotFolder
    queries: Annotated[
        tuple[Path, ...],
        Option(
            "--queries",
            "-q",
            help="Labelled requests, JSON Lines with id, query, tools, and perhaps class and split. Of rows whose tools "
            "are empty (datagen --unanswerable) it is measured whether a system abstains. Repeat for several files.",
        ),
    ]
    out: Annotated[
        Path,
        Option(
            "--out",
            "-o",
            file_okay=False,
            help="Folder for the results. Answers in it are kept, and their requests are not sent again, where system, "
            "configuration, snapshot, requests and k are the same. Otherwise its run is replaced.",
        ),
    ]
    systems: Annotated[
        tuple[str, ...],
        Option(
            help="Systems: presets, ablations (default-no-…), grpc:HOST:PORT, grpc:HOST:PORT/PRESET, or the "
            "groups paper-four, baselines, ablations, all. Separate them by commas, or repeat the option. Default:"
            " paper-four,rrf,fusion,default. With needs each is measured on whole requests and as NAME@needs; "
            "NAME@whole, NAME@needs (needs, with the request as context) or NAME@needs-alone is one of them.",
        ),
    ] = ()
    needs: Annotated[
        bool,
        Option(
            "--needs",
            help="Measure requests by their recorded needs too: the field needs of their rows, or --needs-file. Requests "
            "without are left out, of all systems, and counted.",
        ),
    ] = False
    needs_files: Annotated[
        tuple[Path, ...],
        Option(
            "--needs-file",
            metavar="FILE",
            help="Recorded needs, JSON Lines with id and needs (a list of phrases); the ids are those of the requests. Implies "
            "--needs. Repeat for several files.",
        ),
    ] = ()
    baseline: Annotated[
        str,
        Option(
            help="Differences are to this system, also between whole requests and needs (rrf@needs). Default: rrf, or the "
            "first system where rrf is not measured."
        ),
    ] = ""
    k: Annotated[int, Option("--k", "-k", min=3, max=1_000, help="Number of tools that an answer may have.")] = 30
    timeout_s: Annotated[
        float, Option("--timeout", min=0.001, help="Seconds for one request; a later answer counts as no answer.")
    ] = 10.0
    limit: Annotated[
        int,
        Option(min=0, help="Measure a sample of this many requests, chosen by the hash of their ids; 0: all requests."),
    ] = 0
    split: Annotated[str, Option(help="Measure only requests of this split (dev or test). Default: all.")] = ""
    name: Annotated[str, Option(help="Name of the requests in the report. Default: the name of their first file.")] = ""
    footprint: Annotated[
        bool,
        Option(
            help="Also measure memory and loading time of each system, in a process of its own (some seconds for each "
            "system)."
        ),
    ] = True
    allow_missing: Annotated[
        bool,
        Option(
            "--allow-missing",
            help="Measure although gold tools are not in the snapshot; they count as not found. Default: fail.",
        ),
    ] = False
    gold_edges: Annotated[
        tuple[Path, ...],
        Option(
            "--dependencies",
            help="Gold edges, JSON Lines with from and to: the true dependencies between tools. They score the tool "
            "graph. Repeat for several files.",
        ),
    ] = ()
    external_edges: Annotated[
        tuple[Path, ...],
        Option(
            "--edges",
            help="Edges found by another method, JSON Lines with source and target (source provides what target needs),"
            " scored against --dependencies beside those of the graph. Reports name them by their file. Repeat for"
            " several files.",
        ),
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
            "--on",
            help="Labelled requests of people: a file of JSON lines with id, query, tools, and perhaps split (dev or test); or a "
            "folder with it as queries.jsonl. Without test rows half of the gold sets is held out.",
        ),
    ] = None
    rollback: Annotated[
        bool,
        Option(
            "--rollback", help="Tune nothing: publish the same tools with the ranking weights before the present ones."
        ),
    ] = False
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            file_okay=False,
            help="Store to publish the new version in. Default: the store that is tuned.",
        ),
    ] = None
    k: Annotated[
        int,
        Option("--k", "-k", min=1, max=1_000, help="The weights are better when CompleteRecall at this k is higher."),
    ] = 10
    seed: Annotated[int, Option(min=0, help="Seed of the division into requests to search on and held-out ones.")] = 0
    allow_missing: Annotated[
        bool,
        Option(
            "--allow-missing",
            help="Fit although gold tools are not in the snapshot; they count as not found. Default: fail.",
        ),
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
        Option(
            "--log",
            metavar="FILE",
            help='Also learn from a file of JSON lines: "query", "tools", and perhaps "time", "reporter", "succeeded".',
        ),
    ] = ()
    outcomes: Annotated[
        Path | None,
        Option(
            "--outcomes", file_okay=False, metavar="FOLDER", help="Folder of the outcomes. Default: that of the store."
        ),
    ] = None
    k: Annotated[
        int,
        Option("--k", "-k", min=1, max=1_000, help="A session is answered when all its tools are among the best k."),
    ] = 5
    min_reporters: Annotated[
        int,
        Option(
            "--min-reporters",
            min=1,
            max=100,
            help="Reporters that must have used a tool before it counts. 1 trusts every reporter.",
        ),
    ] = 2
    forget: Annotated[
        bool, Option("--forget", help="Publish the snapshot without what was learned. The log of outcomes stays.")
    ] = False
    allowed_models: AllowedModels = ()
    signing_key: SigningKey = None
