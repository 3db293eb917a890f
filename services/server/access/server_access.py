"""What the settings say about access: TLS, the interceptor, and that a server open to a network has both."""

from __future__ import annotations

from collections.abc import Callable
from ssl import SSLContext

import grpc

from ontology.errors import EgotoolsError, InvalidArgumentError, PermissionDeniedError
from services.server.access.authentication import AccessInterceptor, Authentication, Denied
from services.server.access.policy import read_policy
from services.server.access.tls import check_pair, is_loopback, server_credentials, web_context
from services.server.access.tokens import JsonWebTokens, StaticTokens, SteadyClock, key_source
from services.server.access.watched_file import WatchedFiles
from services.server.error_status import reason_of
from services.server.settings import ServerSettings

__all__ = ["Access", "access_of", "check_settings"]


class Access:
    """The access control of one server.

    :param authentication: says who calls; None: everybody may call everything.
    :param denied: is told of each denied call.
    """

    def __init__(
        self, settings: ServerSettings, authentication: Authentication | None, denied: Denied | None = None
    ) -> None:
        self._settings = settings
        self._denied = denied
        self.authentication = authentication

    @property
    def interceptors(self) -> list[grpc.aio.ServerInterceptor]:
        """The interceptor to run before all others; none without access control."""
        return [] if self.authentication is None else [AccessInterceptor(self.authentication, self._denied)]

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
        if self._denied is not None:
            self._denied("metrics", actor=name, tenant="", code=error.grpc_code, reason=reason_of(error))
        return 403 if isinstance(error, PermissionDeniedError) else 401

    def metrics_tls(self) -> SSLContext | None:
        """The TLS of the HTTP port beyond loopback; None for plain text.

        :raises InvalidArgumentError: when the certificates cannot be used.
        """
        settings = self._settings
        if settings.tls_cert is None or settings.tls_key is None or is_loopback(settings.metrics_host):
            return None
        return web_context(settings.tls_cert, settings.tls_key)

    def server_credentials(self) -> grpc.ServerCredentials | None:
        """The TLS credentials of a port; None for plain text.

        :raises InvalidArgumentError: when the certificates cannot be used.
        """
        settings = self._settings
        if settings.tls_cert is None or settings.tls_key is None:
            return None
        return server_credentials(settings.tls_cert, settings.tls_key, settings.tls_client_ca)


def access_of(
    settings: ServerSettings,
    *,
    clock: SteadyClock | None = None,
    denied: Denied | None = None,
    policy_read: Callable[[str, str], None] = lambda file, outcome: None,
) -> Access:
    """Return the access control that the settings ask for.

    :param clock: for tokens that expire; None: that of the system.
    :param denied: is told of each denied call.
    :param policy_read: called with the file and the outcome when the policy was read, and read again.
    :raises InvalidArgumentError: when settings contradict each other, a file cannot be used, or the server would listen beyond
        loopback without TLS and access control and nobody has said that it may.
    """
    check_settings(settings)
    if settings.access_policy is None:
        _refuse(
            bool(settings.jwks or settings.tokens_file),
            "tokens are set up, and no policy says what they allow",
            "access_policy",
            "Set EGOTOOLS_ACCESS_POLICY",
        )
        return Access(settings, None, denied)
    _refuse(
        not (settings.jwks or settings.tokens_file or settings.require_client_cert),
        "a policy is set, and nothing by which a caller can be known",
        "access_policy",
        "Set EGOTOOLS_TOKENS_FILE, EGOTOOLS_JWKS or EGOTOOLS_REQUIRE_CLIENT_CERT",
    )
    _refuse(
        bool(settings.jwks) and not (settings.jwt_issuer and settings.jwt_audience),
        "tokens are accepted only from one issuer and for one audience",
        "jwks",
        "Set EGOTOOLS_JWT_ISSUER and EGOTOOLS_JWT_AUDIENCE",
    )
    clock = clock or SteadyClock()
    policy_file = settings.access_policy
    web_tokens = None
    if settings.jwks:
        web_tokens = JsonWebTokens(
            key_source(settings.jwks),
            issuer=settings.jwt_issuer,
            audience=settings.jwt_audience,
            leeway_s=settings.jwt_leeway_s,
            clock=clock,
        )
    return Access(
        settings,
        Authentication(
            WatchedFiles("access policy", [policy_file], lambda: read_policy(policy_file), told=policy_read),
            tokens=None if settings.tokens_file is None else StaticTokens(settings.tokens_file, clock=clock),
            web_tokens=web_tokens,
            certificates=settings.require_client_cert,
        ),
        denied,
    )


def check_settings(settings: ServerSettings) -> None:
    """Check that settings of TLS and of access fit together. No file is read.

    :raises InvalidArgumentError: as :func:`access_of`.
    """
    _check_tls(settings)
    _check_open(settings)


def _check_tls(settings: ServerSettings) -> None:
    check_pair(
        settings.tls_cert,
        settings.tls_key,
        subject="tls_cert",
        remedy="Set both EGOTOOLS_TLS_CERT and EGOTOOLS_TLS_KEY, or neither",
    )
    _refuse(
        settings.require_client_cert != (settings.tls_client_ca is not None),
        "client certificates are either required and checked against an authority, or not asked for",
        "require_client_cert",
        "Set both EGOTOOLS_REQUIRE_CLIENT_CERT and EGOTOOLS_TLS_CLIENT_CA, or neither",
    )
    _refuse(
        settings.require_client_cert and settings.tls_cert is None,
        "client certificates need TLS",
        "require_client_cert",
        "Set EGOTOOLS_TLS_CERT and EGOTOOLS_TLS_KEY",
    )


def _check_open(settings: ServerSettings) -> None:
    listening = [settings.host, *([settings.admin_host] if settings.admin_port is not None else [])]
    listening += [] if settings.metrics_port is None else [settings.metrics_host]
    is_closed = settings.tls_cert is not None and settings.access_policy is not None
    _refuse(
        not (is_closed or settings.insecure or all(map(is_loopback, listening))),
        "the server would listen beyond loopback without TLS and access control",
        next((host for host in listening if not is_loopback(host)), ""),
        "Set EGOTOOLS_TLS_CERT, EGOTOOLS_TLS_KEY and EGOTOOLS_ACCESS_POLICY, or say --insecure where a proxy does both",
    )


def _refuse(wrong: bool, problem: str, subject: str, remedy: str) -> None:
    if wrong:
        raise InvalidArgumentError(problem, subject=subject, remedy=remedy)
