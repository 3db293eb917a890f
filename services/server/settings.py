"""The settings of the server: one frozen value, read once from the environment at start; and the file of catalogues."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from ontology.errors import InvalidArgumentError
from ontology.json_values import first_error
from retrieval.ranking.weights import FUSION
from services.server.access.watched_file import load_unique_keys

__all__ = ["ENV_PREFIX", "CatalogEntry", "ServerSettings", "read_catalogs"]

ENV_PREFIX = "EGOTOOLS_"
_MIB = 1024 * 1024
_LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
KEEP_REQUESTS = ("none", "terms", "text")
_REFLECTION = ("loopback", "off", "on")
_WARM_QUERY = "list the open orders of a customer"


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How the server listens, how many requests it accepts, and how it stops.

    :param host: address to listen on; beyond loopback only with TLS and access control, or ``insecure``.
    :param port: 0 (any free port) to 65,535.
    :param workers: requests that run at the same time, each on its own thread, 1 to 256; default: one for each processor.
    :param queue: cost in units that may wait for a worker, 0 to 10,000; more is refused at once. A short request costs 1.
    :param grace_s: seconds that calls in flight have to finish when the server stops, 0 to 3,600.
    :param drain_s: seconds between reporting NOT_SERVING and refusing calls, 0 to 600. In this time clients that watch
        health switch to other replicas; use more for load balancers that poll rarely.
    :param max_message_bytes: maximum size of a request and of a response, 1 KiB to 1 GiB.
    :param default_deadline_s: seconds for a call without a deadline of its own, 0.001 to 3,600.
    :param max_batch: maximum number of requests in one batch, 1 to 64.
    :param max_connection_age_s: seconds after which a client must reconnect, so that new replicas get calls; 1 to 86,400.
    :param warm_query: warm-up query, run once before the service reports SERVING.
    :param ready_file: file that is written when the service reports SERVING: JSON with ``address``, ``host``, ``port``,
        ``pid``, ``snapshot_id``.
    :param watch_s: seconds between two looks at the stores for a new publication, 0 to 3,600; 0: no looks.
    :param admin_host: address of the admin service; beyond loopback only with TLS and access control, or ``insecure``.
    :param admin_port: its port, 0 (any free port) to 65,535; None for none.
    :param log_level: ``DEBUG``, ``INFO``, ``WARNING`` or ``ERROR``.
    :param baselines: whether requests may name the presets to compare with (``paper``, ``semantic``, ``bm25``, …); some take seconds for a
        long request.
    :param recent_vectors: vectors of requests that are kept for each catalogue, 0 to 1,000,000; their texts are not.
    :param metrics_host: address of the HTTP port for metrics and probes.
    :param metrics_port: HTTP port with ``/metrics``, ``/livez`` and ``/readyz``, 0 (any free port) to 65,535; None for none.
    :param otel_endpoint: ``http`` or ``https`` address of an OpenTelemetry collector, to which traces are sent
        (``http://127.0.0.1:4318/v1/traces``); empty for no traces. Needs the extra ``otel``.
    :param log_queries_sample: share of the requests whose text is logged, without known secrets, 0 (none) to 1 (all).
    :param audit_log: file of the audit log; None for none.
    :param audit_log_bytes: size in bytes after which the audit log goes on in a new file, 64 KiB to 1 GiB.
    :param model_wait_s: seconds that a request waits for an encoder or a reranker behind an address, 0.01 to 3,600; it is
        then answered without. Less than the deadlines of the callers.
    :param query_model: chat model that helps with single requests of the preset ``default`` without needs: ``openai:MODEL@http://HOST:PORT/v1``;
        empty for none. Needs the extra ``llm``.
    :param query_steps: what it does, with a comma between: ``rewrite`` the request into needs, ``choose`` among the best 30 tools.
    :param outcomes_mib: bound of the log of reported outcomes of each catalogue, 0 to 65,536 MiB; 0: none is kept.
    :param keep_requests: what the log keeps of a request whose text was reported: ``none``; ``terms``, its words that the tools'
        documents have too, sorted; or ``text``, the text itself.
    :param reports_per_minute: outcomes that one reporter may report in a minute, 1 to 1,000,000.
    :param max_deadline_s: seconds that a call may take at most, whatever deadline it has, 0.001 to 3,600.
    :param max_call_cost: units that one call may cost (see :mod:`services.server.admission.limiter`), 1 to 100,000.
    :param max_inflight_bytes: bytes of requests and answers that are held at once, 1 MiB to 64 GiB; one peer may hold a quarter.
    :param max_calls: calls, and streams of health and of reflection, that are open at once, 16 to 1,000,000 of each kind.
    :param max_peer_calls: those of one peer, 8 to 1,000,000.
    :param max_streams: calls that are open at once on one connection, 1 to 10,000; a client lets further ones wait.
    :param max_connections: connections that are open at once, 1 to 100,000.
    :param reflection: ``on``, ``off``, or ``loopback``: only where the server listens on loopback.
    :param tls_cert: file with the certificate chain of the server, PEM; it is read again when it changes.
    :param tls_key: file with its private key, PEM without a password.
    :param tls_client_ca: file with the certificates of the authorities that sign client certificates.
    :param require_client_cert: whether a client must show a certificate (mTLS), which is then an identity for the policy.
    :param access_policy: YAML file that says who may do what; without it everybody may do everything.
    :param tokens_file: file of static tokens, made by ``egotools admin tokens create``.
    :param jwks: key set of the issuer of JSON web tokens: a file, or an ``https://`` address.
    :param jwt_issuer: the claim ``iss`` that these tokens must have.
    :param jwt_audience: the claim ``aud`` that they must have.
    :param jwt_leeway_s: seconds by which the clock of the issuer may differ, 0 to 300.
    :param insecure: whether the server may listen beyond loopback without TLS and access control.
    :raises InvalidArgumentError: naming the field whose value is invalid.
    """

    host: str = "127.0.0.1"
    port: int = 50_051
    workers: int = field(default_factory=_processors)
    queue: int = 64
    grace_s: float = 25.0
    drain_s: float = 0.5
    max_message_bytes: int = 4 * _MIB
    default_deadline_s: float = 10.0
    max_batch: int = 64
    max_connection_age_s: float = 300.0
    warm_query: str = _WARM_QUERY
    ready_file: Path | None = None
    log_level: str = "INFO"
    watch_s: float = 1.0
    admin_host: str = "127.0.0.1"
    admin_port: int | None = None
    baselines: bool = False
    recent_vectors: int = 8_192

    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = None
    otel_endpoint: str = ""
    log_queries_sample: float = 0.0
    audit_log: Path | None = None
    audit_log_bytes: int = 64 * _MIB
    model_wait_s: float = 2.0
    query_model: str = ""
    query_steps: str = "rewrite"
    outcomes_mib: int = 256
    keep_requests: str = "terms"
    reports_per_minute: int = 600

    max_deadline_s: float = 60.0
    max_call_cost: int = 256
    max_inflight_bytes: int = 64 * _MIB
    max_calls: int = 8_192
    max_peer_calls: int = 1_024
    max_streams: int = 128
    max_connections: int = 4_096
    reflection: str = "loopback"
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    require_client_cert: bool = False
    access_policy: Path | None = None
    tokens_file: Path | None = None
    jwks: str = ""
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_leeway_s: float = 30.0
    insecure: bool = False

    def __post_init__(self) -> None:
        for name in ("host", "admin_host"):
            if not getattr(self, name).strip():
                raise InvalidArgumentError(
                    "the host is empty", subject=name, remedy="Use 127.0.0.1, or the address to listen on"
                )
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:  # NaN fails this comparison
                raise InvalidArgumentError(f"{name} must be from {low:,} to {high:,}, not {value}", subject=name)
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InvalidArgumentError(
                    f"there is no {name} {getattr(self, name)!r}",
                    subject=name,
                    remedy=f"Use one of {', '.join(choices)}",
                )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> ServerSettings:
        """Read the settings from environment variables: ``EGOTOOLS_PORT``, ``EGOTOOLS_GRACE_S``, …, one for each field.

        :param environ: default: the environment of this process. An empty variable counts as unset.
        :param overrides: values that take precedence over the environment, for example from the command line; None
            counts as unset.
        :raises InvalidArgumentError: naming the variable or the field that is invalid.
        """
        environ = os.environ if environ is None else environ
        for name, remedy in _REMOVED.items():
            if environ.get(ENV_PREFIX + name, "").strip() not in ("", "1"):
                raise InvalidArgumentError("it was removed", subject=ENV_PREFIX + name, remedy=remedy)
        given = {name: value for name, value in overrides.items() if value is not None}
        settings = cls()
        for entry in fields(cls):
            variable = ENV_PREFIX + entry.name.upper()
            text = environ.get(variable, "").strip()
            if not text or entry.name in given:
                continue
            try:
                settings = replace(settings, **{entry.name: _parse(getattr(settings, entry.name), entry.name, text)})
            except InvalidArgumentError as error:
                raise InvalidArgumentError(error.problem, subject=variable, remedy=error.remedy) from None
        return replace(settings, **given)


_RANGES: dict[str, tuple[float, float]] = {
    "port": (0, 65_535),
    "workers": (1, 256),
    "queue": (0, 10_000),
    "grace_s": (0, 3_600),
    "drain_s": (0, 600),
    "max_message_bytes": (1024, 1024 * _MIB),
    "default_deadline_s": (0.001, 3_600),
    "max_batch": (1, 64),
    "max_connection_age_s": (1, 86_400),
    "watch_s": (0, 3_600),
    "admin_port": (0, 65_535),
    "recent_vectors": (0, 1_000_000),
    "metrics_port": (0, 65_535),
    "log_queries_sample": (0, 1),
    "model_wait_s": (0.01, 3_600),
    "audit_log_bytes": (64 * 1024, 1024 * _MIB),
    "outcomes_mib": (0, 65_536),
    "reports_per_minute": (1, 1_000_000),
    "max_deadline_s": (0.001, 3_600),
    "max_call_cost": (1, 100_000),
    "max_inflight_bytes": (_MIB, 64 * 1024 * _MIB),
    "max_calls": (16, 1_000_000),
    "max_peer_calls": (8, 1_000_000),
    "max_streams": (1, 10_000),
    "max_connections": (1, 100_000),
    "jwt_leeway_s": (0, 300),
}
_REMOVED = {
    "PROCESSES": "One server is one process: run replicas, and name all to the client: ipv4:HOST:PORT,HOST:PORT"
}
"""Variable of an earlier release, without its prefix → what took its place."""
_WHOLE_NUMBERS = ("admin_port", "metrics_port")  # whose default is None
_PATHS = frozenset({"access_policy", "audit_log", "ready_file", "tls_cert", "tls_client_ca", "tls_key", "tokens_file"})
_CHOICES = {"log_level": _LOG_LEVELS, "reflection": _REFLECTION, "keep_requests": KEEP_REQUESTS}
_SWITCH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def _parse(default: Any, name: str, text: str) -> Any:
    if name in _PATHS:
        return Path(text)
    if isinstance(default, bool):
        if text.lower() not in _SWITCH:
            raise InvalidArgumentError(
                f"{text!r} is neither true nor false", subject=name, remedy="Write true or false"
            )
        return _SWITCH[text.lower()]
    if name == "log_level":
        return text.upper()
    if isinstance(default, str):
        return text
    kind = int if isinstance(default, int) or name in _WHOLE_NUMBERS else float
    try:
        return kind(text)
    except ValueError:
        raise InvalidArgumentError(
            f"{text!r} is not a {'whole ' if kind is int else ''}number", subject=name, remedy="Write digits only"
        ) from None


Tenant: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
_MAX_BYTES = 2**20


def _named(store: Any) -> Any:
    if store in ("", None):  # the path of an empty text is the current folder
        raise ValueError("name a folder")
    return store


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CatalogEntry(_Section):
    """One catalogue.

    :param store: the folder of its store.
    :param reranker: name of the second ranking stage.
    :param allowed_models: names of encoders that its snapshots may name beside the embedded ones.
    :param required: whether the server is ready only with it.
    """

    store: Annotated[Path, BeforeValidator(_named)]
    reranker: Annotated[str, Field(min_length=1)] = FUSION
    allowed_models: tuple[str, ...] = ()
    required: bool = True


class _File(_Section):
    catalogs: Annotated[dict[Tenant, CatalogEntry], Field(min_length=1)]


def read_catalogs(path: Path) -> dict[str, CatalogEntry]:
    """Read a catalogues file: tenant → catalogue. Relative stores are those of its folder.

    :raises InvalidArgumentError: when it cannot be read, has another form, or names a tenant or a store twice.
    """
    try:
        with path.open("rb") as handle:
            text = handle.read(_MAX_BYTES)
        content = load_unique_keys(text)
        found = _File.model_validate(content).catalogs
    except OSError as error:
        raise _invalid(path, f"the file cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise _invalid(path, f"the file is no YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        raise _invalid(path, first_error(error)) from error
    entries = {tenant: entry.model_copy(update={"store": path.parent / entry.store}) for tenant, entry in found.items()}
    _refuse_shared(path, entries)
    return entries


def _refuse_shared(path: Path, entries: Mapping[str, CatalogEntry]) -> None:
    owners: dict[Path, str] = {}
    for tenant, entry in entries.items():
        other = owners.setdefault(entry.store.resolve(), tenant)
        if other != tenant:
            raise _invalid(path, f"{other!r} and {tenant!r} have the same store, so each would see the other's tools")


def _invalid(path: Path, problem: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        problem, subject=str(path), remedy="Write `catalogs:` with a tenant and its `store:` for each"
    )
