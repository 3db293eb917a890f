"""Reports of evaluations: tables and pictures made from a summary, filled into a template, as Markdown, HTML and PNG.

``write_report`` writes everything. For another page, make a table and render it::

    table_to_markdown(per_set_table(summary, "CompleteRecall@10", ("semantic", "hybrid", "paper"), intervals=True))
    table_to_markdown(table3(summary, "restbench"))
    averages_picture(summary, name="figure3.png")

An empty set name means the mean over the sets.
"""

from eval.report.blocks import NOTHING, Cell, Column, Table, make_table, number_columns, table_to_markdown, text_columns
from eval.report.comparison import comparison_to_markdown
from eval.report.graph_tables import graph_section, graph_tables
from eval.report.page import needs_notes, per_query_rows, write_report
from eval.report.pictures import Picture, averages_picture, by_group_picture, missing_plots
from eval.report.tables import (
    Figures,
    configs_table,
    difference_cell,
    difference_table,
    measure_table,
    per_set_table,
    sets_table,
    table3,
)

__all__ = [
    "NOTHING",
    "Cell",
    "Column",
    "Figures",
    "Picture",
    "Table",
    "averages_picture",
    "by_group_picture",
    "comparison_to_markdown",
    "configs_table",
    "difference_cell",
    "difference_table",
    "graph_section",
    "graph_tables",
    "make_table",
    "measure_table",
    "missing_plots",
    "needs_notes",
    "number_columns",
    "per_query_rows",
    "per_set_table",
    "sets_table",
    "table3",
    "table_to_markdown",
    "text_columns",
    "write_report",
]
