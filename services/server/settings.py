"""The settings of the server: one frozen value, read once from the environment at start; and the file of catalogues."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError
from pydantic import Field as Bounded

from ontology.errors import InvalidArgumentError
from ontology.json_values import first_error
from retrieval.ranking.weights import FUSION
from services.server.access.watched_file import load_unique_keys, read_limited

__all__ = ["ENV_PREFIX", "CatalogEntry", "ServerSettings", "read_catalogs"]

ENV_PREFIX = "EGOTOOLS_"
_MIB = 1024 * 1024
_REMOVED = {
    "PROCESSES": ("1", "One server is one process: run replicas, and name all to the client: ipv4:HOST:PORT,HOST:PORT"),
    "LOG_QUERIES_SAMPLE": (
        "0",
        "EGOTOOLS_KEEP_REQUESTS=text keeps the texts of the requests whose outcomes agents report",
    ),
    "QUERY_STEPS": ("rewrite", "The query model writes the needs of requests, and no longer chooses among tools"),
    "AUDIT_LOG_BYTES": (
        "",
        "Let the system rotate the audit log, as logrotate does: the server opens it for each line",
    ),
}
"""Variable of an earlier release, without its prefix → the value that changes nothing, and what took its place."""


def _within(default: Any, low: float, high: float) -> Any:
    return field(default=default, metadata={"range": (low, high)})


def _one_of(default: str, *choices: str) -> Any:
    return field(default=default, metadata={"choices": choices})


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How the server listens, what it takes of its callers, and how it stops. Numbers are in the range that stands after the default;
    those named ``_s`` are seconds. docs/operate.md describes each.

    :raises InvalidArgumentError: naming the field whose value is invalid.
    """

    host: str = "127.0.0.1"  # beyond loopback only with TLS and access control, or ``insecure``; so ``admin_host``
    port: int = _within(50_051, 0, 65_535)  # 0: any free port
    workers: int = field(default_factory=_processors, metadata={"range": (1, 256)})  # threads that answer requests
    queue: int = _within(64, 0, 10_000)  # cost in units that may wait; a short request costs 1
    grace_s: float = _within(25.0, 0, 3_600)  # for the calls in flight, when the server stops
    drain_s: float = _within(0.5, 0, 600)  # between NOT_SERVING and refusing calls: clients go to other replicas
    max_message_bytes: int = _within(4 * _MIB, 1024, 1024 * _MIB)
    default_deadline_s: float = _within(10.0, 0.001, 3_600)
    max_batch: int = _within(64, 1, 64)  # requests in one call
    max_connection_age_s: float = _within(300.0, 1, 86_400)  # then a client connects anew: new replicas get calls
    warm_query: str = "list the open orders of a customer"
    ready_file: Path | None = None  # JSON, written with SERVING: address, host, port, pid, snapshot_id
    log_level: str = _one_of("INFO", "DEBUG", "INFO", "WARNING", "ERROR")
    watch_s: float = _within(1.0, 0, 3_600)  # between two looks at the stores; 0: none
    admin_host: str = "127.0.0.1"
    admin_port: int | None = _within(None, 0, 65_535)
    baselines: bool = False  # whether requests may name the presets to compare with; some take seconds
    recent_vectors: int = _within(8_192, 0, 1_000_000)  # of requests, for each catalogue

    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = _within(None, 0, 65_535)
    otel_endpoint: str = ""  # of an OpenTelemetry collector; needs the extra ``otel``
    audit_log: Path | None = None
    model_wait_s: float = _within(2.0, 0.01, 3_600)  # for an encoder or reranker behind an address
    query_model: str = ""  # ``openai:MODEL@http://HOST:PORT/v1``; needs the extra ``llm``
    outcomes_mib: int = _within(256, 0, 65_536)  # of the log of reported outcomes; 0: none is kept
    keep_requests: str = _one_of("terms", "none", "terms", "text")  # what that log keeps of a request
    reports_per_minute: int = _within(600, 1, 1_000_000)

    max_deadline_s: float = _within(60.0, 0.001, 3_600)
    max_call_cost: int = _within(256, 1, 100_000)  # units, see :mod:`services.server.admission`
    max_inflight_bytes: int = _within(64 * _MIB, _MIB, 64 * 1024 * _MIB)  # one peer may hold a quarter
    max_calls: int = _within(8_192, 16, 1_000_000)
    max_peer_calls: int = _within(1_024, 8, 1_000_000)
    max_streams: int = _within(128, 1, 10_000)  # calls of one connection; a client lets further ones wait
    max_connections: int = _within(4_096, 1, 100_000)
    reflection: str = _one_of("loopback", "loopback", "off", "on")
    tls_cert: Path | None = None  # PEM; files of TLS and of access are read again when they change
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    require_client_cert: bool = False
    access_policy: Path | None = None
    tokens_file: Path | None = None
    jwks: str = ""  # a file, or an ``https://`` address
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_leeway_s: float = _within(30.0, 0, 300)
    insecure: bool = False

    def __post_init__(self) -> None:
        for entry in fields(self):
            _check(entry, getattr(self, entry.name), entry.name)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> ServerSettings:
        """Read the settings from environment variables: ``EGOTOOLS_PORT``, ``EGOTOOLS_GRACE_S``, …, one for each field.

        :param environ: default: the environment of this process. An empty variable counts as unset.
        :param overrides: values that take precedence over the environment; None counts as unset.
        :raises InvalidArgumentError: naming the variable or the field that is invalid.
        """
        environ = os.environ if environ is None else environ
        for name, (harmless, remedy) in _REMOVED.items():
            if environ.get(ENV_PREFIX + name, "").strip() not in ("", harmless):
                raise InvalidArgumentError("it was removed", subject=ENV_PREFIX + name, remedy=remedy)
        values = {name: value for name, value in overrides.items() if value is not None}
        for entry in fields(cls):
            variable = ENV_PREFIX + entry.name.upper()
            text = environ.get(variable, "").strip()
            if text and entry.name not in values:
                values[entry.name] = _parse(entry, text, variable)
                _check(entry, values[entry.name], variable)
        return cls(**values)


def _check(entry: Field[Any], value: Any, subject: str) -> None:
    name = entry.name
    if name in ("host", "admin_host") and not value.strip():
        raise InvalidArgumentError("the host is empty", subject=subject, remedy="Use 127.0.0.1")
    if (bounds := entry.metadata.get("range")) and value is not None:
        low, high = bounds
        if not low <= value <= high:  # NaN fails this comparison
            raise InvalidArgumentError(f"{name} must be from {low:,} to {high:,}, not {value}", subject=subject)
    choices = entry.metadata.get("choices", (value,))
    if value not in choices:
        remedy = f"Use one of {', '.join(choices)}"
        raise InvalidArgumentError(f"there is no {name} {value!r}", subject=subject, remedy=remedy)


_SWITCH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def _parse(entry: Field[Any], text: str, subject: str) -> Any:
    kind = str(entry.type).partition(" ")[0]
    if kind == "bool":
        if text.lower() not in _SWITCH:
            problem = f"{text!r} is neither true nor false"
            raise InvalidArgumentError(problem, subject=subject, remedy="Write true or false")
        return _SWITCH[text.lower()]
    if kind in ("str", "Path"):
        return Path(text) if kind == "Path" else text.upper() if entry.name == "log_level" else text
    try:
        return int(text) if kind == "int" else float(text)
    except ValueError:
        problem = f"{text!r} is not a {'whole ' if kind == 'int' else ''}number"
        raise InvalidArgumentError(problem, subject=subject, remedy="Write digits only") from None


def _named(store: Any) -> Any:
    if store in ("", None):  # the path of an empty text is the current folder
        raise ValueError("name a folder")
    return store


class CatalogEntry(BaseModel):
    """One catalogue."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    store: Annotated[Path, BeforeValidator(_named)]  # the folder of its store
    reranker: Annotated[str, Bounded(min_length=1)] = FUSION  # name of the second ranking stage
    allowed_models: tuple[str, ...] = ()  # names of encoders that its snapshots may name beside the embedded ones
    required: bool = True  # whether the server is ready only with it


_Tenant = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    catalogs: Annotated[dict[_Tenant, CatalogEntry], Bounded(min_length=1)]


def read_catalogs(path: Path) -> dict[str, CatalogEntry]:
    """Read a catalogues file: tenant → catalogue. Relative stores are those of its folder.

    :raises InvalidArgumentError: when it cannot be read, has another form, or names a tenant or a store twice.
    """
    problem, entries = "", dict[str, CatalogEntry]()
    try:
        found = _File.model_validate(load_unique_keys(read_limited(path))).catalogs
        for tenant, entry in found.items():
            entries[tenant] = entry.model_copy(update={"store": path.parent / entry.store})
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror or error}"
    except ValidationError as error:
        problem = first_error(error)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = f"the file is no YAML: {' '.join(str(error).split())}"
    owners: dict[Path, str] = {}
    for tenant, entry in entries.items():
        other = owners.setdefault(entry.store.resolve(), tenant)
        if other != tenant:
            problem = f"{other!r} and {tenant!r} have the same store, so each would see the other's tools"
    if problem:
        remedy = "Write `catalogs:` with a tenant and its `store:` for each"
        raise InvalidArgumentError(problem, subject=str(path), remedy=remedy)
    return entries
