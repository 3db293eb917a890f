"""The tool that writes down what is said in a recording."""

from __future__ import annotations

import asyncio
from pathlib import PurePath
from typing import Any

from ontology.errors import DocumentError, UnsupportedError
from planners.kgot.tools.media_endpoint import SpeechEndpoint
from planners.kgot.tools.task_files import TaskFiles
from planners.kgot.tools.tool_set import ToolSet

__all__ = ["AudioTranscriber", "register_transcribe_audio"]

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

    :param speech: None: the tool is not ready.
    """

    def __init__(self, files: TaskFiles, speech: SpeechEndpoint | None = None) -> None:
        self._files = files
        self._speech = speech

    async def check(self) -> None:
        """Find out whether an endpoint is configured; it is not asked, which may cost money.

        :raises UnsupportedError: when none is.
        """
        self._configured()

    async def transcribe_audio(self, file: str) -> dict[str, Any]:
        """Return what is said.

        :raises UnsupportedError: when no endpoint is configured.
        :raises ToolRequestError: when there is no such file.
        :raises TooLargeError: when it has too many bytes.
        :raises DocumentError: when it is no recording of a format that the endpoints take.
        :raises ModelError: when the endpoint fails.
        """
        speech = self._configured()
        ending = PurePath(file).suffix.lower()
        if ending not in _BEGINNINGS:
            known = ", ".join(_BEGINNINGS)
            raise DocumentError(f"this is no recording ({known})", subject=file, remedy="Use another tool")
        content = await asyncio.to_thread(self._files.read, file, _MOST_BYTES)
        if not any(content.startswith(begin, at) for at, begin in _BEGINNINGS[ending]):
            problem = f"the file does not begin as one ending in {ending} does"
            raise DocumentError(problem, subject=file, remedy="Use another file")
        return {"file": file, "text": await speech.transcribe(f"recording{ending}", content)}

    def _configured(self) -> SpeechEndpoint:
        if self._speech is None:
            raise UnsupportedError(
                "no endpoint for recordings is configured", subject="transcribe_audio", remedy="Configure its address"
            )
        return self._speech


def register_transcribe_audio(tools: ToolSet, files: TaskFiles, speech: SpeechEndpoint | None = None) -> str:
    """Register the tool and return its id."""
    transcriber = AudioTranscriber(files, speech)
    return tools.register(
        transcriber.transcribe_audio,
        name="transcribe_audio",
        description=f"Write down what is said in a recording of the task ({', '.join(_BEGINNINGS)}), up to 25 MiB.",
        inputs={"file": {"type": "string", "description": "Name of the audio file, for example talk.mp3."}},
        required=("file",),
        outputs={"text": {"type": "string", "description": "What is said."}},
        check=transcriber.check,
        timeout_s=600.0,
    )
