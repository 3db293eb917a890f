"""The fetching of the real documents: from archives made here, without a registry."""

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from examples.real.archives import members, obtain
from examples.real.fetch import fetch
from examples.real.listed import read_list
from ontology.errors import DocumentError

DOCUMENT = b'{"openapi": "3.0.0"}'


class Registry:
    """Stands in for pip and npm: it puts a wheel where pip would, a tar archive where npm would."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        wheel, packed = io.BytesIO(), io.BytesIO()
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(zipfile.ZipInfo("pkg/model.json.gz"), gzip.compress(DOCUMENT, mtime=0))
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            entry = tarfile.TarInfo("package/api/shop.json")
            entry.size = len(DOCUMENT)
            archive.addfile(entry, io.BytesIO(DOCUMENT))
            link = tarfile.TarInfo("package/link.json")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
            archive.addfile(link)
        self.wheel, self.packed = wheel.getvalue(), packed.getvalue()

    def __call__(self, command: Sequence[str], folder: Path) -> None:
        self.commands.append(list(command))
        if "install" in command:
            return
        name, content = ("a.tgz", self.packed) if command[0] == "npm" else ("a.whl", self.wheel)
        (folder / name).write_bytes(content)

    def rows(self) -> list[dict[str, Any]]:
        about = {"format": "openapi.v1", "tools": 1, "vendor": "none", "about": "a test"}
        wheel, packed = (hashlib.sha256(content).hexdigest() for content in (self.wheel, self.packed))
        document = {"name": "model", "path": "pkg/model.json.gz", **about}
        shop = {"name": "shop", "path": "package/api/shop.json", **about}
        server = {"name": "desk", "command": ["node", "{server}/index.js"], **about}
        pypi = {"package": "pkg", "registry": "pypi", "form": "wheel", "version": "1.0", "license": "MIT"}
        npm = {"package": "@our/shop", "registry": "npm", "version": "2.0", "license": "MIT"}
        return [
            {**pypi, "sha256": wheel, "documents": [document]},
            {**npm, "sha256": packed, "documents": [shop], "servers": [server]},
        ]


@pytest.fixture
def registry() -> Registry:
    return Registry()


def listed(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "documents.yaml"
    path.write_text(yaml.safe_dump({"archives": rows}), encoding="utf-8")
    return path


def test_documents_are_unpacked_and_a_server_is_asked(tmp_path: Path, registry: Registry) -> None:
    asked: list[str] = []

    def tools_of(address: str) -> list[dict[str, Any]]:
        asked.append(address)
        return [{"name": "open_ticket", "inputSchema": {}}]

    source = listed(tmp_path, registry.rows())
    documents = fetch(tmp_path / "out", source=source, runner=registry, tools_of=tools_of)
    assert sorted(path.name for path in documents.iterdir()) == ["desk.json", "model.json", "shop.json"]
    assert (documents / "model.json").read_bytes() == (documents / "shop.json").read_bytes() == DOCUMENT
    assert json.loads((documents / "desk.json").read_text())["tools"][0]["name"] == "open_ticket"
    assert asked == [f"mcp:node {tmp_path}/out/servers/our-shop-2.0/node_modules/@our/shop/index.js"]


def test_another_archive_than_the_listed_one_is_refused(tmp_path: Path, registry: Registry) -> None:
    rows = [{**registry.rows()[0], "sha256": "0" * 64}]
    with pytest.raises(DocumentError, match=r"pkg-1\.0: its SHA-256 is"):
        fetch(tmp_path / "out", source=listed(tmp_path, rows), runner=registry)
    assert not (tmp_path / "out" / "documents").exists()


@pytest.mark.parametrize("path", ["../model.json", "/etc/hostname", "pkg/../../x", ""])
def test_a_path_that_leaves_the_archive_is_refused(tmp_path: Path, registry: Registry, path: str) -> None:
    rows = registry.rows()
    rows[0]["documents"][0]["path"] = path
    with pytest.raises(DocumentError, match="the path leaves the archive"):
        read_list(listed(tmp_path, rows))


@pytest.mark.parametrize("path", ["package/link.json", "package/absent.json"])
def test_a_member_that_is_no_plain_file_is_named(tmp_path: Path, registry: Registry, path: str) -> None:
    archive = read_list(listed(tmp_path, registry.rows()))[1]
    with pytest.raises(DocumentError, match=path):
        members(obtain(archive, tmp_path / "archives", registry), [path])
