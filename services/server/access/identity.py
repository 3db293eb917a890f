"""Who a call says that it is, once that is proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Identity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A proven identity.

    :param kind: ``jwt``, ``token`` (a static one) or ``certificate``.
    :param name: for the logs: the subject, the name of the token, the first name of the certificate.
    :param names: all names of a certificate, each after its kind: ``uri:``, ``dns:``, ``email:``, ``ip:``, ``cn:`` (its common name).
    :param claims: of a JWT.
    """

    kind: Literal["jwt", "token", "certificate"]
    name: str
    names: tuple[str, ...] = ()
    claims: Mapping[str, Any] = field(default_factory=dict)
