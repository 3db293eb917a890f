"""Authentication and authorisation of one call, before its message is read: which role a method asks for, and who calls."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import grpc

from ontology.errors import EgotoolsError, InvalidArgumentError, PermissionDeniedError, UnauthenticatedError
from services.server.access.policy import Policy
from services.server.access.tokens import TOKEN_PREFIX, Identity, JsonWebTokens, StaticTokens
from services.server.access.watched_file import WatchedFiles
from services.server.admission.admission import peer_of
from services.server.caller import TENANT_METADATA_KEY, Caller, Role, set_caller
from services.server.error_status import ERROR_METADATA_KEY, error_details, error_message, internal_error, status_code
from services.server.logs import fields

__all__ = ["METHODS", "AccessInterceptor", "Authentication", "Denied", "check_permission"]


class MethodRule(NamedTuple):
    """Who may call a method.

    :param role: that a caller must have; None: everybody, without a token.
    :param of_tenant: whether the call is about one catalogue, that of its tenant.
    """

    role: Role | None
    of_tenant: bool = True


_TOOLS, _ADMIN = "/egotools.v1.ToolRetrieval/", "/egotools.v1.CatalogAdmin/"
_READ, _CHANGE = MethodRule("read"), MethodRule("admin")
_REFLECTION = MethodRule("read", of_tenant=False)

METHODS: dict[str, MethodRule] = {
    f"{_TOOLS}Retrieve": _READ,
    f"{_TOOLS}RetrieveBatch": _READ,
    f"{_TOOLS}RetrieveEach": _READ,
    f"{_TOOLS}GetTool": _READ,
    f"{_TOOLS}Neighbors": _READ,
    f"{_TOOLS}GetCatalog": _READ,
    f"{_TOOLS}ReportOutcome": _READ,
    f"{_TOOLS}Plan": _READ,
    f"{_ADMIN}Publish": _CHANGE,
    f"{_ADMIN}Rollback": _CHANGE,
    f"{_ADMIN}ListSnapshots": _CHANGE,
    f"{_ADMIN}Diff": _CHANGE,
    f"{_ADMIN}UpsertTools": _CHANGE,
    f"{_ADMIN}DeleteTools": _CHANGE,
    f"{_ADMIN}ListCatalogs": MethodRule("admin", of_tenant=False),  # it lists those that the caller may use
    # Orchestrators and load balancers have no tokens; health says nothing but whether the server is ready.
    "/grpc.health.v1.Health/Check": MethodRule(None, of_tenant=False),
    "/grpc.health.v1.Health/Watch": MethodRule(None, of_tenant=False),
    "/grpc.health.v1.Health/List": MethodRule(None, of_tenant=False),
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": _REFLECTION,
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo": _REFLECTION,
}
"""Full name of a method → who may call it."""


_AUTHORIZATION = "authorization"
_BEARER = "bearer "
_NAMES = {  # of gRPC, the one that identifies a workload best first: it is the caller's name in logs
    "uri": "peer_uri",
    "dns": "peer_dns",
    "email": "peer_email",
    "ip": "peer_ip",
    "cn": "x509_common_name",
}


class Authentication:
    """Says who calls, and whether they may.

    :param policy: the rules.
    :param tokens: verifies static tokens; None: there are none.
    :param web_tokens: verifies JSON web tokens; None: there are none.
    :param certificates: whether a client certificate is an identity too.
    """

    def __init__(
        self,
        policy: WatchedFiles[Policy],
        *,
        tokens: StaticTokens | None,
        web_tokens: JsonWebTokens | None,
        certificates: bool,
    ) -> None:
        self._policy = policy
        self._tokens = tokens
        self._web_tokens = web_tokens
        self.certificates = certificates

    async def bearer(self, authorization: str) -> Identity:
        """Return the identity of an ``authorization`` header.

        :raises UnauthenticatedError: when it is none, or its token is not valid.
        """
        if not authorization.lower().startswith(_BEARER):
            raise UnauthenticatedError(
                "the call has no bearer token", subject=_AUTHORIZATION, remedy="Send `authorization: Bearer TOKEN`"
            )
        token = authorization[len(_BEARER) :].strip()
        if token.startswith(TOKEN_PREFIX) and self._tokens is not None:
            return await self._tokens.verify(token)
        if self._web_tokens is not None and not token.startswith(TOKEN_PREFIX):
            return await self._web_tokens.verify(token)
        raise UnauthenticatedError(
            "the token is not valid",
            subject=_AUTHORIZATION,
            remedy="Send a token that this server's operator issued",
        )

    def certificate(self, auth_context: Mapping[str, Iterable[bytes]]) -> Identity:
        """Return the identity of the client certificate of a connection.

        :param auth_context: of gRPC; the connection has verified the certificate.
        :raises UnauthenticatedError: when there is none.
        """
        names = tuple(
            f"{kind}:{name.decode('utf-8', 'replace')}"
            for kind, key in _NAMES.items()
            for name in auth_context.get(key, ())
        )
        if not self.certificates or not names:
            raise UnauthenticatedError(
                "the call has neither a token nor a client certificate",
                subject=_AUTHORIZATION,
                remedy="Send `authorization: Bearer TOKEN`",
            )
        return Identity(kind="certificate", name=names[0], names=names)

    @property
    def policy(self) -> Policy:
        """The rules as they are now."""
        return self._policy.value

    async def caller(self, identity: Identity) -> Caller:
        """Return the caller that an identity is under the policy.

        :raises PermissionDeniedError: when no rule is for it.
        """
        caller = (await self._policy.fresh()).caller(identity)
        if caller is None:
            raise PermissionDeniedError(
                "the access policy has no rule for this caller", remedy="Ask the operator for access"
            )
        return caller


def check_permission(caller: Caller, method: str, tenant: str) -> None:
    """Check that a caller may call a method in a tenant.

    :param method: its full name.
    :param tenant: of the metadata, or empty.
    :raises PermissionDeniedError: when not. The error is the same for a tenant that does not exist.
    """
    rule = METHODS.get(method)
    role = None if rule is None else rule.role
    if rule is None or (role is not None and role not in caller.roles):
        raise PermissionDeniedError(
            "the caller does not have the role of this call", subject=role or "", remedy="Ask the operator for access"
        )
    if rule.of_tenant and caller.tenants is not None and (tenant or caller.home) not in caller.tenants:
        raise PermissionDeniedError(
            "the caller may not use this tenant", subject=TENANT_METADATA_KEY, remedy="Name a tenant of its own"
        )


_LOG = logging.getLogger("egotools.access")
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Next: TypeAlias = Callable[[grpc.HandlerCallDetails], Awaitable["_Handler | None"]]


class Denied(Protocol):
    """Is told of a denied call."""

    def __call__(self, method: str, *, actor: str, tenant: str, code: str, reason: str) -> None:
        """Note it.

        :param method: name of the RPC, without the service.
        :param actor: the caller, or where it is not known the address of the other end.
        :param code: name of the gRPC status.
        :param reason: name of the error class, as in ``Error.reason``.
        """
        ...


class AccessInterceptor(grpc.aio.ServerInterceptor):
    """Denies calls by :class:`~services.server.access.authentication.Authentication`, and says who makes the others.

    A call with a token is decided by its metadata alone. Who has only a certificate is known when the handler runs; its message is then
    received, and not yet decoded.

    :param denied: is told of each denied call.
    """

    def __init__(self, authentication: Authentication, denied: Denied | None = None) -> None:
        self._authentication = authentication
        self._denied = denied

    async def intercept_service(
        self, continuation: _Next, handler_call_details: grpc.HandlerCallDetails
    ) -> _Handler | None:
        """Return the handler of a call that is allowed, or one that ends it."""
        method = handler_call_details.method
        rule = METHODS.get(method)
        if rule is not None and rule.role is None:
            return await continuation(handler_call_details)
        authentication, name, tenant = self._authentication, "", ""
        try:
            metadata = _single_values(handler_call_details.invocation_metadata)
            tenant, authorization = metadata[TENANT_METADATA_KEY], metadata[_AUTHORIZATION]
            if authorization or not authentication.certificates:
                identity = await authentication.bearer(authorization)
                name = identity.name
                caller = await authentication.caller(identity)
                handler = await continuation(handler_call_details)
                if handler is None:
                    return None  # UNIMPLEMENTED, which only a known caller is told
                _admit(caller, method, tenant)
                return handler
        except EgotoolsError as error:
            return self._denial(method, error, name, tenant)
        except Exception:
            return _failure(method)
        handler = await continuation(handler_call_details)
        return (
            None
            if handler is None
            else _checked(handler, lambda context: self._by_certificate(context, method, tenant))
        )

    async def _by_certificate(self, context: _Context, method: str, tenant: str) -> None:
        authentication, name = self._authentication, ""
        try:
            identity = authentication.certificate(context.auth_context() or {})
            name = identity.name
            _admit(await authentication.caller(identity), method, tenant)
        except EgotoolsError as error:
            await self._deny(context, method, error, name, tenant)

    async def _deny(self, context: _Context, method: str, error: EgotoolsError, name: str, tenant: str) -> None:
        message = error_message(error)
        code = status_code(message.code)
        said = {"reason": message.reason, "code": code.name}
        _LOG.warning("denied", extra=fields(method=method, peer=context.peer(), caller=name, **said))
        if self._denied is not None:
            actor = name or peer_of(context)
            self._denied(method.rpartition("/")[2], actor=actor, tenant=tenant, **said)
        await context.abort(code, error_details(message), ((ERROR_METADATA_KEY, message.SerializeToString()),))

    def _denial(self, method: str, error: EgotoolsError, name: str, tenant: str) -> _Handler:
        """A handler that ends the call. As a handler of streams it is run before any message is received."""

        async def deny(requests: Any, context: _Context) -> None:
            await self._deny(context, method, error, name, tenant)

        return _stream(deny)


def _admit(caller: Caller, method: str, tenant: str) -> None:
    check_permission(caller, method, tenant)
    set_caller(caller)


def _single_values(metadata: Any) -> dict[str, str]:
    """The two texts of the metadata that decide, empty where they are not there.

    :raises InvalidArgumentError: when one is given twice: each reader could take another.
    """
    found = {TENANT_METADATA_KEY: "", _AUTHORIZATION: ""}
    seen: set[str] = set()
    for key, value in metadata or ():
        if key not in found:
            continue
        if key in seen:
            raise InvalidArgumentError("the metadata has this key twice", subject=key, remedy="Send it once")
        seen.add(key)
        found[key] = value if isinstance(value, str) else value.decode("utf-8", "replace")
    return found


def _failure(method: str) -> _Handler:
    message = internal_error()
    _LOG.exception("incident", extra=fields(incident_id=message.incident_id, method=method))

    async def fail(requests: Any, context: _Context) -> None:
        trailing = ((ERROR_METADATA_KEY, message.SerializeToString()),)
        await context.abort(grpc.StatusCode.INTERNAL, error_details(message), trailing)

    return _stream(fail)


def _stream(behaviour: Callable[[Any, _Context], Awaitable[None]]) -> _Handler:
    make: Any = grpc.stream_stream_rpc_method_handler
    handler: _Handler = make(behaviour)
    return handler


def _checked(handler: _Handler, check: Callable[[_Context], Awaitable[None]]) -> _Handler:
    """The handler, run after a check; a single message is decoded after it too."""
    decode: Any = handler.request_deserializer or (lambda data: data)
    behaviour: Any = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream

    async def single(request: Any, context: _Context) -> Any:
        await check(context)
        message = request if handler.request_streaming else decode(request)
        return await behaviour(message, context)

    async def stream(request: Any, context: _Context) -> None:
        await check(context)
        replies = behaviour(request if handler.request_streaming else decode(request), context)
        if inspect.isawaitable(replies):
            await replies
            return
        async for reply in replies:
            await context.write(reply)

    kinds: dict[tuple[bool, bool], Any] = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }
    made: _Handler = kinds[handler.request_streaming, handler.response_streaming](
        stream if handler.response_streaming else single,
        request_deserializer=handler.request_deserializer if handler.request_streaming else None,
        response_serializer=handler.response_serializer,
    )
    return made
