"""What `pip install -e FOLDER` leaves, made without pip: the folder on the path, and the metadata of its distribution beside it."""

from __future__ import annotations

import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def install_editable(folder: Path, metadata: Path) -> None:
    """Put a distribution's folder on the path, and `metadata` with its name, version and entry points too."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = metadata / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8"
    )
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in entries.items())
        for group, entries in project.get("entry-points", {}).items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    sys.path[:0] = [str(folder.resolve()), str(metadata.resolve())]


@contextmanager
def installations() -> Iterator[Path]:
    """A folder for metadata; on leaving the path is as it was, and what was loaded from what was added to it is forgotten."""
    path, loaded = list(sys.path), set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield Path(folder)
        finally:
            added = [Path(place) for place in sys.path if place not in path]
            sys.path[:] = path
            for name in set(sys.modules) - loaded:
                file = Path(getattr(sys.modules[name], "__file__", None) or sys.prefix)
                if any(file.is_relative_to(place) for place in added):
                    del sys.modules[name]
