"""The Zarr folder of a run's draws, which several processes write chunks of while readers see the draws so far.

Every array is divided by one grid: `ChunkGrid.draws` draws by `ChunkGrid.chains` chains. A process writes the chunks of its own
chains alone, each file in one move, into arrays that are planned for the whole run. What readers see is the consolidated metadata:
the number of draws that all chains have, and the attributes. One process writes it, in one move, after the chunks.
"""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from sgverify.draws.files import check_place
from sgverify.draws.inference_data import arviz
from sgverify.errors import ConfigurationError
from sgverify.keeping.files import PART as UNFINISHED
from sgverify.keeping.files import put, read_text, remove, replacing, unfinished
from sgverify.samplers.run.recording import Draws

PART = 16 << 20
"""The bytes of draws, of all chains, that a row of chunks holds: what is held in memory, and stored when a run is stopped."""

MOST = 1 << 16
"""The most draws of a chunk."""

PIECES = 8
"""The pieces into which the chains of a run of more than one part are divided."""

GROUPS = ("posterior", "sample_stats")

METADATA = ".zmetadata"


@dataclass(frozen=True)
class ChunkGrid:
    """The grid of a folder: how many draws and how many chains a chunk holds."""

    draws: int
    chains: int

    @staticmethod
    def of(size: int, kept: int, chains: int, workers: int) -> ChunkGrid:
        """The grid for `kept` draws of so many chains that take `size` bytes and are drawn by so many processes."""
        pieces = max(workers, PIECES if size > PART else 1)
        return ChunkGrid(max(1, min(MOST, PART * kept // max(1, size))), -(-chains // pieces))

    def cut(self, chains: range, workers: int) -> tuple[range, ...]:
        """The chains of each of some processes: no two of them write to one chunk. There may be fewer processes than asked for."""
        pieces = -(-len(chains) // self.chains)
        count = min(workers, pieces)
        bounds = [chains.start + self.chains * (pieces * k // count) for k in range(count)] + [chains.stop]
        return tuple(range(low, high) for low, high in pairwise(bounds))


Making = Callable[[Draws, range], Any]
"""InferenceData of some draws of some chains."""


class DrawsFolder:
    """A folder of draws of `chains`; `made` makes InferenceData of a part. It is there once `create` has made it."""

    def __init__(self, place: Path, chains: range, layout: ChunkGrid, made: Making) -> None:
        self.place, self.chains, self.layout, self._made = place, chains, layout, made
        self._opened: dict[str, Any] = {}

    def create(
        self, like: Draws, planned: int, *, force: bool = False, along: Callable[[Path], None] | None = None
    ) -> None:
        """Make the folder in one move, for `planned` draws of the kind of `like`; `along` writes what goes with it."""
        for left in self.place.parent.glob(f".{escape(self.place.name)}.????????{UNFINISHED}"):
            # Of a process that was killed.
            remove(left)
        made = self._made(like, self.chains)
        with replacing(self.place) as beside:
            self._lay(beside, made, planned)
            self._publish(beside, made, 0)
            if along is not None:
                along(beside)
            check_place(self.place, force=force)

    def restore(self, like: Draws, planned: int) -> list[str]:
        """Write what describes the draws anew where it is damaged or missing, for `planned` draws; the names of these files.

        It follows from the run: shapes, types and codecs of arrays, numbers of chains, names, and the data.
        """
        damaged = []
        with unfinished(self.place) as beside:
            self._lay(beside, self._made(like, self.chains), planned)
            for path in sorted(beside.rglob("*")):
                own = self.place / path.relative_to(beside)
                if stands_for(own, path):
                    continue
                damaged.append(path.relative_to(beside).as_posix())
                remove(own)
                if path.is_dir():
                    own.mkdir()
                else:
                    path.replace(own)
        return damaged

    def _lay(self, place: Path, made: Any, planned: int) -> None:
        """Write a folder without draws, with room for `planned` ones."""
        with _quietly():
            tree = made.to_datatree().isel(draw=slice(0, 0))
            tree.to_zarr(str(place), mode="w", zarr_format=2, consolidated=False, encoding=self._chunks(made))
        self._plan(place, planned)

    def plan(self, planned: int) -> None:
        """Make room for so many draws, or none for more."""
        self._plan(self.place, planned)
        self._opened.clear()

    def write(self, draws: Draws, first: int, chains: range) -> None:
        """Write draws of some chains from place `first` on, where a part begins; what is of no chain belongs to the first ones.

        Chunks are written whole, whatever is in them: one that a process left damaged is never read.
        """
        made = self._made(draws, chains)
        with _quietly():
            for group, name, variable in _drawn(made):
                array = self._array(group, name, variable, chains)
                if array is not None:
                    axis = variable.dims.index("draw")
                    count = variable.shape[axis]
                    most = min(-(-count // self.layout.draws) * self.layout.draws, array.shape[axis] - first)
                    wide = [(0, most - count if place == axis else 0) for place in range(variable.ndim)]
                    fill = np.nan if variable.dtype.kind == "f" else 0
                    values = np.pad(variable.values, wide, constant_values=fill)
                    array[self._place(variable.dims, first, most, chains)] = values

    def chunks(self, part: int, chains: range) -> Iterator[str]:
        """The paths of the files that hold a part of these chains, from the folder."""
        low, high = (
            -(-(edge - self.chains.start) // self.layout.chains) for edge in (chains.start, chains.stop)
        )
        for path, array, dims in _growing(self.place):
            if "chain" not in dims and low:
                continue
            grid = [-(-a // b) for a, b in zip(array["shape"], array["chunks"], strict=True)]
            places = {"draw": range(part, part + 1), "chain": range(low, high)}
            ranges = [places.get(dim, range(count)) for dim, count in zip(dims, grid, strict=True)]
            for key in product(*ranges):
                yield f"{path.parent.name}/{path.name}/{'.'.join(map(str, key))}"

    def tidy(self, after: int | None = None) -> None:
        """Remove what processes that were killed left half written, and the chunks of draws from part `after` on."""
        for path in list(self.place.glob(f"**/.*{UNFINISHED}")):
            remove(path)
        for folder, _, dims in _growing(self.place):
            for path in folder.iterdir():
                key = dict(zip(dims, path.name.split("."), strict=False))
                beyond = after is not None and path.name[0].isdecimal() and int(key["draw"]) >= after
                if path.suffix == ".partial" or beyond or path.is_dir():
                    remove(path)

    def publish(self, like: Draws, count: int) -> None:
        """Let readers see the first `count` draws, and the attributes of the run as it is now."""
        self._publish(self.place, self._made(like, self.chains), count)

    def close(self, like: Draws, count: int) -> None:
        """Leave a folder of exactly these draws, whose arrays and attributes are those that readers see."""
        self.plan(count)
        self.tidy(-(-count // self.layout.draws))
        made = self._made(like, self.chains)
        for group in ("", *made.groups()):
            attributes = made.attrs if not group else made[group].attrs
            put(self.place / group / ".zattrs", _json(_plain(attributes)))
        self._publish(self.place, made, count)

    def tell(self, told: Mapping[str, Any]) -> None:
        """Add to the attributes that readers see."""
        held = json.loads(read_text(self.place / METADATA))
        for key, values in held["metadata"].items():
            if key.count("/") < 2 and key.endswith(".zattrs"):
                values.update(told)
                put(self.place / key, _json(values))
        put(self.place / METADATA, _json(held))

    def attributes(self) -> dict[str, Any]:
        """The attributes that readers see. Raises `ConfigurationError` where there are none."""
        try:
            found: dict[str, Any] = json.loads(read_text(self.place / METADATA))["metadata"][".zattrs"]
            if not (isinstance(found["diverged"], str) and isinstance(found["complete"], int)):
                raise ValueError("attributes of another type")
            int(found["steps_done"]), self.seen()
            return found
        except (OSError, ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError):
            raise ConfigurationError(
                f"{str(self.place)!r}: {METADATA} cannot be read; expected a folder of draws that `sgverify sample` wrote; "
                "start anew with --force"
            ) from None

    def seen(self) -> int:
        """The number of draws that readers see."""
        return int(
            json.loads(read_text(self.place / METADATA))["metadata"]["posterior/draw/.zarray"]["shape"][0]
        )

    def tell_divergence(self, count: int, chains: Iterable[int]) -> None:
        """Say of the last of `count` draws which chains diverged after it."""
        found = np.zeros(len(self.chains), dtype=bool)
        found[[chain - self.chains.start for chain in chains]] = True
        with _quietly():
            self._open("sample_stats", "diverging")[:, count - 1] = found

    def opened(self) -> Any:
        """The draws that readers see, as InferenceData whose values are read when they are needed."""
        import xarray

        with _quietly(), xarray.open_datatree(self.place, engine="zarr") as tree:
            names = [str(name) for name in tree.children]
            attributes = dict(tree.attrs)
        groups = {name: xarray.open_dataset(self.place, engine="zarr", group=name) for name in names}
        return arviz().InferenceData(attrs=attributes, **groups)

    def _array(self, group: str, name: str, variable: Any, chains: range) -> Any:
        """The array of a variable; None if it is not ours: what is of no chain belongs to the first ones."""
        ours = "chain" in variable.dims or chains.start == self.chains.start
        return self._open(group, name) if ours else None

    def _open(self, group: str, name: str) -> Any:
        """An array, to be written to."""
        import zarr

        path = f"{group}/{name}"
        if path not in self._opened:
            self._opened[path] = zarr.open_array(str(self.place / path), mode="r+", zarr_format=2)
        return self._opened[path]

    def _place(self, dims: tuple[str, ...], first: int, count: int, chains: range) -> tuple[slice, ...]:
        start = self.chains.start
        places = {
            "draw": slice(first, first + count),
            "chain": slice(chains.start - start, chains.stop - start),
        }
        return tuple(places.get(dim, slice(None)) for dim in dims)

    def _chunks(self, made: Any) -> dict[str, Any]:
        """The sizes of chunks, by group and variable."""
        grid = {"draw": self.layout.draws, "chain": self.layout.chains}
        found: dict[str, Any] = {f"/{group}": {} for group in GROUPS}
        for group, name, variable in _drawn(made):
            sizes = (grid.get(dim, max(1, size)) for dim, size in variable.sizes.items())
            found[f"/{group}"][name] = {"chunks": tuple(sizes)}
        return found

    def _plan(self, place: Path, planned: int) -> None:
        """Let the arrays have so many draws. Their chunks stay as they are."""
        for path, array, dims in _growing(place):
            put(path / ".zarray", _json(_with_draws(array, dims, planned)))

    def _publish(self, place: Path, made: Any, count: int) -> None:
        """Replace the consolidated metadata, with `count` draws in each array."""
        found: dict[str, Any] = {}
        attributes = {"": made.attrs, **{group: made[group].attrs for group in made.groups()}}
        folders = [place, *(place / group for group in made.groups())]
        folders += [path for group in folders[1:] for path in sorted(group.iterdir()) if path.is_dir()]
        for folder in folders:
            for name in (".zgroup", ".zarray", ".zattrs"):
                if (folder / name).is_file():
                    found[(folder / name).relative_to(place).as_posix()] = json.loads(
                        (folder / name).read_text()
                    )
        for group, values in attributes.items():
            found[f"{group}/.zattrs".removeprefix("/")] = _plain(values)
        for key in found:
            if key.endswith("/.zarray"):
                dims = found[key.replace(".zarray", ".zattrs")].get("_ARRAY_DIMENSIONS", ())
                found[key] = _with_draws(found[key], dims, count)
        put(place / METADATA, _json({"metadata": found, "zarr_consolidated_format": 1}))


def _growing(place: Path) -> list[tuple[Path, dict[str, Any], list[str]]]:
    """The folder, metadata and dimensions of each array that grows with the draws."""
    found = []
    for path in sorted(file.parent for group in GROUPS for file in (place / group).glob("*/.zarray")):
        array, attributes = (json.loads((path / name).read_text()) for name in (".zarray", ".zattrs"))
        if "draw" in attributes["_ARRAY_DIMENSIONS"]:
            found.append((path, array, attributes["_ARRAY_DIMENSIONS"]))
    return found


def _with_draws(array: dict[str, Any], dims: Iterable[str], count: int) -> dict[str, Any]:
    """The metadata of an array, with room for so many draws."""
    sizes = zip(dims, array["shape"], strict=True)
    return {**array, "shape": [count if dim == "draw" else size for dim, size in sizes]}


def stands_for(own: Path, wanted: Path) -> bool:
    """Does a file or folder of the run hold what one without draws holds? Arrays may have room for any number of draws."""
    if wanted.is_dir():
        return own.is_dir()
    if not own.is_file():
        return False
    if wanted.name == ".zattrs" and not wanted.with_name(".zarray").exists():
        # Attributes of a group tell how far the run is.
        return _table(own) is not None
    if wanted.name != ".zarray" or "draw" not in (_table(wanted.with_name(".zattrs")) or {}).get(
        "_ARRAY_DIMENSIONS", ()
    ):
        return own.read_bytes() == wanted.read_bytes()
    held, expected = ({**(_table(path) or {}), "shape": None} for path in (own, wanted))
    return held == expected


def _table(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def checksum(path: Path) -> tuple[int, int] | None:
    """The size of a file and its CRC-32; None if there is none."""
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        return None
    return len(content), zlib.crc32(content)


def _drawn(made: Any) -> Iterator[tuple[str, str, Any]]:
    """Group, name and value of everything that grows with the draws."""
    for group in GROUPS:
        for name, variable in made[group].variables.items():
            if "draw" in variable.dims:
                yield group, str(name), variable


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as JSON holds them."""
    return {key: item.item() if isinstance(item, np.generic) else item for key, item in attributes.items()}


def _json(value: Any) -> str:
    return json.dumps(value, indent=1)


@contextmanager
def _quietly() -> Iterator[None]:
    """A context without the warnings of libraries about what they will change; chunks of one value are written like others."""
    import zarr

    with warnings.catch_warnings(), zarr.config.set({"array.write_empty_chunks": True}):
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", UserWarning)
        yield
