"""The tool that looks at images: a vision endpoint answers a question; without one the text in the image is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from egotools import ToolRequestError
from planners.kgot.tools.image_file import read_image
from planners.kgot.tools.image_text import check_text_reader, image_text
from planners.kgot.tools.media_endpoint import VisionEndpoint

__all__ = ["ImageInspector"]

_QUESTION_CHARS = 2_000
_MOST_LINES = 1_000
"""Of text in an image; a page of a newspaper has about 600."""


class ImageInspector:
    """Looks at the images of a task.

    :param find_file: name of a file as a model knows it → the file; raises what is to be said of an unknown one.
    :param vision: None: only text is read.
    """

    def __init__(self, find_file: Callable[[str], Path], vision: VisionEndpoint | None = None) -> None:
        self._find_file = find_file
        self._vision = vision

    async def check(self) -> None:
        """Find out whether images can be looked at. An endpoint is not asked, which may cost money.

        :raises MissingExtraError: without an endpoint and without the extra ``ocr``.
        :raises ModelError: when that extra lacks its models.
        """
        if self._vision is None:
            check_text_reader()

    async def inspect_image(self, file: str, question: str = "") -> dict[str, Any]:
        """Answer a question about an image, or return the lines of text in it.

        :raises ToolRequestError: when there is no question, and only an endpoint could answer.
        :raises TooLargeError: when the image has too many bytes or pixels.
        :raises DocumentError: when it is no image, or damaged.
        :raises ModelError: when the endpoint fails.
        """
        path = self._find_file(file)
        image = await asyncio.to_thread(read_image, path)
        size = {"file": file, "width": image.width, "height": image.height}
        if self._vision is None:
            lines = await image_text(image)
            note = "only the text of the image was read; nothing here can look at what it shows"
            return {**size, "text": lines[:_MOST_LINES], "note": note}
        if not question.strip():
            raise ToolRequestError("there is no question", subject="question", remedy="Ask what you want to know.")
        return {**size, "answer": await self._vision.ask(image, question[:_QUESTION_CHARS])}
