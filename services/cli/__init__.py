"""The command ``egotools``: one module for each subcommand, and their options, tables and progress bars."""
