"""Write personal data to try the planner on: ``python -m benchmarks.personal FOLDER --messages 600 --seed 11``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.personal.write_personal_data import write_personal_data


def main(
    folder: Annotated[Path, typer.Argument(help="A new folder: mail, calendars, cards and files go into it.")],
    messages: Annotated[int, typer.Option(min=50, max=25_000, help="Number of different mails.")] = 600,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 0,
) -> None:
    """Write seeded personal data."""
    write_personal_data(folder, messages=messages, seed=seed)


if __name__ == "__main__":
    typer.run(main)
