"""Fetch the real documents of this folder's list into one folder: OUT/documents. The archives are kept in OUT/archives.

    python -m examples.real.fetch out/real
    python -m examples.real.fetch out/real-later examples/real/later_documents.yaml
    egotools validate out/real/documents

It needs pip, npm and node, and the extra `mcp`. What is there already is not fetched again. The documents belong to their
vendors: see the datasheet for the licences.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from examples.real.archives import Run, members, obtain, run
from examples.real.listed import LIST, Archive, ListedDocument, ListedServer, read_list
from ingest.sources.mcp.source import list_tools
from ontology.errors import EgotoolsError
from ontology.files import write_file

ListTools = Callable[[str], list[dict[str, Any]]]
"""The tools of the MCP server at an address ``mcp:COMMAND``."""


def fetch(
    out: Path,
    *,
    source: Path = LIST,
    runner: Run = run,
    tools_of: ListTools | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Fetch what is missing, and return the folder of the documents.

    :param runner: runs the package clients.
    :param tools_of: asks a server for its tools.
    :param progress: called with each thing that is done.
    :raises EgotoolsError: when a package, a member or a server cannot be had.
    """
    documents = out / "documents"
    ask = tools_of or (lambda address: list_tools(address).tools)
    for archive in read_list(source):
        missing = [listed for listed in archive.listed if not (documents / listed.file).is_file()]
        if not missing:
            progress(f"{archive.title}: already there")
            continue
        progress(f"{archive.title}: fetching {', '.join(listed.name for listed in missing)}")
        file = obtain(archive, out / "archives", runner)
        by_path = {listed.path: listed for listed in missing if isinstance(listed, ListedDocument)}
        for path, content in members(file, list(by_path)).items():
            write_file(documents / by_path[path].file, content)
        for listed in missing:
            if isinstance(listed, ListedServer):
                listing = _listing(archive, listed, file, out / "servers", runner, ask)
                write_file(documents / listed.file, listing)
    return documents


def _listing(archive: Archive, server: ListedServer, file: Path, folder: Path, runner: Run, ask: ListTools) -> str:
    """Install a server without running its install scripts, start it, and return its answer to ``tools/list``."""
    home = folder / archive.title
    write_file(home / "package.json", '{"private": true}\n')
    runner(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", str(file.resolve())], home)
    installed = home.resolve() / "node_modules" / archive.package
    words = [word.replace("{server}", str(installed)) for word in server.command]
    return json.dumps({"tools": ask(f"mcp:{shlex.join(words)}")}, indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Run the command; the exit code is that of the error."""
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        print(__doc__)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    try:
        source = Path(arguments[1]) if len(arguments) > 1 else LIST
        documents = fetch(Path(arguments[0]), source=source, progress=lambda line: print(line, flush=True))
    except EgotoolsError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"The documents are in {documents}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
