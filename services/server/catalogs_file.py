"""The catalogues file (``catalogs.yaml``): the tenants of a server, and the store of each::

catalogs:
  acme:
    store: stores/acme            # relative to the folder of this file
    reranker: fusion.v2           # default
    allowed_models: []            # names of models that its snapshots may name beside the embedded ones
    required: true                # false: the server is ready without it
  umbrella:
    store: stores/umbrella
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from ontology.errors import InvalidArgumentError
from ontology.first_error import first_error
from retrieval.ranking.weights import FUSION
from services.server.unique_keys import load_unique_keys

__all__ = ["CatalogEntry", "read_catalogs"]

Tenant: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
_MAX_BYTES = 2**20


def _named(store: Any) -> Any:
    if store in ("", None):  # the path of an empty text is the current folder
        raise ValueError("name a folder")
    return store


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CatalogEntry(_Section):
    """One catalogue.

    :param store: the folder of its store.
    :param reranker: name of the second ranking stage.
    :param allowed_models: names of encoders that its snapshots may name beside the embedded ones.
    :param required: whether the server is ready only with it.
    """

    store: Annotated[Path, BeforeValidator(_named)]
    reranker: Annotated[str, Field(min_length=1)] = FUSION
    allowed_models: tuple[str, ...] = ()
    required: bool = True


class _File(_Section):
    catalogs: Annotated[dict[Tenant, CatalogEntry], Field(min_length=1)]


def read_catalogs(path: Path) -> dict[str, CatalogEntry]:
    """Read a catalogues file: tenant → catalogue. Relative stores are those of its folder.

    :raises InvalidArgumentError: when it cannot be read, has another form, or names a tenant or a store twice.
    """
    try:
        with path.open("rb") as handle:
            text = handle.read(_MAX_BYTES)
        content = load_unique_keys(text)
        found = _File.model_validate(content).catalogs
    except OSError as error:
        raise _invalid(path, f"the file cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise _invalid(path, f"the file is no YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        raise _invalid(path, first_error(error)) from error
    entries = {tenant: entry.model_copy(update={"store": path.parent / entry.store}) for tenant, entry in found.items()}
    _refuse_shared(path, entries)
    return entries


def _refuse_shared(path: Path, entries: Mapping[str, CatalogEntry]) -> None:
    owners: dict[Path, str] = {}
    for tenant, entry in entries.items():
        other = owners.setdefault(entry.store.resolve(), tenant)
        if other != tenant:
            raise _invalid(path, f"{other!r} and {tenant!r} have the same store, so each would see the other's tools")


def _invalid(path: Path, problem: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        problem, subject=str(path), remedy="Write `catalogs:` with a tenant and its `store:` for each"
    )
