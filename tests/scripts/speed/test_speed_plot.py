"""The picture holds the figures: heights of its bars and points of its lines, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from scripts.speed.speed_plot import draw, write_plot
from tests.scripts.speed.made_up import made_up


def heights(panel: Axes) -> list[float]:
    return [bar.get_height() for bar in panel.patches if isinstance(bar, Rectangle)]


def xy(panel: Axes, line: int) -> list[tuple[float, float]]:
    xs, ys = panel.lines[line].get_data()
    return [(float(x), float(y)) for x, y in zip(np.asarray(xs), np.asarray(ys), strict=True)]


def test_the_panels_by_hand() -> None:
    paper, default, under_load, building, memory, throughput = draw(made_up()).axes
    for panel in (paper, default):
        assert [text.get_text() for text in panel.get_xticklabels()] == ["1,000", "44,000"]
        # stage by stage, both sizes each; the last stage is what waiting, messages and the way take
        assert heights(panel) == pytest.approx([4, 4, 0.5, 0.75, 0.25, 0.375, 1, 1, 0.5, 0.75, 2, 2])
        top = panel.patches[-1].get_window_extent().ymax
        assert panel.transData.inverted().transform((0, top))[1] == pytest.approx(4 + 0.75 + 0.375 + 1 + 0.75 + 2)
    assert heights(building) == pytest.approx([10, 10, 20, 20])
    assert heights(memory) == pytest.approx([200, 200, 1, 44, 5, 220])
    assert xy(under_load, 1) == [(50, 24), (150, 340)]
    assert xy(throughput, 0) == [(1, 100), (4, 200)]


def test_the_file_is_a_picture_and_always_the_same(tmp_path: Path) -> None:
    first = write_plot(made_up(), tmp_path / "one.png").read_bytes()
    second = write_plot(made_up(), tmp_path / "two.png").read_bytes()
    assert first.startswith(b"\x89PNG\r\n")
    assert first == second
