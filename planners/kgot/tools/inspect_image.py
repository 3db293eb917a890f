"""The tool that looks at images: a vision endpoint answers a question; without one the text in the image is read."""

from __future__ import annotations

import asyncio
from typing import Any

from egotools import ToolRequestError
from planners.kgot.tools.image_file import MAX_IMAGE_BYTES, read_image
from planners.kgot.tools.image_text import check_text_reader, image_text
from planners.kgot.tools.media_endpoint import VisionEndpoint
from planners.kgot.tools.task_files import TaskFiles
from planners.kgot.tools.tool_set import ToolSet

__all__ = ["ImageInspector", "register_inspect_image"]

_QUESTION_CHARS = 2_000
_MOST_LINES = 1_000
"""Of text in an image; a page of a newspaper has about 600."""


class ImageInspector:
    """Looks at the images of a task.

    :param vision: None: only text is read.
    """

    def __init__(self, files: TaskFiles, vision: VisionEndpoint | None = None) -> None:
        self._files = files
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

        :raises ToolRequestError: when there is no such file, or no question where an endpoint answers.
        :raises TooLargeError: when the image has too many bytes or pixels.
        :raises DocumentError: when it is no image, or damaged.
        :raises ModelError: when the endpoint fails.
        """
        content = await asyncio.to_thread(self._files.read, file, MAX_IMAGE_BYTES)
        image = await asyncio.to_thread(read_image, file, content)
        size = {"file": file, "width": image.width, "height": image.height}
        if self._vision is None:
            lines = await image_text(image)
            note = "only the text of the image was read; nothing here can look at what it shows"
            return {**size, "text": lines[:_MOST_LINES], "note": note}
        if not question.strip():
            raise ToolRequestError("there is no question", subject="question", remedy="Ask what you want to know.")
        return {**size, "answer": await self._vision.ask(image, question[:_QUESTION_CHARS])}


def register_inspect_image(tools: ToolSet, files: TaskFiles, vision: VisionEndpoint | None = None) -> str:
    """Register the tool and return its id.

    :param vision: None: the tool reads the text of images, and says so in its description.
    """
    inspector = ImageInspector(files, vision)
    does = (
        "Answer a question about an image of the task: what it shows, its text, its charts and tables."
        if vision is not None
        else "Read the text in an image of the task, line by line: scans, screenshots, labels, charts with words. What the image"
        " shows beside text is not seen."
    )
    return tools.register(
        inspector.inspect_image,
        name="inspect_image",
        description=f"{does} For PNG, JPEG, GIF, WebP, BMP and TIFF.",
        inputs={
            "file": {"type": "string", "description": "Name of the image file, for example chart.png."},
            "question": {"type": "string", "description": "What you want to know of the image."},
        },
        required=("file",) if vision is None else ("file", "question"),
        outputs={
            "answer": {"type": "string", "description": "Answer to the question, where a model looks at the image."},
            "text": {"type": "array", "description": "Lines of text in the image, where only text is read."},
        },
        check=inspector.check,
        timeout_s=300.0,
    )
