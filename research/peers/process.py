"""Running a peer: its environment made from its lock, and a process of its own for each catalogue."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from eval.answers import Run, read_header, read_run, run_files, write_header
from ontology.errors import DocumentError, StorageError
from ontology.files import config_hash
from research.peers import peer as protocol
from research.peers.peer_registry import Peer

__all__ = ["PeerTask", "measure_peer", "peer_environment"]

ROOT = Path(__file__).resolve().parents[2]
UNFINISHED = "it did not finish"
_VENV = ("-m", "venv", "--clear", "--without-pip")
_INSTALL = ("install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r")
# One thread each, as for egotools; no model hub, no traces, and one hash seed, so that answers are reproducible.
_SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "OTEL_SDK_DISABLED": "true",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True, kw_only=True)
class PeerTask:
    """One catalogue with its requests.

    :param folder: of the results, as in :mod:`eval.answers`.
    :param tools: JSONL of the catalogue in the form of :meth:`ontology.tool.Tool.to_json`.
    :param queries: JSONL of the requests whose digest is ``queries_sha256``.
    :param snapshot_id: of the snapshot that egotools built from the same catalogue; it identifies the catalogue.
    :param k: the most tools that an answer holds.
    :param limit_s: seconds until the process is ended; its answers until then are kept.
    """

    folder: Path
    tools: Path
    queries: Path
    queries_sha256: str
    snapshot_id: str
    k: int
    limit_s: float


def peer_environment(peer: Peer, folder: Path) -> Path:
    """The Python of the peer's virtual environment in ``folder``, which is made again when the lock has changed.

    :raises StorageError: when it cannot be made, with the last line of the installer.
    """
    venv = folder / peer.lock.stem / "venv"
    python = venv / "bin" / "python"
    made_from = venv / "lock.sha256"
    digest = hashlib.sha256(peer.lock.read_bytes()).hexdigest()
    if made_from.exists() and made_from.read_text(encoding="ascii") == digest:
        return python
    try:
        for command in ([*_VENV, str(venv)], ["-m", "pip", "--python", str(python), *_INSTALL, str(peer.lock)]):
            subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        output = _last_line(getattr(error, "stderr", "") or str(error))
        raise StorageError(f"the environment of a peer cannot be made ({output})", subject=peer.name) from error
    made_from.write_text(digest, encoding="ascii")
    return python


def measure_peer(peer: Peer, python: Path, task: PeerTask, *, again: bool = False) -> Run:
    """Measure a peer in a fresh process; a finished run of the same peer, catalogue and requests is not repeated.

    A peer that crashes or takes too long is a result: the run has the ``failure`` and the answers until then.

    :param again: also repeat failed runs.
    """
    header, rows = run_files(task.folder, peer.name)
    fresh = Run(
        system=peer.name,
        config=peer.config,
        config_hash=config_hash(peer.config),
        snapshot_id=task.snapshot_id,
        queries_sha256=task.queries_sha256,
        k=task.k,
        answers={},
        failure=UNFINISHED,
    )
    if _is_done(header, fresh, again=again):
        return read_run(task.folder, peer.name)
    rows.unlink(missing_ok=True)
    write_header(header, fresh)
    job = protocol.Job(
        script=peer.script,
        encoder=peer.encoder,
        tools=task.tools,
        queries=task.queries,
        run={key: value for key, value in fresh.__dict__.items() if key != "answers"},
        rows=rows,
        header=header,
    )
    failure = _run(python, job, task)
    if failure:
        write_header(header, replace(fresh, failure=failure))
    return read_run(task.folder, peer.name)


def _is_done(header: Path, fresh: Run, *, again: bool) -> bool:
    """Whether a run of the same has finished or failed before."""
    try:
        old = read_header(header)
    except DocumentError:
        return False
    same = all(
        getattr(old, field) == getattr(fresh, field)
        for field in ("system", "config_hash", "snapshot_id", "queries_sha256", "k")
    )
    return same and old.failure != UNFINISHED and not (again and old.failure)


def _run(python: Path, job: protocol.Job, task: PeerTask) -> str:
    """Run the process; returns why it failed, or an empty text."""
    file = task.folder / f"{job.header.stem}.job.json"
    job.write(file)
    command = [str(python), "-P", str(Path(protocol.__file__)), str(file.absolute())]
    try:
        done = subprocess.run(
            command, cwd=task.folder, env=_environ(), capture_output=True, text=True, timeout=task.limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it was ended after {task.limit_s:g} s"
    finally:
        file.unlink()
    if done.returncode == 0:
        return ""
    return f"exit code {done.returncode}: {_last_line(done.stderr)}"


def _environ() -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, **_SETTINGS, "PYTHONPATH": str(ROOT)}


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "without a message"
