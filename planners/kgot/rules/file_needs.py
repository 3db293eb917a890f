"""Which files of a task are still to be read: archives are unpacked first, and what they held is read like any other file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from planners.kgot.kgot_task import TaskView
from planners.kgot.rules.run_needs import Need

__all__ = ["file_faults", "file_need", "tool_name"]

_READS, _UNPACKS = "inspect_file", "extract_zip"
"""Names of the integrated tools."""
_SHOWN, _MOST_SAID = 3, 300
_MOST_PAGES = 20  # of one file; each is a call


def tool_name(tool_id: str) -> str:
    """Return the name of a tool in its namespace."""
    return tool_id.rpartition("/")[2]


def file_need(view: TaskView) -> Need | None:
    """Return the need of what is to be unpacked or read next; None where all was tried."""
    tried = {
        (tool_name(call.tool_id), str(call.arguments.get("file")), call.arguments.get("page", 1)) for call in view.calls
    }
    names = [path.name for path in view.task.files]
    answers = [(tool_name(call.tool_id), call.body) for call in view.calls if call.ok and isinstance(call.body, dict)]
    unpacked = [name for tool, body in answers if tool == _UNPACKS for name in _names(body)]
    every = list(dict.fromkeys([*names, *unpacked]))
    archives = tuple(name for name in every if _is_archive(name) and (_UNPACKS, name, 1) not in tried)
    if archives:
        return Need(request=f"extract the files of a ZIP archive: {', '.join(archives)}", tool=_UNPACKS, files=archives)
    pages = [(name, 1) for name in every if not _is_archive(name)]
    pages += [
        (str(body.get("file")), _next_page(body)) for tool, body in answers if tool == _READS and _next_page(body)
    ]
    unread = tuple(each for each in pages if (_READS, *each) not in tried)
    if not unread:
        return None
    said = ", ".join(name for name, _ in unread[:_SHOWN])
    return Need(
        request=f"read the text and the tables in a file: {said}",
        tool=_READS,
        files=tuple(name for name, _ in unread),
        pages=tuple(page for _, page in unread),
    )


def file_faults(view: TaskView) -> list[str]:
    """Return why files could not be unpacked or read."""
    failed = [call for call in view.calls if not call.ok and tool_name(call.tool_id) in (_READS, _UNPACKS)]
    return [_fault(str(call.arguments.get("file")), _said(call.body)) for call in failed]


def _fault(file: str, said: str) -> str:
    """Return what is said of a file, with its name once."""
    return (said if said.startswith(f"{file}: ") else f"{file}: {said}").rstrip(".")


def _said(body: Any) -> str:
    said = body.get("error", body) if isinstance(body, dict) else body
    return " ".join(str(said).split())[:_MOST_SAID]


def _next_page(body: dict[str, Any]) -> int:
    """Return the number of the page after the one that was read; 0 after the last."""
    page, pages = body.get("page"), body.get("pages")
    return page + 1 if isinstance(page, int) and isinstance(pages, int) and page < min(pages, _MOST_PAGES) else 0


def _is_archive(name: str) -> bool:
    return PurePath(name).suffix.casefold() == ".zip"


def _names(body: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the files that an archive held, by which tools know them."""
    files = body.get("files")
    for each in files if isinstance(files, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            yield each["name"]
