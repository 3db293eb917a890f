"""Image files as pixels: checked before they are decoded, because a small file may claim to be a huge image."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING

from ontology.errors import DocumentError, MissingExtraError, TooLargeError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["MAX_IMAGE_BYTES", "read_image"]

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
"""That are opened: what cameras, scanners and web pages make. Others (EPS, PSD, ICNS …) have decoders that start programs or read other files."""
MAX_IMAGE_BYTES = 20 * 2**20
"""Of a file: what the usual vision endpoints take."""
_MOST_PIXELS = 40_000_000
"""A page scanned at 600 dpi has 35 million; decoded, these take 160 MB."""

_DAMAGED = (OSError, ValueError, SyntaxError, EOFError, TypeError, LookupError, ArithmeticError, struct.error)
"""What the decoders of Pillow raise for damaged files: found by 35,000 mutations of small files of these formats."""


def read_image(name: str, content: bytes) -> Image:
    """Return the first picture of a file, turned upright, in RGB.

    :param name: of the file, for errors.
    :raises TooLargeError: when it has too many pixels; nothing was decoded.
    :raises DocumentError: when it is no image of a format that is read here, or is damaged.
    :raises MissingExtraError: without the package that decodes images.
    """
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError as error:
        raise MissingExtraError("images", extra="ocr") from error
    try:
        with Image.open(io.BytesIO(content), formats=_FORMATS) as image:  # reads the head only
            if image.width * image.height > _MOST_PIXELS:
                raise _too_many_pixels(name)
            return ImageOps.exif_transpose(image).convert("RGB")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):  # Pillow's own limits, which are higher
        raise _too_many_pixels(name) from None
    except UnidentifiedImageError:
        formats = ", ".join(_FORMATS)
        raise DocumentError(f"this is no image ({formats})", subject=name, remedy="Use another tool") from None
    except _DAMAGED as error:
        raise DocumentError(
            f"the image is damaged ({type(error).__name__})", subject=name, remedy="Use another file"
        ) from None


def _too_many_pixels(name: str) -> TooLargeError:
    return TooLargeError(f"the image has more than {_MOST_PIXELS:,} pixels", subject=name, remedy="Shrink it")
