"""Tables as npy, npz and Parquet files, and arrays of other types, with headers that lie or archives that swell."""

from __future__ import annotations

import io
import random
import zipfile
from functools import cache

import numpy as np


@cache
def arrays() -> dict[str, bytes]:
    """The same table as npy, npz and, where pyarrow is installed, Parquet."""
    table = np.array([[k, k / 7, k % 2] for k in range(1, 25)])
    npy, npz = io.BytesIO(), io.BytesIO()
    np.save(npy, table)
    np.savez(npz, table=table)
    found = {"t.npy": npy.getvalue(), "t.npz": npz.getvalue()}
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return found
    written = io.BytesIO()
    parquet.write_table(pyarrow.table({"x": table[:, 0], "dose": table[:, 1], "ill": table[:, 2]}), written)
    return {**found, "t.parquet": written.getvalue()}


def other_array(content: bytes, draw: random.Random) -> bytes:
    """An array of another type or shape, with a header that lies, or an archive that swells."""
    npz = content.startswith(b"PK")
    if draw.random() < 0.3:
        header = "{'descr': %s, 'fortran_order': False, 'shape': %s, }" % draw.choice(  # noqa: UP031
            (
                ("'<f8'", "(1000000000000, 3)"),
                ("'|O'", "(3,)"),
                ("'<f8'", "(-1, 3)"),
                ("'<f8'", "(True,)"),
                ("__import__('os')", "(3,)"),
                ("'<V99999999'", "(3,)"),
                ("[('a', '<f8')]", "(3,)"),
                ("'<f8'", "(" * 50 + "3," + ")" * 50),
            )
        )
        array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(72)
    else:
        held = draw.choice(
            (
                np.array([1, None, {}], dtype=object),
                np.array(["a", "b"]),
                np.array(1.0),
                np.zeros((2, 0)),
                np.zeros((2, 2, 2)),
                np.array([1 + 2j]),
                np.array([np.nan, 1.0]),
                np.array([[1e308, 1e308]] * 3),
                np.array([[1, 2, 3]] * 4, dtype=np.int8),
                np.array(["2020-01-01"], dtype="datetime64[D]"),
                np.zeros(3, dtype=[("a", "f8")]),
                np.zeros((5, 3), dtype=np.float16),
            )
        )
        written = io.BytesIO()
        np.save(written, held, allow_pickle=True)
        array = written.getvalue()
    if not npz:
        return array
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for name in draw.choice((("table.npy",), ("a.npy", "b.npy"), (), ("../x.npy",), ("table",))):
            opened.writestr(name, array)
        if draw.random() < 0.2:
            header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (40000000, 1), }"
            opened.writestr(
                "zeros.npy",
                b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(40_000_000),
            )
    return archive.getvalue()
