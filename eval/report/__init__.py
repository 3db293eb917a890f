"""Reports: make a document of tables and pictures from a summary, and write it as Markdown, HTML and PNG.

``write_report`` writes everything. For another document, make a table and render it::

    table_to_markdown(per_set_table(summary, "CompleteRecall@10", ("semantic", "hybrid", "paper"), intervals=True))
    table_to_markdown(table3(summary, "restbench"))
    averages_picture(summary, name="figure3.png").png

or make a ``Document`` of sections and give it to ``write_document``. An empty set name means the mean over the sets.
"""

from eval.report.blocks import (
    NOTHING,
    Cell,
    Column,
    Document,
    Listing,
    Paragraph,
    Picture,
    Quotation,
    Section,
    Table,
    make_table,
    number_columns,
    text_columns,
)
from eval.report.comparison import comparison_document, comparison_to_markdown
from eval.report.facts import configs_table, needs_notes, sets_table, warnings_of
from eval.report.failure_page import failures_document
from eval.report.figure_lookup import Figures
from eval.report.graph_page import graph_section
from eval.report.html import document_to_html
from eval.report.markdown import document_to_markdown, pictures_of, section_to_markdown, table_to_markdown
from eval.report.page import report_document
from eval.report.plots import averages_picture, by_group_picture
from eval.report.tables import difference_cell, difference_table, measure_table, per_set_table, table3
from eval.report.write import per_query_rows, write_document, write_report

__all__ = [
    "NOTHING",
    "Cell",
    "Column",
    "Document",
    "Figures",
    "Listing",
    "Paragraph",
    "Picture",
    "Quotation",
    "Section",
    "Table",
    "averages_picture",
    "by_group_picture",
    "comparison_document",
    "comparison_to_markdown",
    "configs_table",
    "difference_cell",
    "difference_table",
    "document_to_html",
    "document_to_markdown",
    "failures_document",
    "graph_section",
    "make_table",
    "measure_table",
    "needs_notes",
    "number_columns",
    "per_query_rows",
    "per_set_table",
    "pictures_of",
    "report_document",
    "section_to_markdown",
    "sets_table",
    "table3",
    "table_to_markdown",
    "text_columns",
    "warnings_of",
    "write_document",
    "write_report",
]
