"""The command ``egotools company``: the mock company behind the shipped catalogue."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from services.cli.console import stdout
from services.cli.options import command
from services.company.shipped_documents import SHIPPED_CATALOG

__all__ = ["company_app"]

company_app = typer.Typer(help="The mock company behind the catalogue of the examples.", no_args_is_help=True)


@company_app.callback()
def _company() -> None:
    """Keep ``serve`` a command of its own; typer would run a single one without its name."""


@command(company_app)
def serve(
    data: Annotated[
        Path, typer.Option(file_okay=False, help="Folder of the records; an empty one gets the shipped ones.")
    ],
    catalog: Annotated[
        Path, typer.Option(file_okay=False, help="Folder of the OpenAPI documents.", show_default="the shipped ones")
    ] = SHIPPED_CATALOG,
    host: Annotated[str, typer.Option(help="Address to listen on. There is no access control.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free port.")] = 8010,
    ready_file: Annotated[
        Path | None, typer.Option(help="Write the addresses to this file (JSON) when the company answers.")
    ] = None,
) -> None:
    """Answer every operation of the OpenAPI documents from records, until SIGTERM. The base URL of a system is URL/SYSTEM."""
    from services.company.mock_company import MockCompany, serve_company

    company = MockCompany(catalog, data)
    try:
        systems = sorted({operation.system for operation in company.operations})

        def ready(url: str) -> None:
            stdout.print(f"{len(company.operations)} operations at {url}/SYSTEM: {', '.join(systems)}", soft_wrap=True)

        serve_company(company, host=host, port=port, ready_file=ready_file, ready=ready)
    finally:
        company.close()
