"""Authentication and authorisation of one call, before its message is read: which role a method asks for, who calls, and what exists for
that caller; and that a server open to a network has TLS and access control.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from ssl import SSLContext
from typing import Any, NamedTuple, TypeAlias

import grpc

from ontology.errors import EgotoolsError, InvalidArgumentError, PermissionDeniedError
from retrieval.engine import Engine
from services.server.access.policy import Policy, read_policy
from services.server.access.tls import check_pair, is_loopback, server_credentials, web_context
from services.server.access.tokens import TOKEN_PREFIX, Identity, JsonWebTokens, StaticTokens, invalid_token, key_source
from services.server.access.watched_file import WatchedFiles
from services.server.calls import (
    TENANT_METADATA_KEY,
    Caller,
    Role,
    error_message,
    fields,
    report_incident,
    set_caller,
    status,
)
from services.server.settings import ServerSettings

_LOG = logging.getLogger("egotools.access")
_AUTHORIZATION, _BEARER = "authorization", "bearer "
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class MethodRule(NamedTuple):
    """Who may call a method: ``role``, None: everybody, without a token; ``of_tenant``: whether the call is about one catalogue."""

    role: Role | None
    of_tenant: bool = True


_READS = ("Retrieve", "RetrieveBatch", "GetTool", "Neighbors", "GetCatalog", "ReportOutcome", "Plan")
_CHANGES = ("Publish", "Rollback", "ListSnapshots", "Diff")
# Full name of a method → who may call it
METHODS: dict[str, MethodRule] = {
    **{f"/egotools.v1.ToolRetrieval/{name}": MethodRule("read") for name in _READS},
    **{f"/egotools.v1.CatalogAdmin/{name}": MethodRule("admin") for name in _CHANGES},
    "/egotools.v1.CatalogAdmin/ListCatalogs": MethodRule("admin", of_tenant=False),  # those that the caller may use
    # Orchestrators and load balancers have no tokens; health says nothing but whether the server is ready.
    **{f"/grpc.health.v1.Health/{name}": MethodRule(None, of_tenant=False) for name in ("Check", "Watch", "List")},
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": MethodRule("read", of_tenant=False),
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo": MethodRule("read", of_tenant=False),
}

_NAMES = {  # of gRPC, the one that identifies a workload best first: it is the caller's name in logs
    "uri": "peer_uri",
    "dns": "peer_dns",
    "email": "peer_email",
    "ip": "peer_ip",
    "cn": "x509_common_name",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Authentication:
    """Says who calls."""

    rules: WatchedFiles[Policy]  # the policy
    tokens: StaticTokens | None = None  # verifies static tokens; None: there are none
    web_tokens: JsonWebTokens | None = None  # verifies JSON web tokens; None: there are none
    certificates: bool = False  # whether a client certificate is an identity too

    async def bearer(self, authorization: str) -> Identity:
        """Return the identity of an ``authorization`` header."""
        if not authorization.lower().startswith(_BEARER):
            raise invalid_token("the call has no bearer token", "Send `authorization: Bearer TOKEN`")
        token = authorization[len(_BEARER) :].strip()
        if token.startswith(TOKEN_PREFIX) and self.tokens is not None:
            return await self.tokens.verify(token)
        if self.web_tokens is not None and not token.startswith(TOKEN_PREFIX):
            return await self.web_tokens.verify(token)
        raise invalid_token()

    def certificate(self, auth_context: Mapping[str, Iterable[bytes]]) -> Identity:
        """Return the identity of the client certificate of a connection, which gRPC has verified."""
        found = ((kind, name) for kind, key in _NAMES.items() for name in auth_context.get(key, ()))
        names = tuple(f"{kind}:{name.decode('utf-8', 'replace')}" for kind, name in found)
        if not self.certificates or not names:
            problem = "the call has neither a token nor a client certificate"
            raise invalid_token(problem, "Send `authorization: Bearer TOKEN`")
        return Identity(kind="certificate", name=names[0], names=names)

    async def caller(self, identity: Identity) -> Caller:
        """Return the caller that an identity is under the policy."""
        caller = (await self.rules.fresh()).caller(identity)
        if caller is None:
            problem = "the access policy has no rule for this caller"
            raise PermissionDeniedError(problem, remedy="Ask the operator for access")
        return caller


def check_permission(caller: Caller, method: str, tenant: str) -> None:
    """Check that a caller may call a method in a tenant, that of the metadata, or empty."""
    rule = METHODS.get(method)
    role = None if rule is None else rule.role
    if rule is None or (role is not None and role not in caller.roles):
        problem = "the caller does not have the role of this call"
        raise PermissionDeniedError(problem, subject=role or "", remedy="Ask the operator for access")
    if rule.of_tenant and caller.tenants is not None and (tenant or caller.home) not in caller.tenants:
        problem, remedy = "the caller may not use this tenant", "Name a tenant of its own"
        raise PermissionDeniedError(problem, subject=TENANT_METADATA_KEY, remedy=remedy)


class Access:
    """The access control of one server."""

    def __init__(
        self,
        settings: ServerSettings,
        authentication: Authentication | None,  # says who calls; None: everybody may call everything
        denied: Callable[..., None],  # is told of each denied call: method, and by name tenant, code and error
    ) -> None:
        self._settings, self._denied, self.authentication = settings, denied, authentication

    async def admit(self, context: _Context, method: str, *, is_known: bool = True) -> None:
        """Say who makes a call, before its message is read; a call that may not be made ends here. Only a known caller
        is told that there is no such method."""
        authentication, rule, name, tenant = self.authentication, METHODS.get(method), "", ""
        if authentication is None or (rule is not None and rule.role is None):
            return
        try:
            found: dict[str, str] = {}
            for key, value in context.invocation_metadata() or ():
                if key in (TENANT_METADATA_KEY, _AUTHORIZATION):
                    if key in found:
                        problem, remedy = "the metadata has this key twice", "Send it once"
                        raise InvalidArgumentError(problem, subject=key, remedy=remedy)
                    found[key] = value if isinstance(value, str) else value.decode("utf-8", "replace")
            tenant, authorization = found.get(TENANT_METADATA_KEY, ""), found.get(_AUTHORIZATION, "")
            if authorization or not authentication.certificates:
                identity = await authentication.bearer(authorization)
            else:
                identity = authentication.certificate(context.auth_context() or {})
            name = identity.name
            caller = await authentication.caller(identity)
            if is_known:
                check_permission(caller, method, tenant)
            set_caller(caller)
            return
        except EgotoolsError as error:
            message = error_message(error)
            said = {"reason": message.reason, "code": error.grpc_code}
            _LOG.warning("denied", extra=fields(method=method, peer=context.peer(), caller=name, **said))
            self._denied(method.rpartition("/")[2], tenant=tenant, **said)
        except Exception:
            message = report_incident(method)
        await context.abort(*status(message))

    async def metrics_status(self, authorization: str) -> int:
        """The HTTP status for a header ``Authorization``: 200 for a caller with the role ``metrics``, 403 for one without, 401 for others."""
        if self.authentication is None:
            return 200
        name = ""
        error: EgotoolsError = PermissionDeniedError("the caller does not have the role of this call")
        try:
            identity = await self.authentication.bearer(authorization)
            name = identity.name
            if "metrics" in (await self.authentication.caller(identity)).roles:
                return 200
        except EgotoolsError as refused:
            error = refused
        said = {"code": error.grpc_code, "reason": error_message(error).reason}
        _LOG.warning("denied", extra=fields(method="metrics", caller=name, **said))
        self._denied("metrics", tenant="", **said)
        return 403 if isinstance(error, PermissionDeniedError) else 401

    def metrics_tls(self) -> SSLContext | None:
        """The TLS of the HTTP port beyond loopback; None for plain text."""
        settings = self._settings
        if settings.tls_cert is None or settings.tls_key is None or is_loopback(settings.metrics_host):
            return None
        return web_context(settings.tls_cert, settings.tls_key)

    def server_credentials(self) -> grpc.ServerCredentials | None:
        """The TLS credentials of a port; None for plain text."""
        settings = self._settings
        if settings.tls_cert is None or settings.tls_key is None:
            return None
        return server_credentials(settings.tls_cert, settings.tls_key, settings.tls_client_ca)


# -- settings ----------------------------------------------------------------------------------------------------------


def access_of(
    settings: ServerSettings,
    *,
    denied: Callable[..., None] = lambda method, **said: None,
    policy_read: Callable[[str, str], None] = lambda file, outcome: None,
) -> Access:
    """Return the access control that the settings ask for; ``policy_read`` is called with the file and the outcome when
    the policy was read, and read again."""
    check_settings(settings)
    policy, tokens, jwks = settings.access_policy, settings.tokens_file, settings.jwks
    if policy is None:
        return Access(settings, None, denied)
    issuer: Any = {"issuer": settings.jwt_issuer, "audience": settings.jwt_audience, "leeway_s": settings.jwt_leeway_s}
    authentication = Authentication(
        rules=WatchedFiles("access policy", [policy], lambda: read_policy(policy), told=policy_read),
        tokens=None if tokens is None else StaticTokens(tokens),
        web_tokens=JsonWebTokens(find_key=key_source(jwks), **issuer) if jwks else None,
        certificates=settings.require_client_cert,
    )
    return Access(settings, authentication, denied)


def check_settings(settings: ServerSettings) -> None:
    """Check that settings of TLS and of access fit together. No file is read."""

    def need(holds: object, problem: str, subject: str, remedy: str) -> None:
        if not holds:
            raise InvalidArgumentError(problem, subject=subject, remedy=remedy)

    remedy = "Set both EGOTOOLS_TLS_CERT and EGOTOOLS_TLS_KEY, or neither"
    check_pair(settings.tls_cert, settings.tls_key, subject="tls_cert", remedy=remedy)
    by_certificate, tls, policy = settings.require_client_cert, settings.tls_cert, settings.access_policy
    by_token = settings.jwks or settings.tokens_file
    problem = "client certificates are either required and checked against an authority, or not asked for"
    remedy = "Set both EGOTOOLS_REQUIRE_CLIENT_CERT and EGOTOOLS_TLS_CLIENT_CA, or neither"
    need(by_certificate == (settings.tls_client_ca is not None), problem, "require_client_cert", remedy)
    remedy = "Set EGOTOOLS_TLS_CERT and EGOTOOLS_TLS_KEY"
    need(tls or not by_certificate, "client certificates need TLS", "require_client_cert", remedy)
    problem = "tokens are set up, and no policy says what they allow"
    need(policy or not by_token, problem, "access_policy", "Set EGOTOOLS_ACCESS_POLICY")
    problem = "a policy is set, and nothing by which a caller can be known"
    remedy = "Set EGOTOOLS_TOKENS_FILE, EGOTOOLS_JWKS or EGOTOOLS_REQUIRE_CLIENT_CERT"
    need(by_token or by_certificate or not policy, problem, "access_policy", remedy)
    problem = "tokens are accepted only from one issuer and for one audience"
    whose = settings.jwt_issuer and settings.jwt_audience
    need(whose or not settings.jwks, problem, "jwks", "Set EGOTOOLS_JWT_ISSUER and EGOTOOLS_JWT_AUDIENCE")
    listening = [settings.host]
    listening += [] if settings.admin_port is None else [settings.admin_host]
    listening += [] if settings.metrics_port is None else [settings.metrics_host]
    beyond = next((host for host in listening if not is_loopback(host)), "")
    problem = "the server would listen beyond loopback without TLS and access control"
    remedy = (
        "Set EGOTOOLS_TLS_CERT, EGOTOOLS_TLS_KEY and EGOTOOLS_ACCESS_POLICY, or say --insecure where a proxy does both"
    )
    need(not beyond or (tls and policy) or settings.insecure, problem, beyond, remedy)


def warn_of_unknown_filters(policy: Policy, tenant: str, engine: Engine) -> None:
    """Log each key or value of a rule's filters and exclusions that no tool of the tenant's catalogue has; what claims fill in is left out."""
    for number, rule in enumerate(policy.rules, start=1):
        if not any(each in (tenant, "*", "") or "{" in each for each in rule.tenants):
            continue
        filters = [*rule.filters.items(), *rule.exclude.items()]
        for key, value in [(key, value) for key, values in filters for value in values if "{" not in value]:
            try:
                engine.check_filters({key: (value,)})
            except InvalidArgumentError as error:
                said = {"rule": rule.name or str(number), "key": key, "problem": error.problem}
                _LOG.warning("no tool has a filter of the policy", extra=fields(tenant=tenant, **said))
