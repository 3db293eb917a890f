"""A hook of the documentation site (``mkdocs.yml``): cross-reference roles in docstrings become plain code."""

from __future__ import annotations

import re
from typing import Any

_ROLE = re.compile(r":(?:mod|class|func|meth|data|attr):<code>~?([^<]+)</code>")


def on_page_content(html: str, **_: Any) -> str:
    """The page's HTML, with ``:class:`Tool``` shown as ``Tool``; mkdocs calls this for every page."""
    return _ROLE.sub(r"<code>\1</code>", html)
