"""What every port must have: a certificate with its key, or neither, and plain text on loopback only."""

from __future__ import annotations

from pathlib import Path
from ssl import SSLContext

from ontology.errors import InvalidArgumentError
from services.server.access.certificates import web_context
from services.server.access.loopback import is_loopback

__all__ = ["check_pair", "web_tls"]


def check_pair(certificate: Path | None, key: Path | None, *, subject: str, remedy: str) -> None:
    """Check that there are a certificate and its key, or neither. No file is read.

    :param subject: the settings or options that name them.
    :raises InvalidArgumentError: when one is missing.
    """
    if (certificate is None) != (key is None):
        raise InvalidArgumentError("TLS needs a certificate and its key", subject=subject, remedy=remedy)


def web_tls(host: str, certificate: Path | None, key: Path | None, *, insecure: bool) -> SSLContext | None:
    """Return the TLS of an HTTP port with the options ``--tls-cert``, ``--tls-key`` and ``--insecure``; None for plain text.

    :param host: where it listens.
    :param insecure: whether it may be plain text beyond loopback.
    :raises InvalidArgumentError: when one of the files is missing or cannot be used, or it would be plain text beyond loopback.
    """
    check_pair(certificate, key, subject="--tls-cert, --tls-key", remedy="Give both, or none")
    if certificate is not None and key is not None:
        return web_context(certificate, key)
    if not insecure and not is_loopback(host):
        raise InvalidArgumentError(
            "it would listen beyond loopback without TLS: tokens and answers would be sent in plain text",
            subject=host,
            remedy="Give --tls-cert and --tls-key; or --insecure where a proxy has TLS",
        )
    return None
