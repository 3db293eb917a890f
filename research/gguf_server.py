"""An OpenAI-compatible server of a language model in a GGUF file, on loopback, until it is interrupted.

    python research/gguf_server.py MODEL.gguf --port 8099

Needs the package ``xllamacpp``, which is no dependency of egotools: install it into an environment of its own. One thread by
default: on a machine with other work, threads that wait for each other by spinning are slower than one.
"""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path

__all__: list[str] = []

_CONTEXT_TOKENS = (
    16_384  # of one request: the longest prompt with eight call schemas and a graph of 522 nodes has fewer
)


def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model", type=Path)
    options.add_argument("--port", type=int, default=0, help="0: any free one")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--context", type=int, default=_CONTEXT_TOKENS, help="tokens of a prompt and its answer")
    chosen = options.parse_args()
    import xllamacpp  # type: ignore[import-not-found, unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = str(chosen.model)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = chosen.threads
    params.n_ctx, params.n_parallel, params.n_gpu_layers = chosen.context, 1, 0
    params.hostnames, params.port = ["127.0.0.1"], chosen.port
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    stopped.wait()


if __name__ == "__main__":
    main()
