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
    document_to_html,
    document_to_markdown,
    make_table,
    number_columns,
    pictures_of,
    section_to_markdown,
    table_to_markdown,
    text_columns,
)
from eval.report.comparison import comparison_document, comparison_to_markdown
from eval.report.facts import Figures, configs_table, needs_notes, sets_table, warnings_of
from eval.report.page import (
    averages_picture,
    by_group_picture,
    failures_document,
    per_query_rows,
    report_document,
    write_document,
    write_report,
)
from eval.report.tables import difference_cell, difference_table, graph_section, measure_table, per_set_table, table3

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
