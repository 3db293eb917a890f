"""The report of a run as Markdown: the requests, their measures, and the rejections."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined

from datagen.report.charts import CHARTS
from datagen.report.figures import RunFigures
from ontology.markdown_text import escape_line, escape_markdown

__all__ = ["report_to_markdown"]

_BLANK_LINES = re.compile(r"\n{3,}")
_MAX_REASONS = 12  # of a stage
_MAX_TOOLS = 40  # that no request needs


def report_to_markdown(figures: RunFigures, texts: Mapping[str, str], pictures: Collection[str]) -> str:
    """Return the report as Markdown.

    :param texts: map from request id to its text.
    :param pictures: file names of the charts in the same folder; empty where they could not be drawn.
    """

    def picture(name: str) -> str:
        return f"![{CHARTS[name].title}]({name})\n" if name in pictures else ""

    # The page is Markdown: texts are escaped by the filters, not as HTML.
    environment = Environment(
        loader=PackageLoader("datagen.report", ""),
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(plain=escape_markdown, line=escape_line, number="{:,}".format, percent=_percent)
    page = environment.get_template("report.md.jinja").render(
        figures=figures, texts=texts, pictures=pictures, picture=picture, max_reasons=_MAX_REASONS, max_tools=_MAX_TOOLS
    )
    return _BLANK_LINES.sub("\n\n", page).strip() + "\n"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
