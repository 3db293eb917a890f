"""The files of generated data: on disk, attached to mails, or both, with the same content or only the same name and size."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.personal.truth_tables import TruthTables

_TOPICS = "budget contract invoice itinerary lease menu minutes notes photo plan poster quote receipt report roster slides survey tax".split()
_EXTENSIONS = ("txt", "pdf", "docx", "csv", "jpg", "zip", "ics")
_FOLDERS = (
    "Documents",
    "Documents/Taxes/2024",
    "Documents/Taxes/2025",
    "Documents/Work/Projects",
    "Documents/Work/Invoices",
    "Documents/Travel",
    "Downloads",
    "Pictures/Garden",
)
_NOTHING = b"PK\x05\x06" + bytes(18)  # a ZIP archive without a file


@dataclass(frozen=True, slots=True)
class Document:
    """A file that can be attached.

    :param folders: where it is on disk, as far as an attachment's folder can be told.
    """

    name: str
    content: bytes
    folders: tuple[str, ...]

    @property
    def file_id(self) -> str:
        """The identifier of the attachment."""
        return f"{hashlib.sha256(self.content).hexdigest()[:32]}/{self.name}"


def make_documents(root: Path, count: int, random: Random, truth: TruthTables) -> list[Document]:
    """Write a tree of folders and files, and return the documents that mails have as attachments.

    Of seven documents: two are on disk under their name, one under another name, one in two folders, one has a namesake of its
    size with other content, two are not on disk.
    """
    documents = [Document("empty.zip", _NOTHING, ())]
    for folder in _FOLDERS:
        root.joinpath(folder).mkdir(parents=True, exist_ok=True)
        _on_disk(
            root, folder, f"{folder.rsplit('/', 1)[-1].casefold()} readme.md", f"About {folder}.\n".encode(), truth
        )
    for number in range(count):
        extension = _EXTENSIONS[(number + number // 7) % 7]
        name = (
            f"{random.choice(_TOPICS)}-{number}.{extension}" if number else "budget.xlsx"
        )  # that of the paper's request
        content = f"{name}\n{random.random()}\n".encode() * random.randint(1, 40)
        first, second = random.sample(_FOLDERS, 2)
        kind = number % 7
        folders: tuple[str, ...] = ()
        if kind in (0, 1):
            folders = (_on_disk(root, first, name, content, truth),)
        elif kind == 2:
            folders = (_on_disk(root, first, f"copy of {name}", content, truth),)
        elif kind == 3:
            folders = (_on_disk(root, first, name, content, truth), _on_disk(root, second, f"b-{name}", content, truth))
        elif kind == 4:
            folders = (_on_disk(root, first, name, bytes(reversed(content)), truth),)
        documents.append(Document(name, content, folders))
    return documents


def attach(document: Document, email: str, truth: TruthTables) -> None:
    """Say that a mail has a document."""
    extension = document.name.rpartition(".")[2]
    truth.add(
        "File", document.file_id, name=document.name, extension=extension, size=len(document.content), kind="attachment"
    )
    truth.link(("Email", email), "has_attachment", ("File", document.file_id))
    for folder in document.folders:
        truth.link(("File", document.file_id), "parent", ("Folder", folder))


def _on_disk(root: Path, folder: str, name: str, content: bytes, truth: TruthTables) -> str:
    root.joinpath(folder, name).write_bytes(content)
    shown = f"{root.name}/{folder}"
    truth.add("Folder", shown, name=folder.rsplit("/", 1)[-1])
    truth.add(
        "File", f"{shown}/{name}", name=name, extension=name.rpartition(".")[2], size=len(content), kind="on disk"
    )
    truth.link(("File", f"{shown}/{name}"), "parent", ("Folder", shown))
    return shown
