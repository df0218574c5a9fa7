"""The text of a module: what it imports, and what else it reads while it runs. It is parsed and not run.

A module's results depend on its text, on the modules that it imports, and on what it reads while it runs. The first two can be
hashed; whatever reads a file, the network, the environment, another process or text that is executed makes a module *unhashable*,
and the place is named. Reads are recognised by the names of functions. A module that hides one (`getattr(builtins, "op" + "en")`)
is not found out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READING_CALLS = _words(
    """
    open fdopen urlopen urlretrieve input getenv popen system memmap fromfile load load_dataarray FileIO
    loadtxt genfromtxt loadmat load_file load_dataset load_npz mmread read_text read_bytes read_csv
    read_parquet read_table read_json read_excel read_hdf read_feather read_pickle read_sql read_image
    imread open_dataset open_zarr from_zarr open_mfdataset from_netcdf from_pretrained get_data iterdir glob
    rglob listdir scandir
    """
)
"""Functions and methods that read files, the network or the environment, by their last name."""

READING_PREFIXES = ("read_", "fetch_", "scan_", "open_")
"""What the names of further functions begin with that read: `pandas.read_fwf`, `polars.scan_csv`, `zarr.open_group`."""

EXECUTING_CALLS = frozenset(
    {"exec", "eval", "execfile", "run_path", "run_module", "spec_from_file_location", "load_module"}
)
"""Functions by whose call text, or a file, is run as code. A method of that name (`model.eval()`) is none."""

READING_NAMES = frozenset({"environ", "meta_path", "path_hooks", "argv", "stdin"})
"""Attributes of `os` and `sys` that change what a module computes or imports."""

READING_MODULES = _words(
    """
    socket ssl http urllib.request ftplib subprocess requests httpx aiohttp urllib3 sqlite3 duckdb
    huggingface_hub runpy imp __main__ h5py netCDF4 zarr scipy.io torchvision ctypes cffi mmap configparser
    dbm fileinput linecache shelve tarfile zipfile
    """
)
"""Modules that are there to read something else, or that are not the text of a file."""

IMPORTING = frozenset({"import_module", "__import__"})


@dataclass(frozen=True)
class Imported:
    """One import: `module` as it is written, with `level` dots before it, and the `names` that are taken from it."""

    module: str
    level: int
    names: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class ModuleText:
    """What the text of a module says: its imports, and a clause, with its line, for each thing that it reads beyond them."""

    imports: tuple[Imported, ...]
    reads: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, text: bytes) -> ModuleText:
        """Parse the text. Raises `SyntaxError` or `ValueError` where it is no Python."""
        imports: list[Imported] = []
        reads: list[tuple[int, str]] = []
        tree = ast.parse(text)
        modules = _names_of_modules(tree)
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in _run_on_import(tree):
            match node:
                case ast.Import(names=names):
                    imports += [Imported(alias.name, 0, (), node.lineno) for alias in names]
                case ast.ImportFrom(module=module, names=names, level=level):
                    taken = tuple(alias.name for alias in names)
                    imports.append(Imported(module or "", level, taken, node.lineno))
                case ast.Call():
                    if _last_name(node.func) in IMPORTING:
                        found = _by_function(node)
                        if found is None:
                            reads.append((node.lineno, "imports a module by a name that is put together"))
                        else:
                            imports.append(found)
                    elif reason := _read_by(node):
                        reads.append((node.lineno, reason))
                case ast.Attribute(attr=name) if name in READING_NAMES or _is_sys_path(node):
                    reads.append((node.lineno, f"uses {ast.unparse(node)}"))
                case ast.Attribute(attr=name) | ast.Name(id=name) if id(node) in called:
                    if name in {"exec", "eval"} and _root(node) == "builtins":
                        reads.append((node.lineno, f"runs text as code, by {ast.unparse(node)}(...)"))
                # A function that gets another name first.
                case ast.Attribute(attr=name) if (_reads(name) or name in IMPORTING) and _root(
                    node
                ) in modules:
                    reads.append((node.lineno, f"reads something while it runs, by {ast.unparse(node)}"))
                case ast.Name(id="open" | "exec" | "eval" | "__import__" as name):
                    reads.append((node.lineno, f"uses {name}"))
        for item in imports:
            for name in (item.module, *(f"{item.module}.{taken}" for taken in item.names)):
                if not item.level and _reads_elsewhere(name):
                    reads.append((item.line, f"imports {name}"))
                    break
            reads += [
                (item.line, f"imports {taken} from {item.module}")
                for taken in item.names
                if taken in READING_NAMES | EXECUTING_CALLS
                or (_reads(taken) and not item.level)
                or (item.module == "sys" and taken in {"path", "modules"})
            ]
        return cls(tuple(imports), tuple(sorted(reads)))


def _run_on_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those below `if __name__ == "__main__":`, which only a program runs."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test) in {
            "__name__ == '__main__'",
            "'__main__' == __name__",
        }:
            for other in child.orelse:
                yield other
                yield from _run_on_import(other)
            continue
        yield child
        yield from _run_on_import(child)


def _read_by(call: ast.Call) -> str | None:
    """The clause for a call that reads something; None for any other call."""
    name = _last_name(call.func)
    if _reads(name):
        return f"reads something while it runs, by {ast.unparse(call.func)}(...)"
    if name in EXECUTING_CALLS and (isinstance(call.func, ast.Name) or name not in {"exec", "eval"}):
        return f"runs text as code, by {ast.unparse(call.func)}(...)"
    return None


def _reads(name: str) -> bool:
    """Is this the name of a function that reads something?"""
    return name in READING_CALLS or name.startswith(READING_PREFIXES)


def _names_of_modules(tree: ast.AST) -> frozenset[str]:
    """The names that imports of whole modules bind."""
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    )


def _root(node: ast.expr) -> str:
    """`np` of `np.lib.npyio.load`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", "")


def _by_function(call: ast.Call) -> Imported | None:
    """The import by `importlib.import_module("name")` or `__import__("name")`; None where the name is computed."""
    first = call.args[0] if call.args else None
    if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
        return None
    dots = len(first.value) - len(first.value.lstrip("."))
    return Imported(first.value[dots:], dots, (), call.lineno)


def _last_name(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def _is_sys_path(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "sys" and node.attr in {"path", "modules"}


def _reads_elsewhere(module: str) -> bool:
    """Is the module, or the package that it is of, one of `READING_MODULES`?"""
    parts = module.split(".")
    return any(".".join(parts[:count]) in READING_MODULES for count in range(1, len(parts) + 1))
