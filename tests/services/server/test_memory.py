"""The heap of a server: what an engine frees goes back, also after a larger block was freed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.harness.waiting import LIMIT_S

PROGRAM = """
import ctypes, sys
from services.server.memory import limit_heap


class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
library.free.argtypes = [ctypes.c_void_p]
library.mallinfo2.restype = Info
if sys.argv[1] == "limited":
    limit_heap()
library.free(library.malloc(16 << 20))  # an engine's array: the library now keeps smaller ones in its heap
before = library.mallinfo2().hblkhd
library.malloc(1 << 20)
print(library.mallinfo2().hblkhd - before >= 1 << 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux")
@pytest.mark.parametrize(
    ("how", "variables", "outside"),
    [("plain", {}, "False"), ("limited", {}, "True"), ("limited", {"MALLOC_MMAP_THRESHOLD_": "4194304"}, "False")],
)
def test_large_blocks_lie_outside_of_the_heap(how: str, variables: dict[str, str], outside: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, how],
        cwd=ROOT,
        env=kept | variables,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert done.stdout.strip() == outside
