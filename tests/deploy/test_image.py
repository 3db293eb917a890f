"""What an image is made from, and, where its root file system can be made here, that it serves without a shell, root or a place to write."""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from egotools import Client
from tests.conftest import ROOT
from tests.deploy.test_deploy import serve_options
from tests.harness.waiting import wait_until

CONTAINER = ROOT / "deploy" / "container"
CONTAINERFILE = (CONTAINER / "Containerfile").read_text(encoding="utf-8")
ALLOWED = [
    line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")
]
STEPS = [
    (line.partition(" ")[0], line.partition(" ")[2])
    for line in re.sub(r"\\\n\s*", " ", CONTAINERFILE).splitlines()
    if line and not line.startswith("#")
]
MOST_BYTES = 450_000_000


def test_the_build_context_is_a_list_of_what_is_allowed() -> None:
    lines = [
        line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] not in ("", "#")
    ]
    assert lines[0] == "*" and lines[-1] == "**/__pycache__"
    assert lines[1:-1] == [f"!{name}" for name in sorted(ALLOWED)]
    assert [name for name in ALLOWED if not (ROOT / name).exists()] == []
    for secret in ("tls", "access", "store", "out", "keys", ".env", ".git", "deploy", "deploy/systemd", "examples"):
        assert not any(fnmatch.fnmatch(secret, name) or secret.startswith(f"{name}/") for name in ALLOWED), secret


def test_every_package_of_the_project_and_what_the_script_reads_is_allowed() -> None:
    outside = {"benchmarks", "tests", "scripts", "examples"}
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} - outside <= set(ALLOWED)
    script = (CONTAINER / "root.sh").read_text(encoding="utf-8")
    read = [name for name in re.findall(r"\$here/([\w./-]+)", script) if "$" not in name]
    assert read and all(any(name.startswith(allowed) for allowed in ALLOWED) for name in read), read
    extras = {name for words in re.findall(r'extras="([\w ]+)"', script) for name in words.split()}
    assert [name for name in extras if not (ROOT / "requirements" / f"{name}.txt").exists()] == []


def _locked(*locks: str) -> set[str]:
    texts = ((ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8") for name in locks)
    return {name for text in texts for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}


def test_the_distributions_that_the_script_names_are_in_the_locks() -> None:
    script = re.sub(r"\\\n\s*", "", (CONTAINER / "root.sh").read_text(encoding="utf-8"))
    left_out = re.findall(r'^(\w+)\) extras="([^"]+)" unused=" ([^"]+)"', script, re.MULTILINE)
    assert [target for target, _, _ in left_out] == ["serve", "build"]
    for target, extras, unused in left_out:
        installed = _locked("default", *extras.split())
        assert unused.split() and set(unused.split()) <= installed, f"{target} leaves out what it would not have"
    (tools,) = re.findall(r'tools=" ([^"]+)"', script)
    assert len(tools.split()) > 5 and set(tools.split()) <= _locked("dev")


@pytest.mark.parametrize("target", ["serve", "build"])
def test_an_image_is_a_root_file_system_alone_and_starts_without_a_shell(target: str) -> None:
    start = next(n for n, (step, rest) in enumerate(STEPS) if (step, rest) == ("FROM", f"scratch AS {target}"))
    end = next((n for n in range(start + 1, len(STEPS)) if STEPS[n][0] == "FROM"), len(STEPS))
    said = dict(STEPS[start:end])
    assert said["USER"] == "10001:10001"
    assert {rest.split()[0] for step, rest in STEPS[start:end] if step == "COPY"} == {f"--from=made-{target}"}
    assert "RUN" not in said, "there is nothing to run it with"
    words = [json.loads(said["ENTRYPOINT"]), json.loads(said["CMD"])]
    assert words[0] == ["egotools"]
    if target == "serve":
        serve_options(words[1])
        assert said["STOPSIGNAL"] == "SIGTERM"
        assert json.loads(said["HEALTHCHECK"].rpartition("CMD ")[2]) == ["egotools", "admin", "health"]


# -- the root file system itself: about three minutes, the packages of Debian 12 and of the locks ----------------------

WANTED = ("apt-get", "dpkg-deb", "strip", "bwrap")
needs_root = pytest.mark.skipif(
    not os.environ.get("EGOTOOLS_TEST_IMAGE") or None in map(shutil.which, WANTED),
    reason=f"EGOTOOLS_TEST_IMAGE is not set, or one of {', '.join(WANTED)} is missing",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("image") / "root"
    environ = {**os.environ, "PYTHON": sys.executable}
    environ.pop("PYTHONPATH", None)
    subprocess.run([CONTAINER / "root.sh", "serve", folder], check=True, env=environ)
    yield folder
    shutil.rmtree(folder)


def confined(root: Path, scratch: Path, store: Path, *words: str) -> subprocess.Popen[str]:
    """Start a program in the root file system: another user, no capabilities, nothing but /tmp to write to."""
    options = (
        "--unshare-user --unshare-pid --unshare-ipc --uid 10001 --gid 10001 --cap-drop ALL --clearenv --die-with-parent"
    )
    places = f"--ro-bind {root} / --dev /dev --proc /proc --ro-bind {store} /store --bind {scratch} /tmp"
    command = ["bwrap", *options.split(), *places.split(), "--new-session", "--", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@needs_root
@pytest.mark.slow
def test_the_image_serves_a_store(root: Path, tmp_path: Path) -> None:
    catalog, store, scratch = ROOT / "examples/enterprise/catalog/hr.yaml", tmp_path / "store", tmp_path / "scratch"
    scratch.mkdir(mode=0o777)
    subprocess.run([sys.executable, "-m", "services.cli", "build", catalog, "--out", store], check=True, cwd=ROOT)
    ready = scratch / "ready.json"
    words = ("serve", "--baselines", "--port", "0", "--store", "/store", "--ready-file", "/tmp/ready.json")
    with confined(root, scratch, store, "/usr/bin/egotools", *words) as server:
        try:
            wait_until(lambda: ready.exists() or server.poll() is not None)
            assert server.poll() is None, server.communicate()[0]
            said = json.loads(ready.read_text(encoding="utf-8"))
            with Client(said["address"]) as client:
                for preset in ("default", "paper"):  # all of the ranking, and the words of spaCy
                    answer = client.retrieve("give Jan a spot award that fits his career level", k=5, preset=preset)
                    assert "hr/grantSpotAward" in [tool.id for tool in answer.tools] and not answer.fallbacks
            probe = confined(root, scratch, store, "/usr/bin/egotools", "admin", "health", "--port", str(said["port"]))
            assert (probe.communicate(timeout=60)[0], probe.returncode) == ("SERVING\n", 0)
        finally:
            server.kill()  # the sandbox ends with it


@needs_root
@pytest.mark.slow
def test_nothing_in_the_image_can_be_written_and_there_is_no_shell(root: Path, tmp_path: Path) -> None:
    program = (
        "import os, pathlib\n"
        "print(os.getuid(), pathlib.Path('/proc/self/status').read_text().split('CapEff:\\t')[1].split()[0])\n"
        "for path in ('/x', '/usr/x', '/store/x'):\n"
        "    try: open(path, 'w')\n"
        "    except OSError as error: print(error.strerror)\n"
    )
    seen = confined(root, tmp_path, tmp_path, "/usr/bin/python3.11", "-c", program).communicate(timeout=60)[0]
    assert seen.splitlines() == ["10001 0000000000000000", *["Read-only file system"] * 3]
    assert sorted(path.name for path in (root / "usr/bin").iterdir()) == ["egotools", "python3.11"]
    assert not (root / "usr/sbin").exists()
    assert [path for path in root.rglob("*") if path.name in ("sh", "bash", "dash", "busybox")] == []


@needs_root
@pytest.mark.slow
def test_the_image_is_small_and_says_what_is_in_it(root: Path) -> None:
    size = sum(path.lstat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    assert size < MOST_BYTES
    text = (root / "usr/share/sbom/egotools.cdx.json").read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    components = {each["name"].lower().replace("_", "-"): each for each in json.loads(text)["components"]}
    locked = dict(
        re.findall(
            r"^([\w.-]+)==([\w.]+)", (ROOT / "requirements/default.txt").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    for name in ("grpcio", "onnxruntime", "cryptography"):
        assert components[name]["version"] == locked[name]
    assert components["libc6"]["purl"].startswith("pkg:deb/debian/libc6@")
    assert str(root.parent) not in text
