"""Linux's accounts of memory and processor time, read right."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from scripts.speed.linux_accounts import processor_time, read_memory
from scripts.speed.speed_results import Memory
from tests.conftest import LINUX

pytestmark = LINUX

SMAPS = """\
00400000-00500000 r-xp 00000000 fe:00 11    /usr/bin/python3
Rss:                 800 kB
Pss:                 200 kB
Anonymous:             0 kB
01000000-02000000 rw-p 00000000 00:00 0
Rss:                3000 kB
Pss:                3000 kB
Anonymous:          3000 kB
7f0000000000-7f0000100000 r--s 00000000 fe:00 12    {store}/snapshots/ab/nodes.hnsw
Rss:                 500 kB
Pss:                 250 kB
Anonymous:             0 kB
7f0000200000-7f0000300000 r--p 00000000 fe:00 13    {store}-other/file
Rss:                  10 kB
Pss:                  10 kB
Anonymous:             4 kB
"""


def test_memory_by_what_it_is_for(tmp_path: Path) -> None:
    store = tmp_path / "a.store"
    (tmp_path / "proc" / "7").mkdir(parents=True)
    (tmp_path / "proc" / "7" / "smaps").write_text(SMAPS.format(store=store), encoding="utf-8")
    (tmp_path / "proc" / "7" / "status").write_text("Name:\tx\nVmHWM:\t    9000 kB\n", encoding="utf-8")
    held = read_memory(7, store, proc=tmp_path / "proc")
    assert held == Memory(
        rss=4310 * 1024,
        pss=3460 * 1024,
        mapped_rss=500 * 1024,
        mapped_pss=250 * 1024,
        private=3004 * 1024,
        peak_rss=9000 * 1024,
    )


def test_the_memory_of_this_process_has_the_file_that_it_maps(tmp_path: Path) -> None:
    size = 8 * 1024 * 1024
    (tmp_path / "mapped").write_bytes(b"x" * size)
    with (tmp_path / "mapped").open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert mapped[:].count(b"x") == size  # every page is touched
        held = read_memory(os.getpid(), tmp_path)
    assert held.mapped_rss == size
    assert held.rss >= held.pss > size
    assert held.peak_rss >= held.private > 0


def test_processor_time_by_hand(tmp_path: Path) -> None:
    tick = 1 / os.sysconf("SC_CLK_TCK")
    (tmp_path / "7").mkdir()

    def at(cpu: str, process: str) -> None:
        (tmp_path / "stat").write_text(f"cpu  {cpu}\ncpu0 1 2 3\n", encoding="utf-8")
        (tmp_path / "7" / "stat").write_text(f"7 (a (b) c) S {process} 0 0 20", encoding="utf-8")

    at("100 10 50 800 40 0 0 0 7 7", "1 7 7 0 -1 4 9 0 0 0 300 40")
    before = processor_time(7, proc=tmp_path)
    assert (before.server, before.busy, before.machine) == pytest.approx((340 * tick, 160 * tick, 1000 * tick))
    at("10100 10 1050 4800 40 0 0 0 7 7", "1 7 7 0 -1 4 9 0 0 0 5300 1040")
    spent = processor_time(7, proc=tmp_path) - before
    assert (spent.server, spent.busy, spent.machine) == pytest.approx((6000 * tick, 11_000 * tick, 15_000 * tick))
    assert spent.others == pytest.approx(
        (11_000 - 6_000) / 15_000, abs=0.01
    )  # less what this client took, next to nothing


def test_this_process_is_charged_for_what_it_does() -> None:
    before = processor_time(os.getpid())
    while (spent := processor_time(os.getpid()) - before).client < 0.05:
        sum(range(10_000))
    assert spent.server == pytest.approx(spent.client, abs=0.03)  # the same process here, counted in ticks
    assert 0.0 <= spent.others <= 1.0
