"""The command ``egotools health``: whether the server of these settings answers calls. For probes that run a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ontology.errors import NotReadyError
from ontology.files import disk_errors
from services.cli.console import stdout

if TYPE_CHECKING:
    import grpc

__all__ = ["health"]

_TIMEOUT_S = 3.0
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def health(
    port: Annotated[int | None, typer.Option(help="Port of the server. Default: EGOTOOLS_PORT, or 50051.")] = None,
) -> None:
    """Ask the server of this machine whether it answers calls: exit code 0, or 14. It reads the settings that ``serve`` reads."""
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    from egotools.v1 import egotools_pb2
    from services.server.settings import ServerSettings

    settings = ServerSettings.from_env(port=port)
    host = _WILDCARDS.get(settings.host, settings.host)
    target = f"[{host}]:{settings.port}" if ":" in host else f"{host}:{settings.port}"
    with _channel(target, settings.tls_cert) as channel:
        try:
            service = egotools_pb2.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name
            request = health_pb2.HealthCheckRequest(service=service)
            status = health_pb2_grpc.HealthStub(channel).Check(request, timeout=_TIMEOUT_S).status
        except grpc.RpcError as error:
            problem = f"no server answers within {_TIMEOUT_S:g} s: {error.code().name}"
            raise NotReadyError(problem, subject=target, remedy="Start it, or look at its log") from error
    name = health_pb2.HealthCheckResponse.ServingStatus.Name(status)
    if status != health_pb2.HealthCheckResponse.SERVING:
        raise NotReadyError(f"the server reports {name}", subject=target, remedy="Wait, or look at its log")
    stdout.print(name)


def _channel(target: str, certificate: Path | None) -> grpc.Channel:
    import grpc

    if certificate is None:
        return grpc.insecure_channel(target)
    from cryptography import x509

    with disk_errors(certificate, remedy="Name a file that can be read"):
        pem = certificate.read_bytes()
    # The probe trusts the certificate of its own server, whatever names and authority it has.
    leaf = x509.load_pem_x509_certificates(pem)[0]
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    name = str(next(iter(names)).value)
    return grpc.secure_channel(
        target, grpc.ssl_channel_credentials(pem), options=[("grpc.ssl_target_name_override", name)]
    )
