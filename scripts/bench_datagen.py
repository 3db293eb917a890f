"""Speed of data generation: ``python -m scripts.bench_datagen``.

Finds paths over a catalogue of 10,000 tools and holds them against encoding the catalogue's distinct inputs once, then words
requests over them. The catalogue is ``../shared/bench/scale_44k`` where it lies beside the checkout, else every operation of
botocore and google-api-python-client, else what ``--catalog`` names. The exit code is 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from inference import load_encoder
from ontology.errors import EgotoolsError
from scripts.speed.builds import catalog_tools
from scripts.speed.generation import measure_datagen, table_of

_TOOLS = 10_000
_ENCODER = "minilm-l6-int8.v1"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=int, default=_TOOLS, help="how many, the first of the catalogue")
    parser.add_argument("--catalog", nargs="*", default=None, help="addresses of the catalogue")
    parser.add_argument("--encoder", default=_ENCODER)
    parser.add_argument("--json", type=Path, default=None, help="also write what was measured")
    chosen = parser.parse_args(arguments)
    try:
        times = measure_datagen(catalog_tools(chosen.catalog)[: chosen.tools], load_encoder(chosen.encoder))
    except EgotoolsError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(table_of(times))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(times.to_json(), indent=1) + "\n", encoding="utf-8")
    print(
        "Every bar is met."
        if times.met
        else "A bar is missed: paths within the cost of encoding, 500 requests a second."
    )
    return 0 if times.met else 1


if __name__ == "__main__":
    sys.exit(main())
