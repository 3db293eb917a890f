"""Which role each method of the server asks for. A method without a row here is denied to everybody."""

from __future__ import annotations

from typing import NamedTuple

from services.server.caller import Role

__all__ = ["METHODS", "MethodRule"]


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
