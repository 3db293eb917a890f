"""Reports: a summary becomes tables (data), and these become Markdown, HTML and PNG.

``write_report`` writes everything. For a document of one's own, make a table and render it::

    table_to_markdown(per_set_table(summary, "CompleteRecall@10", ("semantic", "hybrid", "paper"), intervals=True))
    table_to_markdown(table3(summary, "restbench"))
    averages_picture(summary, name="figure3.png").png

or make a ``Document`` of sections and give it to ``write_document``. A set name left empty means the mean over the sets.
"""

from eval.report.comparison import comparison_document, comparison_to_markdown
from eval.report.document import (
    Cell,
    Column,
    Document,
    Listing,
    Paragraph,
    Picture,
    Quotation,
    Section,
    Table,
)
from eval.report.facts import (
    configs_table,
    cost_table,
    latency_table,
    missing_gold_table,
    sets_table,
    systems_table,
    warnings_of,
)
from eval.report.failure_page import causes_table, failures_document, helped_and_hurt_section
from eval.report.graph_page import graph_section
from eval.report.html import document_to_html
from eval.report.markdown import document_to_markdown, section_to_markdown, table_to_markdown
from eval.report.page import report_document
from eval.report.plots import averages_picture, by_group_picture
from eval.report.tables import difference_table, measure_table, per_set_table, table3
from eval.report.write import per_query_rows, pictures_of, write_document, write_report

__all__ = [
    "Cell",
    "Column",
    "Document",
    "Listing",
    "Paragraph",
    "Picture",
    "Quotation",
    "Section",
    "Table",
    "averages_picture",
    "by_group_picture",
    "causes_table",
    "comparison_document",
    "comparison_to_markdown",
    "configs_table",
    "cost_table",
    "difference_table",
    "document_to_html",
    "document_to_markdown",
    "failures_document",
    "graph_section",
    "helped_and_hurt_section",
    "latency_table",
    "measure_table",
    "missing_gold_table",
    "per_query_rows",
    "per_set_table",
    "pictures_of",
    "report_document",
    "section_to_markdown",
    "sets_table",
    "systems_table",
    "table3",
    "table_to_markdown",
    "warnings_of",
    "write_document",
    "write_report",
]
