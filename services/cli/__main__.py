"""``python -m services.cli`` is the command ``egotools``."""

from __future__ import annotations

from services.cli.app import main

if __name__ == "__main__":
    main()
