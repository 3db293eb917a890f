"""The settings of the server: one frozen value, read once from the environment at start; and the file of catalogues."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.dataclasses import dataclass

from ontology.errors import InvalidArgumentError
from ontology.json_values import first_error
from retrieval.ranking.weights import FUSION
from services.server.access.watched_file import load_unique_keys, read_limited

_LOG = logging.getLogger("egotools.server")
ENV_PREFIX = "EGOTOOLS_"
_MISSPELT = 0.8  # likeness of names above which one is taken for the other, of 1; chosen, not measured
_MIB = 1024 * 1024
# Variable of an earlier release, without its prefix → the value that changes nothing, and what took its place
_REMOVED = {
    "PROCESSES": ("1", "One server is one process: run replicas, and name all to the client: ipv4:HOST:PORT,HOST:PORT"),
    "LOG_QUERIES_SAMPLE": ("0", "EGOTOOLS_KEEP_REQUESTS=text keeps the texts of the requests with a reported outcome"),
    "QUERY_STEPS": (
        "rewrite",
        "The query model writes the needs of requests; EGOTOOLS_CHOOSER names the model that chooses among tools",
    ),
    "AUDIT_LOG_BYTES": ("", "Let the system rotate the audit log: the server opens it for each line"),
    "OTEL_ENDPOINT": ("", "The metric egotools_stage_seconds and `timings_ms` of each answer have the times of stages"),
}

_Port: TypeAlias = Annotated[int, Field(ge=0, le=65_535)]
_Host: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Seconds: TypeAlias = Annotated[float, Field(ge=0, le=3_600)]
_Wait: TypeAlias = Annotated[float, Field(ge=0.001, le=3_600)]


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True, config=ConfigDict(allow_inf_nan=False))
class ServerSettings:
    """How the server listens, what it takes of its callers, and how it stops. Those named ``_s`` are seconds. docs/serving.md
    describes each.

    :raises ValidationError: naming the field whose value is invalid.
    """

    host: _Host = "127.0.0.1"  # beyond loopback only with TLS and access control, or ``insecure``; so ``admin_host``
    port: _Port = 50_051  # 0: any free port
    workers: Annotated[int, Field(ge=1, le=256)] = field(default_factory=_processors)  # threads that answer requests
    queue: Annotated[int, Field(ge=0, le=10_000)] = 64  # cost in units that may wait; a short request costs 1
    grace_s: _Seconds = 25.0  # for the calls in flight, when the server stops
    drain_s: Annotated[float, Field(ge=0, le=600)] = 0.5  # between NOT_SERVING and refusing calls
    max_message_bytes: Annotated[int, Field(ge=1024, le=1024 * _MIB)] = 4 * _MIB
    default_deadline_s: _Wait = 10.0
    max_batch: Annotated[int, Field(ge=1, le=64)] = 64  # requests in one call
    max_connection_age_s: Annotated[float, Field(ge=1, le=86_400)] = 300.0  # then a client connects anew
    warm_query: str = "list the open orders of a customer"
    ready_file: Path | None = None  # JSON, written with SERVING: address, host, port, pid, snapshot_id
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    watch_s: _Seconds = 1.0  # between two looks at the stores; 0: none
    admin_host: _Host = "127.0.0.1"
    admin_port: _Port | None = None
    baselines: bool = False  # whether requests may name the presets to compare with; some take seconds
    recent_vectors: Annotated[int, Field(ge=0, le=1_000_000)] = 8_192  # of requests, for each catalogue

    metrics_host: str = "127.0.0.1"
    metrics_port: _Port | None = None
    audit_log: Path | None = None
    model_wait_s: Annotated[float, Field(ge=0.01, le=3_600)] = 2.0  # for an encoder or reranker behind an address
    query_model: str = ""  # ``openai:MODEL@http://HOST:PORT/v1``; needs the extra ``llm``
    chooser: str = ""  # likewise; chooses among the best tools
    outcomes_mib: Annotated[int, Field(ge=0, le=65_536)] = 256  # of the log of reported outcomes; 0: none is kept
    keep_requests: Literal["none", "terms", "text"] = "terms"  # what that log keeps of a request
    reports_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] = 600

    max_deadline_s: _Wait = 60.0
    max_call_cost: Annotated[int, Field(ge=1, le=100_000)] = 256  # units, see :mod:`services.server.messages`
    max_inflight_bytes: Annotated[int, Field(ge=_MIB, le=64 * 1024 * _MIB)] = 64 * _MIB  # one peer may hold a quarter
    max_calls: Annotated[int, Field(ge=16, le=1_000_000)] = 8_192
    max_peer_calls: Annotated[int, Field(ge=8, le=1_000_000)] = 1_024
    max_streams: Annotated[int, Field(ge=1, le=10_000)] = 128  # calls of one connection; further ones wait
    max_connections: Annotated[int, Field(ge=1, le=100_000)] = 4_096
    reflection: Literal["loopback", "off", "on"] = "loopback"
    tls_cert: Path | None = None  # PEM; files of TLS and of access are read again when they change
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    require_client_cert: bool = False
    access_policy: Path | None = None
    tokens_file: Path | None = None
    jwks: str = ""  # a file, or an ``https://`` address
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_leeway_s: Annotated[float, Field(ge=0, le=300)] = 30.0
    insecure: bool = False

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> ServerSettings:
        """Read the settings from variables of the environment, ``EGOTOOLS_PORT``, …, one for each field. An empty one counts as unset.

        :param overrides: values that take precedence over the environment; None counts as unset.
        :raises InvalidArgumentError: naming the variable or the field that is invalid.
        """
        given = {name: text.strip() for name, text in (os.environ if environ is None else environ).items()}
        for name, (harmless, remedy) in _REMOVED.items():
            if given.get(ENV_PREFIX + name, "") not in ("", harmless):
                raise InvalidArgumentError("it was removed", subject=ENV_PREFIX + name, remedy=remedy)
        known = {each.name.upper() for each in fields(cls)}
        for variable in sorted(each for each in given if each.startswith(ENV_PREFIX)):
            name = variable.removeprefix(ENV_PREFIX)  # it is no error: a cluster gives variables of services such names
            if name not in known and (near := get_close_matches(name, known, n=1, cutoff=_MISSPELT)):
                _LOG.warning("%s is no setting, is %s%s meant?", variable[:100], ENV_PREFIX, near[0])
        values = {name: value for name, value in overrides.items() if value is not None}
        variables = {each.name: ENV_PREFIX + each.name.upper() for each in fields(cls) if each.name not in values}
        values |= {name: given[variable] for name, variable in variables.items() if given.get(variable)}
        if isinstance(level := values.get("log_level"), str):
            values["log_level"] = level.upper()
        try:
            return cls(**values)
        except ValidationError as error:
            name = str(error.errors()[0]["loc"][0])
            problem = first_error(error).partition(" is ")[2]
            remedy = "docs/serving.md, docs/operate.md and docs/access.md have the settings"
            raise InvalidArgumentError(problem, subject=variables.get(name, name), remedy=remedy) from None


def _named(store: Any) -> Any:
    if store in ("", None):  # the path of an empty text is the current folder
        raise ValueError("name a folder")
    return store


class CatalogEntry(BaseModel):
    """One catalogue."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    store: Annotated[Path, BeforeValidator(_named)]  # the folder of its store
    reranker: Annotated[str, Field(min_length=1)] = FUSION  # name of the second ranking stage
    allowed_models: tuple[str, ...] = ()  # names of encoders that its snapshots may name beside the embedded ones
    required: bool = True  # whether the server is ready only with it


_Tenant = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    catalogs: Annotated[dict[_Tenant, CatalogEntry], Field(min_length=1)]


def read_catalogs(path: Path) -> dict[str, CatalogEntry]:
    """Read a catalogues file: tenant → catalogue. Relative stores are those of its folder. Raises InvalidArgumentError
    when it cannot be read, has another form, or names a tenant or a store twice."""
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
