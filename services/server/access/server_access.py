"""What the settings say about access: TLS, the interceptor, and that a server open to a network has both."""

from __future__ import annotations

import grpc

from ontology.errors import EgotoolsError, InvalidArgumentError
from services.server.access.access_interceptor import AccessInterceptor
from services.server.access.authentication import Authentication
from services.server.access.certificates import server_credentials
from services.server.access.json_web_keys import key_source
from services.server.access.json_web_token import JsonWebTokens
from services.server.access.loopback import is_loopback
from services.server.access.policy import read_policy
from services.server.access.static_tokens import StaticTokens
from services.server.access.steady_clock import SteadyClock
from services.server.access.watched_file import WatchedFiles
from services.server.settings import ServerSettings

__all__ = ["Access", "access_of"]


class Access:
    """The access control of one server.

    :param authentication: says who calls; None: everybody may call everything.
    """

    def __init__(self, settings: ServerSettings, authentication: Authentication | None) -> None:
        self._settings = settings
        self.authentication = authentication

    @property
    def interceptors(self) -> list[grpc.aio.ServerInterceptor]:
        """The interceptor to run before all others; none without access control."""
        return [] if self.authentication is None else [AccessInterceptor(self.authentication)]

    async def may_read_metrics(self, authorization: str) -> bool:
        """Whether the sender of an HTTP header ``Authorization`` has the role ``metrics``."""
        if self.authentication is None:
            return True
        try:
            identity = await self.authentication.bearer(authorization)
            return "metrics" in self.authentication.caller(identity).roles
        except EgotoolsError:
            return False

    def server_credentials(self) -> grpc.ServerCredentials | None:
        """The TLS credentials of a port; None for plain text.

        :raises InvalidArgumentError: when the certificates cannot be used.
        """
        settings = self._settings
        if settings.tls_cert is None or settings.tls_key is None:
            return None
        return server_credentials(settings.tls_cert, settings.tls_key, settings.tls_client_ca)


def access_of(settings: ServerSettings, *, clock: SteadyClock | None = None) -> Access:
    """Return the access control that the settings ask for.

    :param clock: for tokens that expire; None: that of the system.
    :raises InvalidArgumentError: when settings contradict each other, a file cannot be used, or the server would listen beyond
        loopback without TLS and access control and nobody has said that it may.
    """
    _check_tls(settings)
    _check_open(settings)
    if settings.access_policy is None:
        _refuse(
            bool(settings.jwks or settings.tokens_file),
            "tokens are set up, and no policy says what they allow",
            "access_policy",
            "Set EGOTOOLS_ACCESS_POLICY",
        )
        return Access(settings, None)
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
            WatchedFiles("access policy", [policy_file], lambda: read_policy(policy_file)),
            tokens=None if settings.tokens_file is None else StaticTokens(settings.tokens_file, clock=clock),
            web_tokens=web_tokens,
            certificates=settings.require_client_cert,
        ),
    )


def _check_tls(settings: ServerSettings) -> None:
    _refuse(
        (settings.tls_cert is None) != (settings.tls_key is None),
        "TLS needs a certificate and its key",
        "tls_cert",
        "Set both EGOTOOLS_TLS_CERT and EGOTOOLS_TLS_KEY, or neither",
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
    listening = [settings.host, *([settings.admin_host] if settings.admin_port >= 0 else [])]
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
