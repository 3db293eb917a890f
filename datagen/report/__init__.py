"""The folder of results of a run: its files, its figures, and the report with its charts."""

from datagen.report.figures import RunFigures
from datagen.report.result_files import write_result

__all__ = ["RunFigures", "write_result"]
