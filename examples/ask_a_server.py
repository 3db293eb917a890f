"""Start a server over a store, ask it through the client, and print which output fills which input.

Run it from the folder of the checkout, after a build:

    .venv/bin/egotools build examples/enterprise/catalog --out store
    .venv/bin/python examples/ask_a_server.py store

A store is the folder in which builds publish their snapshots. An agent needs only the lines with ``Client``: in real
use the server runs on its own (``egotools serve``).
"""

from __future__ import annotations

import sys
from pathlib import Path

from egotools import Client
from services.server.process import server_process

REQUEST = "give Jan a spot award that fits his career level"


def main(store: Path) -> None:
    """Serve the store, ask one request, print the tools and their bindings."""
    with server_process(store) as server, Client(server["address"]) as client:
        print(f"Serving snapshot {server['snapshot_id']} at {server['address']}")
        answer = client.retrieve(REQUEST, k=5, schema_format="openai")

    print(f"\n{REQUEST}")
    for tool in answer.tools:
        required = tool.schema["function"]["parameters"].get("required", [])
        print(f"{tool.rank}  {tool.id}  required: {', '.join(required) or 'nothing'}")
        # A parameter binding names an input and the returned tool whose output fills it. Where no returned tool does,
        # the agent takes the value from the request or asks the user.
        for binding in tool.reasons.bindings:
            source = f"{binding.output} of {binding.supplier}" if binding.supplier else "not known"
            print(f"     {binding.parameter}: {source}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: ask_a_server.py STORE")
    main(Path(sys.argv[1]))
