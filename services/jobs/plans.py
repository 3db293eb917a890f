"""Plans of the jobs: one frozen dataclass each, whose fields are the options of the command; and the chat models that they name.

Importing this module imports no numeric library, so that the command can first set the thread variables.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from typer import Argument, Option

from ontology.errors import InvalidArgumentError

if TYPE_CHECKING:
    from inference.chat import Budget, ChatModel
    from inference.retry import RetryPolicy

DEFAULT_STORE = Path("store")
DEFAULT_RERANKER = "fusion.v2"
DEFAULT_KEEP = 5
Rare = partial(Option, hidden=True)  # an option that ``--help-all`` shows, and ``--help`` does not

_Folder = partial(Option, "--out", "-o", file_okay=False)
_Snapshot: TypeAlias = Annotated[Path, Argument(metavar="SNAPSHOT", help="A store, or the folder of one snapshot.")]
_Ontology: TypeAlias = Annotated[Path | None, Rare("--ontology", help="Ontology file (YAML); the shipped one.")]
_AllowMissing: TypeAlias = Annotated[
    bool, Rare("--allow-missing", help="Go on where gold tools are not in the snapshot.")
]
Reranker: TypeAlias = Annotated[
    str, Rare("--reranker", help="fusion.v2 (none), egotools-cross-int8.v1, cross-encoder:FOLDER, http:[MODEL@]URL.")
]
SigningKey: TypeAlias = Annotated[
    Path | None,
    Rare("--signing-key", metavar="FILE", envvar="EGOTOOLS_SIGNING_KEY", help="Private key that signs the snapshot."),
]
AllowedModels: TypeAlias = Annotated[
    tuple[str, ...],
    Rare(
        "--allow-model",
        metavar="NAME",
        help="Encoder that the snapshot may name beside the embedded ones: openai:MODEL@BASE_URL. It is loaded or contacted, "
        "with your key. Repeatable; also EGOTOOLS_ALLOWED_MODELS, separated by commas.",
    ),
]


HttpPort: TypeAlias = Annotated[int, Option(min=0, max=65_535, help="Port to listen on; 0: any free port.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPlace:
    """Where an HTTP face of the service listens: beyond loopback only with TLS, or where a proxy has it (``insecure``)."""

    host: Annotated[str, Option(help="Address to listen on; beyond loopback with TLS, or --insecure.")] = "127.0.0.1"
    port: HttpPort = 8080
    tls_cert: Annotated[Path | None, Option(help="Certificate chain, PEM.")] = None
    tls_key: Annotated[Path | None, Option(help="Its private key, PEM.")] = None
    names: Annotated[tuple[str, ...], Rare("--name", help="A host name by which clients call.")] = ()
    insecure: Annotated[bool, Rare("--insecure", help="Tokens may cross a network: a proxy has TLS.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatEndpoint:
    """A chat model behind an OpenAI-compatible endpoint, and the budget of the job. The key is in ``OPENAI_API_KEY``."""

    base_url: Annotated[
        str, Option("--llm-url", envvar="OPENAI_BASE_URL", help="Endpoint, up to /v1; key: OPENAI_API_KEY.")
    ] = ""
    model: Annotated[str, Option("--llm-model", help="Name of the model at that endpoint.")] = ""
    max_tokens: Annotated[int, Rare("--llm-max-tokens", min=0, help="Stop before so many tokens; 0: no limit.")] = 0
    max_usd: Annotated[float, Rare("--llm-max-usd", min=0.0, help="Stop before this cost; 0: no limit.")] = 0.0
    usd_per_1k: Annotated[float, Rare("--llm-usd-per-1k", min=0.0, help="Price of 1,000 tokens in US dollars.")] = 0.0

    def of(self, model: str) -> ChatEndpoint:
        """Return the endpoint with another model: ``NAME``, or ``NAME@BASE_URL``."""
        name, at, url = model.partition("@http")
        return replace(self, model=name, base_url=f"http{url}" if at else self.base_url)

    def check_pair(self) -> None:
        """Refuse an address or a model that stands alone, naming what is missing; the address of ``OPENAI_BASE_URL`` may."""
        url = self.base_url if self.base_url != os.environ.get("OPENAI_BASE_URL") else ""
        for option, given, other, beside in (
            ("--llm-url", url, "--llm-model", self.model),
            ("--llm-model", self.model, "--llm-url", self.base_url),
        ):
            if given and not beside:
                raise InvalidArgumentError(f"it needs {other}", subject=option, remedy=f"Give {other} too")

    def budget(self) -> Budget:
        """Return a new budget, of all models of the job."""
        from inference.chat import Budget

        return Budget(
            max_tokens=self.max_tokens or None,
            max_usd=self.max_usd or None,
            usd_per_1k_prompt=self.usd_per_1k,
            usd_per_1k_completion=self.usd_per_1k,
        )


def open_chat(
    endpoint: ChatEndpoint, *, needed_by: str, budget: Budget | None = None, policy: RetryPolicy | None = None
) -> ChatModel:
    """Return the chat model at an OpenAI-compatible endpoint, with the endpoint's own budget and the usual retries
    unless given others. Where the address or the model is missing, the InvalidArgumentError names what needs it
    (``needed_by``); without the extra ``llm`` it is a MissingExtraError."""
    for option, value in (("--llm-url", endpoint.base_url), ("--llm-model", endpoint.model)):
        if not value:
            remedy = "Add --llm-url http://HOST:PORT/v1 --llm-model MODEL"
            raise InvalidArgumentError(f"{needed_by} needs this option", subject=option, remedy=remedy)
    from inference.openai_client import OpenAIChat

    key, limit = os.environ.get("OPENAI_API_KEY", ""), budget or endpoint.budget()
    return OpenAIChat(endpoint.model, base_url=endpoint.base_url, api_key=key, budget=limit, policy=policy)


def chat_address(text: str, subject: str) -> tuple[str, str]:
    """Return the model and the base URL of ``openai:MODEL@BASE_URL``, the value of the setting or option ``subject``."""
    kind, _, rest = text.partition(":")
    model, _, base_url = rest.rpartition("@")
    if kind != "openai" or not model or not base_url.startswith(("http://", "https://")):
        remedy = "Write openai:MODEL@http://HOST:PORT/v1"
        raise InvalidArgumentError(f"{text!r} names no chat model", subject=subject, remedy=remedy)
    return model, base_url


def phrase_writer(address: str, endpoint: ChatEndpoint) -> ChatModel | None:
    """Return the chat model that ``openai:MODEL@BASE_URL`` names, under the budget of an endpoint; None for an empty address."""
    if not address:
        return None
    model, base_url = chat_address(address, "--phrases")
    return open_chat(replace(endpoint, model=model, base_url=base_url), needed_by="--phrases")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """A build: which documents, how, and where the snapshot is published."""

    addresses: Annotated[
        tuple[str, ...],
        Argument(
            metavar="ADDRESS",
            help="Files, folders, patterns, http(s):// addresses, python:MODULE, mcp:COMMAND, mcp+http://…, aws:SERVICE, "
            "each also as NAME=ADDRESS; or a sources file (docs/sources.md).",
        ),
    ]
    store: Annotated[Path, _Folder("--store", envvar="EGOTOOLS_STORE", help="Store to publish in.")] = DEFAULT_STORE
    overlays: Annotated[
        tuple[Path, ...], Option("--overlay", metavar="FILE", help="Overlay file; a later one wins.")
    ] = ()
    findings: Annotated[str, Option("--findings", help="Misleading documents: report, quarantine, or refuse.")] = (
        "report"
    )
    strict: Annotated[bool, Option("--strict", help="Fail when a document or record is rejected.")] = False
    published: Annotated[bool, Option("--publish/--no-publish", help="Keep the published snapshot: --no-publish.")] = (
        True
    )
    encoder: Annotated[
        str,
        Option(
            help="Sentence encoder: also minilm-l6-int8.v1, hashing.v1, sentence-transformers:NAME (extra torch), "
            "openai:MODEL@BASE_URL (extra llm)."
        ),
    ] = "egotools-minilm-int8.v1"
    extractor: Annotated[str, Rare(help="How triples are extracted: rules, or llm (a chat model).")] = "rules"
    endpoint: ChatEndpoint = field(default_factory=ChatEndpoint)
    ontology: _Ontology = None
    keep: Annotated[int, Rare(min=0, envvar="EGOTOOLS_KEEP", help="Snapshots that the store keeps; 0: all.")] = (
        DEFAULT_KEEP
    )
    signing_key: SigningKey = None
    phrases: Annotated[
        str, Rare("--phrases", metavar="openai:MODEL@URL", help="Model that writes everyday phrases.")
    ] = ""
    phrases_file: Annotated[
        Path | None, Rare("--phrases-file", metavar="FILE", help="Everyday phrases, JSON Lines.")
    ] = None
    cached: Annotated[bool, Rare("--cache/--no-cache", help="Reuse what was made of unchanged tools.")] = True
    workers: Annotated[int, Rare(min=1, help="Threads that encode.")] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DatagenPlan:
    """Data generation: requests of which snapshot, how many, and where they are written."""

    store: _Snapshot
    out: Annotated[Path, _Folder(help="Folder for the requests and the report; answers are cached there.")]
    per_class: Annotated[int, Option(help="Number of requests of each of the six classes.")] = 50
    generator: Annotated[str, Option(help="llm (a chat model writes and reads back), or template (smoke tests).")] = (
        "template"
    )
    endpoint: ChatEndpoint = field(default_factory=ChatEndpoint)
    reader_model: Annotated[str, Rare("--reader-model", help="Model that reads back; the one that writes.")] = ""
    max_calls: Annotated[int, Rare("--max-calls", min=0, help="Stop before more calls of models; 0: no limit.")] = 0
    recording: Annotated[Path | None, Rare(exists=True, dir_okay=False, help="Recorded answers of a model.")] = None
    mix: Annotated[Path | None, Rare(help="YAML or JSON: class → share of the requests; or paper.")] = None
    seed: Annotated[int, Option(help="The same seed gives the same requests.")] = 0
    ontology: _Ontology = None
    allowed_models: AllowedModels = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPlan:
    """An evaluation: which systems, on which requests, and where the results are written."""

    store: _Snapshot
    queries: Annotated[
        tuple[Path, ...], Option("--queries", "-q", help="Labelled requests, JSON Lines: id, query, tools.")
    ]
    out: Annotated[Path, _Folder(help="Folder for the results. Answers in it that still hold are kept.")]
    systems: Annotated[
        tuple[str, ...],
        Option(
            help="Presets, ablations (default-no-…), grpc:HOST:PORT[/PRESET], paper-four, baselines, ablations, all; "
            "by commas. Default: paper-four,rrf,fusion,default."
        ),
    ] = ()
    needs: Annotated[bool, Option("--needs", help="Measure recorded needs too: NAME@whole, @needs, @needs-alone.")] = (
        False
    )
    needs_files: Annotated[
        tuple[Path, ...], Option("--needs-file", metavar="FILE", help="Recorded needs: id, needs.")
    ] = ()
    k: Annotated[int, Option("--k", "-k", min=3, max=1_000, help="Number of tools that an answer may have.")] = 30
    limit: Annotated[int, Option(min=0, help="Measure a sample of this many requests; 0: all.")] = 0
    split: Annotated[str, Option(help="Only requests of this split (dev or test).")] = ""
    baseline: Annotated[str, Rare(help="Differences are to this system. Default: rrf, or the first.")] = ""
    timeout_s: Annotated[float, Rare("--timeout", min=0.001, help="Seconds for one request.")] = 10.0
    name: Annotated[str, Rare(help="Name of the requests in the report. Default: that of their first file.")] = ""
    allow_missing: _AllowMissing = False
    gold_edges: Annotated[
        tuple[Path, ...], Rare("--dependencies", help="True dependencies, JSON Lines: from, to.")
    ] = ()
    reranker: Reranker = DEFAULT_RERANKER
    allowed_models: AllowedModels = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningPlan:
    """A tuning: ranking weights of which snapshot, fitted to which requests, and where the new version is published."""

    snapshot: _Snapshot
    labels: Annotated[
        Path | None, Option("--on", help="Labelled requests of people: id, query, tools, perhaps split.")
    ] = None
    rollback: Annotated[bool, Option("--rollback", help="Go back to the shipped ranking weights.")] = False
    out: Annotated[Path | None, _Folder(help="Store to publish in. Default: the one that is tuned.")] = None
    k: Annotated[int, Option("--k", "-k", min=1, max=1_000, help="Better is a higher CompleteRecall at this k.")] = 10
    seed: Annotated[int, Rare(min=0, help="Seed of the division into requests to search on and held-out ones.")] = 0
    allow_missing: _AllowMissing = False
    allowed_models: AllowedModels = ()
    signing_key: SigningKey = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPlan:
    """A learning from use: of which store, from which sessions, and how the influence of a reporter is bounded."""

    store: Annotated[Path, Option("--store", "-s", file_okay=False, help="Store.", envvar="EGOTOOLS_STORE")] = (
        DEFAULT_STORE
    )
    outcomes: Annotated[
        Path | None,
        Option("--outcomes", exists=True, dir_okay=False, metavar="FILE", help="Log; default: that of the store."),
    ] = None
    k: Annotated[int, Option("--k", "-k", min=1, max=1_000, help="A session needs its tools among the best k.")] = 5
    min_reporters: Annotated[
        int, Option("--min-reporters", min=1, max=100, help="Reporters that make a tool count.")
    ] = 2
    forget: Annotated[bool, Option("--forget", help="Publish the snapshot without what was learned.")] = False
    allowed_models: AllowedModels = ()
    signing_key: SigningKey = None
