"""The command ``egotools health``: whether the server of these settings answers calls. For probes that run a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ontology.errors import InvalidArgumentError, NotReadyError
from services.cli.console import stdout

if TYPE_CHECKING:
    import grpc

    from services.server.settings import ServerSettings

__all__ = ["health"]

_TIMEOUT_S = 3.0


def health(
    port: Annotated[int | None, typer.Option(help="Port of the server. Default: EGOTOOLS_PORT, or 50051.")] = None,
    client_cert: Annotated[
        Path | None,
        typer.Option(
            envvar="EGOTOOLS_CLIENT_CERT", help="Certificate chain to show, PEM, where the server requires one (mTLS)."
        ),
    ] = None,
    client_key: Annotated[
        Path | None,
        typer.Option(envvar="EGOTOOLS_CLIENT_KEY", help="Its private key, PEM without a password."),
    ] = None,
) -> None:
    """Ask the server of this machine whether it answers calls: exit code 0, or 14. It reads the settings that ``serve`` reads."""
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    from egotools.v1 import egotools_pb2
    from services.server.access.tls import own_target
    from services.server.settings import ServerSettings

    settings = ServerSettings.from_env(port=port)
    target = own_target(settings.host, settings.port)
    with _channel(settings, target, client_cert, client_key) as channel:
        try:
            service = egotools_pb2.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name
            request = health_pb2.HealthCheckRequest(service=service)
            status = health_pb2_grpc.HealthStub(channel).Check(request, timeout=_TIMEOUT_S).status
        except grpc.RpcError as error:
            problem = f"no server answers within {_TIMEOUT_S:g} s: {error.code().name}"
            remedy = "Start it, or look at its log"
            if settings.require_client_cert and client_cert is None:
                remedy = "Give --client-cert and --client-key: the server requires a client certificate"
            raise NotReadyError(problem, subject=target, remedy=remedy) from error
    name = health_pb2.HealthCheckResponse.ServingStatus.Name(status)
    if status != health_pb2.HealthCheckResponse.SERVING:
        raise NotReadyError(f"the server reports {name}", subject=target, remedy="Wait, or look at its log")
    stdout.print(name)


def _channel(settings: ServerSettings, target: str, certificate: Path | None, key: Path | None) -> grpc.Channel:
    import grpc

    from services.server.access.tls import own_credentials

    if settings.tls_cert is None:
        if certificate is not None or key is not None:
            raise InvalidArgumentError(
                "the settings have no TLS, and a certificate for it was given",
                subject="--client-cert, --client-key",
                remedy="Set EGOTOOLS_TLS_CERT, or leave them out",
            )
        return grpc.insecure_channel(target)
    credentials, options = own_credentials(settings.tls_cert, certificate, key)
    return grpc.secure_channel(target, credentials, options=options)
