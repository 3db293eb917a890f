"""The tools of a run, all registered: what is not configured is registered too, and says so when it is checked."""

from __future__ import annotations

from dataclasses import dataclass

from inference.chat import ChatModel
from planners.calls.fence_marks import FenceMarks
from planners.calls.sandbox import Sandbox
from planners.kgot.tools.ask_llm import LlmTool, register_ask_llm
from planners.kgot.tools.extract_zip import register_extract_zip
from planners.kgot.tools.inspect_file import FileInspector, register_inspect_file
from planners.kgot.tools.inspect_image import register_inspect_image
from planners.kgot.tools.media_endpoint import SpeechEndpoint, VisionEndpoint
from planners.kgot.tools.run_python import register_run_python
from planners.kgot.tools.task_files import TaskFiles
from planners.kgot.tools.tool_set import ToolSet
from planners.kgot.tools.transcribe_audio import register_transcribe_audio
from planners.kgot.tools.web_tools import WebTools, register_web_tools

__all__ = ["ToolModels", "standard_tools"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolModels:
    """The models that tools ask; a tool without its model is not ready, or does less.

    :param chat: answers questions, also about files.
    :param marks: of the run, around texts that the chat model is shown.
    """

    chat: ChatModel | None = None
    vision: VisionEndpoint | None = None
    speech: SpeechEndpoint | None = None
    marks: FenceMarks | None = None


def standard_tools(
    files: TaskFiles, sandbox: Sandbox, *, models: ToolModels | None = None, web: WebTools | None = None
) -> ToolSet:
    """Return the integrated tools of one run. Whoever has more registers them in it.

    :param files: of the run.
    :param web: None: pages are visited, without a search and a wiki.
    """
    given = models or ToolModels()
    tools = ToolSet()
    asker = LlmTool(given.chat, given.marks)
    inspector = FileInspector(files, sandbox, asker)
    register_run_python(tools, files, sandbox)
    register_ask_llm(tools, asker)
    register_inspect_file(tools, inspector)
    register_extract_zip(tools, files, inspector)
    register_inspect_image(tools, files, given.vision)
    register_transcribe_audio(tools, files, given.speech)
    register_web_tools(tools, web or WebTools())
    return tools
