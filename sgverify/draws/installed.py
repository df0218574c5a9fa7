"""Is installed what `sample` returns draws in and writes them with? ArviZ and the file formats are an optional extra."""

from __future__ import annotations

from importlib.util import find_spec

from sgverify.errors import UserError

EXTRA = ("arviz", "h5netcdf", "numcodecs", "xarray", "zarr")
"""The modules of the extra `draws`; nothing else in the package imports them. Earlier versions of numcodecs read pickles."""


def check_installed() -> None:
    """Raise `UserError`, with the command that installs them, unless the modules of the extra `draws` can be imported."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        raise UserError(
            f"sgverify sample writes InferenceData, and {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not "
            "installed; expected the optional extra 'draws': pip install 'sgverify[draws]'"
        )
