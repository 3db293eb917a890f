"""Which models a snapshot may name: the embedded ones, and those that the operator allows.

A snapshot is data that somebody else may have made. The name of its encoder says what is imported and which address is
contacted, with the operator's key. So a name that is not embedded is used only when the operator has allowed it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from ontology.errors import ModelNotAllowedError

__all__ = ["ALLOWED_MODELS_VARIABLE", "EMBEDDED_MODELS", "allowed_by_environment", "require_allowed_model"]

EMBEDDED_MODELS = frozenset(("egotools-minilm-int8.v1", "minilm-l6-int8.v1", "hashing.v1", "fusion.v2"))
"""The models that ship with egotools: they import nothing else and contact nothing."""

ALLOWED_MODELS_VARIABLE = "EGOTOOLS_ALLOWED_MODELS"
"""Environment variable of the operator: further names, separated by commas."""


def allowed_by_environment(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the names that the operator allows by :data:`ALLOWED_MODELS_VARIABLE`.

    :param environ: default: the environment of this process.
    """
    text = (os.environ if environ is None else environ).get(ALLOWED_MODELS_VARIABLE, "")
    return tuple(name.strip() for name in text.split(",") if name.strip())


def require_allowed_model(name: str, allowed: Iterable[str], *, subject: str) -> None:
    """Check the name of a model in a snapshot. Call it before the model is loaded.

    :param allowed: the names that the operator allows beside :data:`EMBEDDED_MODELS`; each must be equal to ``name``.
    :param subject: the snapshot, for the error.
    :raises ModelNotAllowedError: when the name is neither embedded nor allowed.
    """
    if name not in EMBEDDED_MODELS and name not in set(allowed):
        raise ModelNotAllowedError(
            f"the snapshot names the model {name!r}, which is neither embedded nor allowed",
            subject=subject,
            remedy="If you trust this snapshot, allow that name with --allow-model or "
            f"{ALLOWED_MODELS_VARIABLE}; else build it again with an embedded encoder",
        )
