"""The bill of materials of a root file system (CycloneDX): its Python distributions, and its Debian packages.

python sbom.py ROOT SITE PYPROJECT > egotools.cdx.json

It needs cyclonedx-bom. The same root gives the same bytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path
from typing import Any

__all__ = ["bill_of_materials"]


def bill_of_materials(root: Path, site: Path, pyproject: Path) -> dict[str, Any]:
    """Return the distributions in ``site`` with their licences and dependencies, and the packages whose control files the root has."""
    with tempfile.TemporaryDirectory() as folder:
        # cyclonedx-py asks an interpreter where its packages are. The one of the root may not run here, so this answers for it.
        interpreter = Path(folder, "python")
        interpreter.write_text(f"#!/bin/sh\necho '{json.dumps([str(site)])}'\n", encoding="utf-8")
        interpreter.chmod(0o755)
        command = [
            sys.executable,
            "-m",
            "cyclonedx_py",
            "environment",
            "--output-reproducible",
            "--no-validate",
            "--pyproject",
        ]
        done = subprocess.run([*command, str(pyproject), str(interpreter)], stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    found["components"] += _debian_components(root)
    return found


def _debian_components(root: Path) -> Iterator[dict[str, str]]:
    for path in sorted((root / "var" / "lib" / "dpkg" / "status.d").iterdir()):
        field = Parser().parsestr(path.read_text(encoding="utf-8"))
        purl = f"pkg:deb/debian/{field['Package']}@{field['Version']}?arch={field['Architecture']}&distro=debian-12"
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": field["Package"],
            "version": field["Version"],
            "purl": purl.replace("+", "%2B"),
        }


if __name__ == "__main__":
    json.dump(bill_of_materials(*map(Path, sys.argv[1:])), sys.stdout, indent=1)
