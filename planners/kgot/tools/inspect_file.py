"""The tool that reads files: documents as Markdown, texts as they are, page by page; or it answers a question about a page."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from importlib.resources import files as package_files
from importlib.util import find_spec
from typing import Any

from egotools import ToolRequestError
from ontology.errors import DocumentError, MissingExtraError, TooLargeError
from ontology.extras import how_to_install
from planners.calls.sandbox import Sandbox, SandboxLimits
from planners.kgot.tools.ask_llm import LlmTool
from planners.kgot.tools.file_kinds import CONVERTED, decoded, file_kind
from planners.kgot.tools.task_files import TaskFiles
from planners.kgot.tools.text_pages import text_pages
from planners.kgot.tools.tool_set import ToolSet

__all__ = ["FileInspector", "register_inspect_file", "unread_kinds"]

_MAX_FILE_BYTES = 20 * 2**20
"""Of a file that is read: what mail systems usually take as an attachment."""
_CONVERTING = SandboxLimits(seconds=60.0, memory_bytes=1 * 2**30, output_bytes=8 * 2**20)
"""A pdf of 200 pages takes some 20 s; the converters need 230 MB of address space for a small file."""
_MOST_KEPT = 8
_MODULES = ("markitdown", "pdfminer", "mammoth", "openpyxl", "pandas")


class FileInspector:
    """Reads the files of a task.

    The body is ``{"file", "kind", "page", "pages", "text"}``. ``text`` is Markdown of pdf, docx, xlsx and html (a table for each sheet,
    below its name), else the text of the file: JSON, comma-separated lines and so on as they stand there, so that what they hold is told
    once. The head of a table that goes on stands on each page. With a question, ``answer`` stands in the place of ``text``.

    :param sandbox: in which files are converted, with limits of its own; None: only texts are read.
    :param asker: answers questions.
    """

    def __init__(self, files: TaskFiles, sandbox: Sandbox | None = None, asker: LlmTool | None = None) -> None:
        self._files = files
        self._sandbox = Sandbox(_CONVERTING) if sandbox is not None else None
        self._asker = asker or LlmTool(None)
        self._kept: OrderedDict[str, tuple[str, list[str]]] = OrderedDict()

    async def inspect_file(self, file: str, page: int = 1, question: str = "") -> dict[str, Any]:
        """Read a page of a file.

        :param page: from 1.
        :raises ToolRequestError: for a file that the task does not have, and a page that the file does not have.
        :raises TooLargeError: when the file, or what it becomes, is too large.
        :raises DocumentError: when it is empty, damaged, encrypted, or of another kind than its name says.
        :raises MissingExtraError: when the package that converts it is not installed.
        :raises IsolationError: when it would have to be converted, and cannot be isolated here.
        :raises ModelError: when the model that is asked fails.
        """
        kind, pages = await self._pages(file)
        if not 1 <= page <= len(pages):
            raise ToolRequestError(f"the file has {len(pages)} pages", subject="page", remedy="Give one of them.")
        text = pages[page - 1]
        body: dict[str, Any] = {"file": file, "kind": kind, "page": page, "pages": len(pages)}
        if not text.strip():
            return {**body, "text": "", "note": "no text was found; a scanned page is an image"}
        if question.strip() and self._asker.can_ask:
            return {**body, **await self._asker.ask_about(text, question)}
        note = {"note": "no model is configured that could answer the question"} if question.strip() else {}
        return {**body, "text": text, **note}

    async def _pages(self, name: str) -> tuple[str, list[str]]:
        if name not in self._kept:
            content = await asyncio.to_thread(self._files.read, name, _MAX_FILE_BYTES)
            kind = await asyncio.to_thread(file_kind, name, content)
            if kind in CONVERTED:
                text = await self._markdown(name, kind, content)
            else:
                text = _checked_text(name, kind, decoded(name, content))
            self._kept[name] = (kind, await asyncio.to_thread(text_pages, text, kind))
        self._kept.move_to_end(name)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return self._kept[name]

    async def _markdown(self, name: str, kind: str, content: bytes) -> str:
        if unread_kinds():
            raise MissingExtraError(f"files of kind {kind}", extra="files")
        if self._sandbox is None:
            raise DocumentError(f"files of kind {kind} are not converted here", subject=name, remedy="Use a text file")
        script = package_files("planners.kgot.tools").joinpath("convert_file.py").read_text(encoding="utf-8")
        charset = _charset(content) if kind == "html" else ""
        call = f"{script}\n\nconvert({kind!r}, 'file', {charset!r})\n"
        result = await self._sandbox.run(call, files={"file": self._files.find(name)})
        if result.ended in ("timeout", "output", "killed"):
            raise TooLargeError(
                f"the file cannot be converted within the limits ({result.ended})",
                subject=name,
                remedy="Use a smaller file",
            )
        try:
            answer = json.loads(result.stdout)
        except ValueError:
            raise _damaged(name, result.stderr.strip().rpartition("\n")[2]) from None
        if "fault" in answer:
            raise _fault(name, answer["fault"], answer["detail"])
        return str(answer["text"])


def unread_kinds() -> tuple[str, ...]:
    """Return the kinds of files that are not read here, because the extra ``files`` is not installed."""
    return tuple(sorted(CONVERTED)) if any(find_spec(module) is None for module in _MODULES) else ()


def _charset(content: bytes) -> str:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return ""  # the page says it, or it is guessed
    return "utf-8"


def _checked_text(name: str, kind: str, text: str) -> str:
    """Return a text.

    :raises DocumentError: when its name says JSON, and it is none.
    """
    if kind == "json":
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DocumentError(
                f"its name says JSON, but it is none ({type(error).__name__})", subject=name, reason="invalid-json"
            ) from None
    return text


def _fault(name: str, kinds: str, detail: str) -> DocumentError | TooLargeError:
    """Return the error for one of a converter.

    :param kinds: names of the classes of the error.
    """
    if (
        "ImportError" in kinds.split()
    ):  # a library that is here, and not in the sandbox, or a part of the extra that is in neither
        return DocumentError(
            f"a library that converts the file cannot be loaded where it is converted ({detail})",
            subject=name,
            remedy=how_to_install("files"),
        )
    if "MemoryError" in kinds:
        return TooLargeError("the file takes too much memory to convert", subject=name, remedy="Use a smaller file")
    if "PDFEncryptionError" in kinds or "PDFPasswordIncorrect" in kinds:
        return DocumentError("the file is encrypted", subject=name, remedy="Save it without a password")
    return _damaged(name, f"{kinds.partition(' ')[0]}: {detail}" if detail else kinds.partition(" ")[0])


def _damaged(name: str, why: str) -> DocumentError:
    return DocumentError(
        f"the file is damaged or not of its kind ({why[:200]})", subject=name, remedy="Use another file"
    )


def register_inspect_file(tools: ToolSet, inspector: FileInspector) -> str:
    """Register the tool and return its id."""
    return tools.register(
        inspector.inspect_file,
        name="inspect_file",
        description=(
            "Read a file of the task: documents and tables (pdf, docx, xlsx, html) as Markdown; csv, tsv, json, jsonl, md and txt as they"
            " are. Long files come in pages. With a question, a model answers it from the page, and the text is not returned. For images,"
            " recordings and archives there are other tools."
        ),
        inputs={
            "file": {"type": "string", "description": "Name of the file, for example report.pdf."},
            "page": {"type": "integer", "minimum": 1, "description": "Page of a long file, from 1."},
            "question": {
                "type": "string",
                "description": "What you want to know of the page; without it, the text is returned.",
            },
        },
        required=("file",),
        outputs={
            "text": {"type": "string", "description": "Text of the page."},
            "answer": {"type": "string", "description": "Answer to the question."},
            "pages": {"type": "integer", "description": "How many pages the file has."},
        },
        timeout_s=600.0,
    )
