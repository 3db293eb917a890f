"""The folder of results of a run: its files, its figures, and the report with its charts."""
