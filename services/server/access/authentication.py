"""Authentication and authorisation of one call: from its metadata and its certificate to a Caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ontology.errors import PermissionDeniedError, UnauthenticatedError
from services.server.access.identity import Identity
from services.server.access.json_web_token import JsonWebTokens
from services.server.access.method_roles import METHODS
from services.server.access.policy import Policy
from services.server.access.static_tokens import TOKEN_PREFIX, StaticTokens
from services.server.access.watched_file import WatchedFiles
from services.server.call_record import TENANT_METADATA_KEY
from services.server.caller import Caller

__all__ = ["Authentication", "check_permission"]

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
