"""One step that pyproject.toml cannot state: the shipped company's documents, kept in ``examples/``, are also files of the wheel."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

_DOCUMENTS = Path("examples/enterprise")


class BuildWithDocuments(build_py):
    """Copy the shipped documents into ``examples/enterprise`` of what is built; an editable install reads them in place."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if self.editable_mode:
            return
        package = Path(self.build_lib) / _DOCUMENTS
        requests = (_DOCUMENTS / name for name in ("requests.jsonl", "needs.jsonl"))
        for source in (*sorted((_DOCUMENTS / "catalog").iterdir()), *requests):
            target = package / source.relative_to(_DOCUMENTS)
            self.mkpath(str(target.parent))
            self.copy_file(str(source), str(target))


setup(cmdclass={"build_py": BuildWithDocuments})
