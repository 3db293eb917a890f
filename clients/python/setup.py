"""One step that pyproject.toml cannot state: what a build makes lies in a folder of its own, not in the source tree."""

import tempfile

from setuptools import setup

with tempfile.TemporaryDirectory(prefix="egotools-client-") as made:
    setup(options={"build": {"build_base": made}, "egg_info": {"egg_base": made}})
