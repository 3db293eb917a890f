"""Reports of evaluations: templates filled with figures, as Markdown and HTML.

:func:`write_report` writes the pages of an evaluation, :func:`comparison_to_markdown` that of two.
"""

from eval.report.page import comparison_to_markdown, needs_notes, per_query_rows, write_report

__all__ = ["comparison_to_markdown", "needs_notes", "per_query_rows", "write_report"]
