"""Every file is written under a temporary name and put in place in one step: nobody meets a half-written one, whatever is killed.

`write_atomically` of `sgverify/keeping/files.py` does so. What writes otherwise is listed here, with the reason why it may.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("sgverify", "reports", "docs", "benchmarks")

WRITERS = frozenset(
    {
        *(
            "write_text",
            "write_bytes",
            "touch",
            "to_netcdf",
            "to_zarr",
            "to_csv",
            "to_parquet",
            "savefig",
            "imsave",
        ),
        *(
            "save",
            "savez",
            "savez_compressed",
            "savetxt",
            "tofile",
            "dump",
            "copy",
            "copyfile",
            "copy2",
            "copytree",
        ),
        *("fdopen", "writestr", "extractall"),
    }
)
"""Functions and methods that write a file by the path that they are given; those of a module only where `OF_MODULES` has it."""

OF_MODULES = {
    **dict.fromkeys(("save", "savez", "savez_compressed", "savetxt"), ("np", "numpy", "torch", "nbformat")),
    "dump": ("json", "pickle", "joblib", "toml", "yaml"),
    **dict.fromkeys(("copy", "copyfile", "copy2", "copytree"), ("shutil",)),
}

SPOKEN = re.compile(rf"\b(open|{'|'.join(WRITERS)})\(")
"""A module in which none of the names is called is not parsed."""

ALLOWED = {
    # The helper itself, and what does the same by itself.
    ("sgverify/keeping/files.py", "write_atomically"): "writes to a device",
    ("sgverify/keeping/files.py", "written_in_parts"): "writes the temporary file, which is renamed",
    (
        "sgverify/keeping/files.py",
        "put",
    ): "the one function that writes a file: a temporary one, which is renamed",
    ("sgverify/keeping/files.py", "alone_at"): "a lock, which is empty",
    ("sgverify/keeping/store.py", "_make"): "makes the temporary file, which is renamed",
    (
        "sgverify/keeping/states.py",
        "save_state",
    ): "a stream in memory",
    ("sgverify/draws/files.py", "put_draws"): "writes a folder beside its place, and renames",
    ("sgverify/draws/stored/folder.py", "_lay"): "writes beside the folder; its callers rename",
    ("sgverify/draws/stored/ledger.py", "written"): "appends whole lines, whose checksums tell a half one",
    ("sgverify/draws/stored/shards.py", "run"): "a signal to other processes, which is empty",
    # Streams, and pipes to another process.
    ("sgverify/report/picture.py", "_png"): "a stream in memory",
    ("sgverify/report/svg.py", "pdf"): "a stream in memory",
    ("sgverify/report/svg.py", "_rendered"): "a stream in memory",
    ("benchmarks/growth.py", "draw"): "a stream in memory",
    ("benchmarks/exact_growth.py", "draw"): "a stream in memory",
    ("benchmarks/peers/worker.py", "main"): "the stdout of the process",
    ("sgverify/cli/shared/output.py", "close_stdout"): "the null device",
    ("sgverify/cli/shared/output.py", "open_streams"): "the null device",
    ("sgverify/user_code.py", "_stderr"): "the null device",
    # Temporary folders, which nobody else reads.
    ("sgverify/samplers/fused/compiler.py", "_compiled"): "a temporary folder",
    ("sgverify/campaigns/cluster.py", "_laid_out"): "a temporary folder",
    ("reports/comparison.py", "_answer"): "a temporary folder",
    **{
        ("reports/making/failed_writes.py", name): "a temporary folder"
        for name in ("run", "_prepare", "_call", "_ended")
    },
    **{("reports/making/forced_runs.py", name): "a temporary folder" for name in ("_process", "_copy")},
    ("reports/making/kept_answers.py", "killed_reports"): "a temporary folder",
    ("reports/making/bug_reports.py", "row"): "a temporary folder",
    ("reports/making/campaigns.py", "survived"): "a temporary folder",
    ("reports/making/disturbances.py", "disturbed"): "a temporary folder",
    ("reports/making/disturbances.py", "sizes"): "a temporary folder",
    ("reports/making/distributions.py", "build"): "a temporary folder",
    ("reports/making/distributions.py", "try_out"): "a temporary folder",
    ("docs/making/blocks.py", "ran"): "a temporary folder",
    ("docs/making/installing.py", "install_editable"): "a temporary folder",
    ("benchmarks/verdicts.py", "run"): "a temporary folder",
    ("benchmarks/peers/worker.py", "make"): "a file of the kernel's",
}


def writes(text: str) -> Iterator[tuple[str, int, str]]:
    """(function, line, call) of everything in a module that writes a file by itself."""

    def within(node: ast.AST, function: str) -> Iterator[tuple[str, int, str]]:
        for child in ast.iter_child_nodes(node):
            inner = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
            if isinstance(child, ast.Call) and _is_write(child):
                yield inner, child.lineno, ast.unparse(child.func)
            yield from within(child, inner)

    yield from within(ast.parse(text), "")


def _is_write(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name == "open":
        given = [
            *call.args,
            *(keyword.value for keyword in call.keywords if keyword.arg in {"mode", "flags"}),
        ]
        texts = [
            node.value for node in given if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        modes = [text for text in texts if set(text) <= set("rwaxbt+") and text]
        flags = any("O_WRONLY" in ast.unparse(node) or "O_RDWR" in ast.unparse(node) for node in given)
        return flags or any(set(mode) & set("wax+") for mode in modes)
    if name in OF_MODULES:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        return isinstance(owner, ast.Name) and owner.id in OF_MODULES[name]
    return name in WRITERS


def test_files_are_written_whole_or_not_at_all() -> None:
    found: dict[tuple[str, str], list[str]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            text = path.read_text(encoding="utf-8")
            if "reproductions" not in file and SPOKEN.search(text):
                for function, line, call in writes(text):
                    found.setdefault((file, function), []).append(f"{file}:{line} {call}")
    new = [place for key, places in found.items() if key not in ALLOWED for place in places]
    assert new == [], "use write_atomically of sgverify.keeping.files"
    assert sorted(ALLOWED.keys() - found.keys()) == [], "no longer there"


@each_row(
    "text",
    [
        "place.write_text('x')",
        "open(place, 'w')",
        "open(place, mode='ab')",
        "place.open('r+')",
        "os.open(place, os.O_WRONLY | os.O_CREAT)",
        "np.savez(place, a=1)",
        "json.dump(value, file)",
        "shutil.copyfile(a, b)",
        "figure.savefig(place)",
    ],
)
def test_a_write_is_found(text: str) -> None:
    assert [function for function, _, _ in writes(f"def f():\n    {text}")] == ["f"]


@each_row("text", ["open(place)", "place.open('rb')", "ast.dump(tree)", "values.copy()", "chain.save(x)"])
def test_a_reader_is_none(text: str) -> None:
    assert list(writes(text)) == []
