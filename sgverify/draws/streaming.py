"""Draws that are written to a Zarr folder while they are drawn, so that they need not fit into memory.

Each part is appended along `draw`. What a reader sees is the consolidated metadata, which is replaced last and in one move:
whenever the process ends, the folder holds the parts that were written until then, with the attribute `complete` 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sgverify.draws.files import check_place, write_draws
from sgverify.draws.inference_data import arviz
from sgverify.samplers.run.recording import Draws, Outlet

PART = 64 << 20
"""The bytes of draws that are written together."""

CHUNK = 8 << 20
"""The most bytes of a file of the folder, as far as it is divided among chains."""

GROUPS = ("posterior", "sample_stats")


class DrawStore:
    """A Zarr folder that takes the parts of a run's draws.

    `made` makes InferenceData of a part. The folder is made with the first part; draws that all fit into one part are not taken.
    """

    def __init__(self, place: str | Path, made: Callable[[Draws], Any], *, force: bool = False) -> None:
        self._place, self._made, self._force = check_place(place, force=force), made, force
        self._count = 0

    @property
    def started(self) -> bool:
        """Has a part been written?"""
        return self._count > 0

    def outlet(self, size: int, kept: int) -> Outlet:
        """The outlet for a run whose `kept` draws take so many bytes."""
        return Outlet(self.take, max(1, PART * kept // max(1, size)))

    def take(self, draws: Draws) -> None:
        """Write a part after those before it."""
        made = self._made(draws)
        with _quietly():
            if self.started:
                self._append(made)
            else:
                write_draws(made, self._place, force=self._force, chunks=_chunks(made))
        self._count += len(draws.numbers)

    def finish(self, draws: Draws) -> Any:
        """Write the last part, and what is known of the run at its end; returns all draws, read from the folder on demand."""
        if len(draws.numbers):
            self.take(draws)
        else:
            self._tell(self._made(draws))
        return self.opened()

    def opened(self) -> Any:
        """The draws so far, as InferenceData whose values are read when they are needed."""
        import xarray

        with _quietly(), xarray.open_datatree(self._place, engine="zarr") as tree:
            names = [str(name) for name in tree.children]
            attributes = dict(tree.attrs)
        groups = {name: xarray.open_dataset(self._place, engine="zarr", group=name) for name in names}
        return arviz().InferenceData(attrs=attributes, **groups)

    def _append(self, made: Any) -> None:
        import xarray
        import zarr

        for group in GROUPS:
            part = made[group]
            part = part.drop_vars(
                [name for name, value in part.variables.items() if "draw" not in value.dims]
            )
            there = set(zarr.open_group(self._place / group, mode="r", use_consolidated=False).array_keys())
            for name in {str(name) for name in part.data_vars} - there:
                # A statistic that no step before has reported.
                before = part[name].isel(draw=np.zeros(self._count, dtype=np.int64)).drop_vars("draw")
                empty = xarray.full_like(before, np.nan if before.dtype.kind == "f" else 0)
                empty.to_dataset(name=name).to_zarr(
                    self._place, group=group, mode="a", zarr_format=2, consolidated=False
                )
            part.to_zarr(self._place, group=group, append_dim="draw", zarr_format=2, consolidated=False)
        self._tell(made)

    def _tell(self, made: Any) -> None:
        """Replace the attributes, then the metadata that readers see."""
        import zarr

        for group in ("", *made.groups()):
            attributes = made.attrs if not group else made[group].attrs
            folder = zarr.open_group(self._place / group, mode="r+", use_consolidated=False)
            folder.attrs.update({name: _plain(value) for name, value in attributes.items()})
        zarr.consolidate_metadata(str(self._place), zarr_format=2)


def _chunks(made: Any) -> dict[str, Any]:
    """The sizes of the files, by group and variable: the draws of a part, of so many chains that they take at most `CHUNK`."""
    found: dict[str, Any] = {}
    for group in GROUPS:
        sizes = {}
        for name, value in made[group].variables.items():
            if "draw" not in value.dims:
                continue
            shape = dict(value.sizes)
            if "chain" in shape:
                shape["chain"] = int(
                    np.clip(CHUNK * shape["chain"] // max(1, value.nbytes), 1, shape["chain"])
                )
            sizes[name] = {"chunks": tuple(shape[axis] for axis in value.dims)}
        found[f"/{group}"] = sizes
    return found


def _plain(value: Any) -> Any:
    """An attribute as JSON holds it."""
    return value.item() if isinstance(value, np.generic) else value


@contextmanager
def _quietly() -> Iterator[None]:
    """A context without the warnings of libraries about what they will change, on which a user cannot act."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", UserWarning)
        yield
