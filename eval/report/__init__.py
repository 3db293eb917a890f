"""Reports of evaluations: templates filled with figures, as Markdown, HTML and pictures.

:func:`write_report` writes the pages of an evaluation, :func:`comparison_to_markdown` that of two.
"""

from eval.report.page import comparison_to_markdown, needs_notes, per_query_rows, write_report
from eval.report.pictures import missing_plots

__all__ = ["comparison_to_markdown", "missing_plots", "needs_notes", "per_query_rows", "write_report"]
