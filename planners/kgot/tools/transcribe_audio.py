"""The tool that writes down what is said in a recording."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ontology.errors import DocumentError, InvalidArgumentError, TooLargeError, UnsupportedError
from planners.kgot.tools.media_endpoint import SpeechEndpoint

__all__ = ["AudioTranscriber"]

_MOST_BYTES = 25 * 2**20
"""Of a recording: the limit of the usual endpoints (OpenAI's, as its reference says)."""
_BEGINNINGS: dict[str, tuple[tuple[int, bytes], ...]] = {
    ".flac": ((0, b"fLaC"),),
    ".m4a": ((4, b"ftyp"),),
    ".mp3": ((0, b"ID3"), (0, b"\xff\xfb"), (0, b"\xff\xf3"), (0, b"\xff\xf2"), (0, b"\xff\xfa")),
    ".mp4": ((4, b"ftyp"),),
    ".mpeg": ((0, b"ID3"), (0, b"\xff\xfb"), (0, b"\xff\xf3"), (0, b"\x00\x00\x01")),
    ".ogg": ((0, b"OggS"),),
    ".wav": ((0, b"RIFF"),),
    ".webm": ((0, b"\x1aE\xdf\xa3"),),
}
"""Ending of a file → what it begins with, and where, by the specifications of these formats. What lies is not sent."""


class AudioTranscriber:
    """Writes down the recordings of a task.

    :param find_file: name of a file as a model knows it → the file; raises what is to be said of an unknown one.
    :param speech: None: the tool is not ready.
    """

    def __init__(self, find_file: Callable[[str], Path], speech: SpeechEndpoint | None = None) -> None:
        self._find_file = find_file
        self._speech = speech

    async def check(self) -> None:
        """Find out whether an endpoint is configured; it is not asked, which may cost money.

        :raises UnsupportedError: when none is.
        """
        self._configured()

    async def transcribe_audio(self, file: str) -> dict[str, Any]:
        """Return what is said.

        :raises UnsupportedError: when no endpoint is configured.
        :raises InvalidArgumentError: when there is no such file.
        :raises TooLargeError: when it has too many bytes.
        :raises DocumentError: when it is no recording of a format that the endpoints take.
        :raises ModelError: when the endpoint fails.
        """
        speech = self._configured()
        path = self._find_file(file)
        content = await asyncio.to_thread(_content, path)
        return {"file": file, "text": await speech.transcribe(f"recording{path.suffix.lower()}", content)}

    def _configured(self) -> SpeechEndpoint:
        if self._speech is None:
            raise UnsupportedError(
                "no endpoint for recordings is configured", subject="transcribe_audio", remedy="Configure its address"
            )
        return self._speech


def _content(path: Path) -> bytes:
    if not path.is_file():  # a pipe or a device would be read for ever
        raise InvalidArgumentError("there is no such file", subject=path.name, remedy="Name a file of the task")
    beginnings = _BEGINNINGS.get(path.suffix.lower())
    if beginnings is None:
        known = ", ".join(_BEGINNINGS)
        raise DocumentError(f"this is no recording ({known})", subject=path.name, remedy="Use another tool")
    if path.stat().st_size > _MOST_BYTES:
        raise TooLargeError(f"the recording has more than {_MOST_BYTES:,} bytes", subject=path.name, remedy="Cut it")
    content = path.read_bytes()
    if not any(content.startswith(begin, at) for at, begin in beginnings):
        raise DocumentError(
            f"the file does not begin as one ending in {path.suffix.lower()} does",
            subject=path.name,
            remedy="Use another file",
        )
    return content
