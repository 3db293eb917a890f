"""Convert documents to one HTML page through their Markdown: no scripts, no external resources, for screen and
print.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Template
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from eval.report.blocks import Document
from eval.report.markdown import document_to_markdown, pictures_of

__all__ = ["document_to_html"]

# No text of a catalogue can open any of these: the Markdown escapes it, and here they do not exist.
_OFF = ("autolink", "backticks", "code", "entity", "fence", "html_block", "html_inline", "link", "reference")


def document_to_html(document: Document) -> str:
    """The whole page, with its pictures in it."""
    pictures = {picture.name: _data_address(picture.png) for picture in pictures_of(document.sections)}
    body = _parser().render(document_to_markdown(document), {"pictures": pictures})
    return _template().render(title=document.title, body=body)


def _data_address(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


@cache
def _template() -> Template:
    template: Template = Template(
        files("eval.report").joinpath("page.html").read_text(encoding="utf-8"), autoescape=True
    )
    return template


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table").disable(_OFF)
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    parser.add_render_rule("image", _image)
    return parser


def _image(renderer: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: dict[str, Any]) -> str:
    """A picture of the document; the address of any other is left empty."""
    token = tokens[place]
    token.attrs["src"] = env["pictures"].get(token.attrs["src"], "")
    return renderer.image(tokens, place, options, env)
