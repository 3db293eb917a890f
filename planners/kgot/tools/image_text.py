"""The text in an image, read on this machine: for runs without a vision endpoint."""

from __future__ import annotations

import asyncio
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ontology.errors import MissingExtraError, ModelError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["check_text_reader", "image_text"]

_MODELS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
}
"""Step → its model, as the package carries it: where text stands, which way up, what it says."""
_PARAMETERS = {"Global.log_level": "error", "Det.limit_type": "max", "Det.limit_side_len": 2_000}
"""Text is looked for in images as they are, shrunk to 2,000 pixels; the package enlarges those below 736, which finds the same lines (five of an
invoice at 13 and 20 pixels) in three times the processor time."""
_ONE_AT_A_TIME = threading.Lock()


def check_text_reader() -> None:
    """Find out whether text can be read here.

    :raises MissingExtraError: without the extra ``ocr``.
    :raises ModelError: when the package lacks its models: they are never loaded from a network.
    """
    _model_files()


async def image_text(image: Image) -> list[str]:
    """Return the lines of text in an image, in the order in which they are found: from the top, from the left.

    Errors as of :func:`check_text_reader`.
    """
    return await asyncio.to_thread(_read, image)


def _read(image: Image) -> list[str]:
    reader = _reader()
    with _ONE_AT_A_TIME:  # the reader keeps what it works on in itself
        found = reader(image)
    return [str(line) for line in found.txts or ()]


@cache
def _reader() -> Any:
    """Load the reader once: about a second, 32 MB of models."""
    files = _model_files()
    from rapidocr import RapidOCR

    paths = {
        f"{step}.model_path": str(path) for step, path in files.items()
    }  # with a path given, nothing is downloaded
    return RapidOCR(params={**paths, **_PARAMETERS})


def _model_files() -> dict[str, Path]:
    from importlib.util import find_spec

    spec = find_spec("rapidocr")
    if spec is None or spec.origin is None:
        raise MissingExtraError("text in images", extra="ocr")
    files = {step: Path(spec.origin).parent / "models" / name for step, name in _MODELS.items()}
    if missing := [path.name for path in files.values() if not path.is_file()]:
        raise ModelError(
            f"the package rapidocr comes without {missing[0]}",
            subject="rapidocr",
            remedy="Install a version that the requirements name",
        )
    return files
