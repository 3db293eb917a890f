"""What `documents.yaml` lists: archives of packages, and the documents and MCP servers to take from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from ontology.errors import DocumentError

#: The list that ships.
LIST = Path(__file__).parent / "documents.yaml"

_REMEDY = "Correct the list of documents"


def _inside(path: str) -> str:
    """A path that stays in the archive."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or "\\" in path or ".." in parts:
        raise ValueError("the path leaves the archive")
    return path


class _Listed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    format: Annotated[str, Field(pattern=r"^[a-z-]+\.v\d+$")]
    tools: Annotated[int, Field(gt=0)]
    vendor: str
    about: str


class ListedDocument(_Listed):
    """A document in an archive.

    :param name: the namespace of its tools.
    :param path: where it is in the archive.
    :param tools: how many tools egotools reads in it.
    """

    path: Annotated[str, AfterValidator(_inside)]

    @property
    def file(self) -> str:
        """The name of the file that is written."""
        return self.name + PurePosixPath(self.path.removesuffix(".gz")).suffix


class ListedServer(_Listed):
    """An MCP server in an archive; the answer to ``tools/list`` is its document.

    :param command: the words that start it; ``{server}`` is the folder of the installed package.
    """

    command: Annotated[tuple[str, ...], Field(min_length=1)]

    @property
    def file(self) -> str:
        """The name of the file that is written."""
        return f"{self.name}.json"


class Archive(BaseModel):
    """One exact version of a package.

    :param form: which archive of a PyPI package.
    :param sha256: of the archive.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: Annotated[str, Field(pattern=r"^(@[a-z0-9-]+/)?[A-Za-z0-9][A-Za-z0-9._-]*$")]
    registry: Literal["pypi", "npm"]
    version: Annotated[str, Field(pattern=r"^\d[A-Za-z0-9.+-]*$")]
    form: Literal["wheel", "sdist"] | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    license: str
    documents: tuple[ListedDocument, ...] = ()
    servers: tuple[ListedServer, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Archive:
        if (self.form is None) != (self.registry == "npm"):
            raise ValueError("a PyPI package has a form (wheel or sdist), an npm package has none")
        return self

    @property
    def title(self) -> str:
        """The package and its version, for messages and as the name of its folder."""
        return re.sub(r"[@/]+", "-", self.package).strip("-") + f"-{self.version}"

    @property
    def listed(self) -> Sequence[ListedDocument | ListedServer]:
        """All that is taken from it."""
        return (*self.documents, *self.servers)


def read_list(path: Path = LIST) -> tuple[Archive, ...]:
    """Read the list.

    :raises DocumentError: when the file cannot be read, an entry is malformed, or a name is used twice.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        rows = data.get("archives") if isinstance(data, Mapping) else None
        archives = TypeAdapter(tuple[Archive, ...]).validate_python(rows)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DocumentError(f"{where}: {first['msg']}", subject=str(path), remedy=_REMEDY) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DocumentError(f"cannot be read ({error})", subject=str(path), remedy=_REMEDY) from error
    names = [listed.name for archive in archives for listed in archive.listed]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DocumentError(f"a name is used twice: {', '.join(twice)}", subject=str(path), remedy=_REMEDY)
    return archives
