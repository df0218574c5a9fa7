"""Every write of every command fails in turn: what is left is whole, and what is said is one message.

`python -m reports failed-writes` writes power/failed_writes.json and .md. A library stands before the system's: the n-th call that
opens a file for writing, writes, syncs, truncates, renames, links or makes a folder ends with an error, for every n until a command
makes no more, once with each error: a full disk, which stays full, a fault of the disk and a refusal, which do not. It counts what
C code does too, such as SQLite's. The folder holds an old answer of each command, the store, the cache and the temporary folder;
after each failure

- the exit code is 2, with one line `error: ...`, or that of an undisturbed run, with a whole answer;
- each file of the answer is the old one or a new one that is whole, or was removed, which is said;
- no other file is left: what a sampler has kept is named, and `--resume` goes on from it to the bits of an undisturbed run;
- there is no traceback.

A server process loads everything once and forks for each failure. `tests/keeping/test_failed_writes.py` does so for three commands.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.making.killed_runs import content, load
from sgverify.keeping.files import json_text, write_atomically

FOLDER = Path(__file__).parents[1] / "power"

ERRORS = {"ENOSPC": True, "EIO": False, "EACCES": False}
"""The errors, and whether every later call fails with it as well."""

MANY = 100
"""Calls of a command from which on each fails with one of the errors, in turn."""

LONGEST = 100.0
"""Seconds after which a command is said to hang."""

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
static long count, when; static int error, stays; static char below[4096];
void fail_at(long n, int number, int persists, const char *folder) {
    count = 0; when = n; error = number; stays = persists; strncpy(below, folder, 4095);
}
long calls(void) { return count; }
static int fails(const char *path) {
    char whole[8192];
    if (!below[0] || !path) return 0;
    if (path[0] != '/') { if (!getcwd(whole, 4096)) return 0; strcat(whole, "/"); strncat(whole, path, 4000); path = whole; }
    if (strncmp(path, below, strlen(below))) return 0;
    ++count;
    if (when > 0 && (count == when || (stays && count > when))) { errno = error; return 1; }
    return 0;
}
static int fails_fd(int fd) {
    char name[64], path[4096]; int kept = errno; ssize_t n;
    if (!below[0]) return 0;
    snprintf(name, 64, "/proc/self/fd/%d", fd);
    n = readlink(name, path, 4095); errno = kept;
    if (n < 0) return 0;
    path[n] = 0;
    return path[0] == '/' && fails(path);
}
#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)
#define WRITES(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))
#define OPEN(name) int name(const char *path, int flags, ...) { va_list more; int mode; REAL(name); va_start(more, flags); \
    mode = va_arg(more, int); va_end(more); return WRITES(flags) && fails(path) ? -1 : real(path, flags, mode); }
#define OPENAT(name) int name(int at, const char *path, int flags, ...) { va_list more; int mode; REAL(name); \
    va_start(more, flags); \
    mode = va_arg(more, int); va_end(more); return WRITES(flags) && fails(path) ? -1 : real(at, path, flags, mode); }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64)
ssize_t write(int fd, const void *b, size_t n) { REAL(write); return fails_fd(fd) ? -1 : real(fd, b, n); }
ssize_t writev(int fd, const struct iovec *v, int n) { REAL(writev); return fails_fd(fd) ? -1 : real(fd, v, n); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { REAL(pwrite); return fails_fd(fd) ? -1 : real(fd, b, n, o); }
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) { REAL(pwrite64); return fails_fd(fd) ? -1 : real(fd, b, n, o); }
int fsync(int fd) { REAL(fsync); return fails_fd(fd) ? -1 : real(fd); }
int fdatasync(int fd) { REAL(fdatasync); return fails_fd(fd) ? -1 : real(fd); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); return fails_fd(fd) ? -1 : real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); return fails_fd(fd) ? -1 : real(fd, n); }
int truncate(const char *p, off_t n) { REAL(truncate); return fails(p) ? -1 : real(p, n); }
int mkdir(const char *p, mode_t m) { REAL(mkdir); return fails(p) ? -1 : real(p, m); }
int mkdirat(int at, const char *p, mode_t m) { REAL(mkdirat); return fails(p) ? -1 : real(at, p, m); }
int rename(const char *a, const char *b) { REAL(rename); return fails(b) ? -1 : real(a, b); }
int renameat(int f, const char *a, int t, const char *b) { REAL(renameat); return fails(b) ? -1 : real(f, a, t, b); }
int link(const char *a, const char *b) { REAL(link); return fails(b) ? -1 : real(a, b); }
int linkat(int f, const char *a, int t, const char *b, int l) { REAL(linkat); return fails(b) ? -1 : real(f, a, t, b, l); }
"""

SUITE = 'suite = [{"scheme": "sgld-euler", "checks": ["local-order"]}]\n'
GRID = 'schemes = ["sgld-euler"]\ntargets = ["gaussian"]\nchecks = ["local-order"]\n'
DRAWS = (
    *("--set", "chains=2", "--set", "steps=60", "--set", "schedule.step=1e-3", "--set", "burn_in=0"),
    *("--no-energy", "--force"),
)

COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "verify": (
        ("verify", "sgld-euler", "--checks", "local-order", "--json", "a.json", "--html", "a.html"),
        ("a.json", "a.html"),
    ),
    "verify --write-baseline": (
        ("verify", "sgld-euler", "--checks", "local-order", "--write-baseline", "known.json"),
        ("known.json",),
    ),
    "rate": (("rate", "sgld-euler", "--quantity", "local-order", "--json", "a.json"), ("a.json",)),
    "bch": (("bch", "ABA", "--json", "a.json"), ("a.json",)),
    "errata": (("errata", "chen2015", "--json", "a.json"), ("a.json",)),
    "list": (("list", "schemes", "--json", "a.json"), ("a.json",)),
    "report": (
        ("report", "--suite", "suite.py:suite", "--out", "r", "--store", "kept.sqlite", "--workers", "1"),
        ("r/report.json", "r/index.html", "r/evidence.html", "r/report.md", "r/junit.xml"),
    ),
    "campaign": (
        ("campaign", "grid.toml", "--out", "c", "--store", "kept.sqlite", "--workers", "1"),
        ("c/report.json", "c/campaign.json", "c/index.html", "c/report.md"),
    ),
    "sample FILE.nc": (("sample", "sghmc-aboba", *DRAWS, "--out", "d.nc"), ("d.nc",)),
    "sample DIR.zarr": (("sample", "sghmc-aboba", *DRAWS, "--out", "d.zarr"), ("d.zarr",)),
    "diff": (("diff", "one.json", "two.json", "--json", "a.json"), ("a.json",)),
    "replay": (("replay", "one.json", "--json", "a.json"), ("a.json",)),
    "advise": (("advise", "gaussian", "sgld-euler", "--json", "a.json"), ("a.json",)),
    "width": (("width", "gaussian", "sgld-euler", "--step", "0.01", "--json", "a.json"), ("a.json",)),
    "design": (("design", "kinetic", "--json", "a.json"), ("a.json",)),
    "new": (("new", "scheme", "of-mine"), ("of-mine",)),
}
"""The commands, and the files and folders of their answers."""

QUICK = ("bch", "list", "new")
"""Those that the default tests let fail."""


@dataclass
class Ended:
    """How a call ended: its exit code, a negative number where a signal ended it, what it said, and how many calls it made."""

    code: int
    said: str
    calls: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Let the writes of all commands fail, or of those of these names, and write what came of it."""
    chosen = list(sys.argv[1:] if arguments is None else arguments) or list(COMMANDS)
    path = FOLDER / "failed_writes.json"
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    rows |= run(chosen)
    write_atomically(path, json_text({name: rows[name] for name in COMMANDS if name in rows}))
    render(FOLDER.parent)


def render(folder: Path) -> None:
    """Write FOLDER/power/failed_writes.md from the table beside it."""
    rows = json.loads((folder / "power" / "failed_writes.json").read_text(encoding="utf-8"))
    write_atomically(folder / "power" / "failed_writes.md", page(rows))


def page(rows: dict[str, dict[str, Any]]) -> str:
    """The rows as a table."""
    _, rest = str(__doc__).split("\n\n", 1)
    lines = [
        "# Writes that failed",
        "",
        rest.strip(),
        "",
        "| command | calls that write | failures | exit code 2 | answered all the same | wrong |",
        "|---|---|---|---|---|---|",
    ]
    keys = ("calls", "failures", "refused", "answered")
    for name, row in rows.items():
        lines.append(f"| `{name}` | {' | '.join(str(row[key]) for key in keys)} | {len(row['wrong'])} |")
    lines += [f"\n- {name}: {wrong}" for name, row in rows.items() for wrong in row["wrong"]]
    return "\n".join(lines) + "\n"


def run(names: Sequence[str], errors: Sequence[str] = tuple(ERRORS)) -> dict[str, Any]:
    """A row for each of these commands, made by a server process behind the library. Raises `CalledProcessError`."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "failing.c"), Path(folder, "failing.so")
        source.write_text(SHIM, encoding="utf-8")
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, source, "-ldl"], check=True)
        work = Path(os.path.realpath(folder)) / "work"
        work.mkdir()
        environment = {
            **os.environ,
            "LD_PRELOAD": str(library),
            "SGVERIFY_CACHE": str(work / "cache"),
            "SGVERIFY_WORKERS": "1",
            "TMPDIR": str(work / "tmp"),
            "OMP_NUM_THREADS": "1",
        }
        code = f"from reports.making.failed_writes import *; serve({str(library)!r}, {list(names)!r}, {list(errors)!r})"
        given = [sys.executable, "-c", code]
        done = subprocess.run(
            given, env=environment, cwd=FOLDER.parents[1], stdout=subprocess.PIPE, text=True, check=True
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def serve(library: str, names: list[str], errors: list[str]) -> None:
    """Let every write of these commands fail, in a process behind the library; the rows go to stdout as JSON."""
    work = Path(library).parent / "work"
    server = Server(ctypes.CDLL(library), work)
    rows = {}
    for name in names:
        began = time.monotonic()
        rows[name] = server.row(name, errors)
        print(
            f"{name}: {time.monotonic() - began:.0f} s {json.dumps(rows[name])[:3000]}",
            file=sys.stderr,
            flush=True,
        )
    print(json.dumps(rows))


class Server:
    """Calls commands in forks of this process, in the folder `work` as it was before each of them."""

    def __init__(self, library: Any, work: Path) -> None:
        self._library, self._work, self._before = library, work, work.with_name("before")

    def row(self, name: str, errors: list[str]) -> dict[str, Any]:
        """What came of a command at each of its calls."""
        words, answer = COMMANDS[name]
        self._prepare(name, words, answer)
        whole = self._call(words, 0, 0)
        new = {place: self._content(place) for place in answer}
        wrong = [] if whole.code in (0, 1, 3) and None not in new.values() else [f"undisturbed: {whole}"]
        row: dict[str, Any] = {
            "calls": whole.calls,
            "failures": 0,
            "refused": 0,
            "answered": 0,
            "wrong": wrong,
        }
        # Of very many calls each fails with one error, in turn.
        rounds = [(errors[k:] + errors[:k]) for k in range(len(errors))] if whole.calls < MANY else [errors]
        for turn in rounds:
            place = 0
            while not wrong or place:
                error = turn[0] if whole.calls < MANY else turn[place % len(turn)]
                place += 1
                ended = self._call(words, place, getattr(errno, error), ERRORS[error])
                if ended.calls < place and ended.code == whole.code:
                    # It has made no such call. How many it makes may depend on how long its steps take.
                    if place > whole.calls:
                        break
                    continue
                row["failures"] += 1
                row["refused" if ended.code == 2 else "answered"] += 1
                faults = self._faults(ended, whole, answer, new) or self._resumed(words, answer, new)
                if faults and len(wrong) < 40:
                    wrong.append(f"{error} at call {place}: {faults}; {ended.code}: {ended.said[-700:]}")
        return row

    def _prepare(self, name: str, words: Sequence[str], answer: Sequence[str]) -> None:
        """Make the folder as it is before each call, with an old answer, and load what the command needs."""
        _empty(self._work)
        for folder in ("tmp", "cache"):
            (self._work / folder).mkdir()
        (self._work / "suite.py").write_text(SUITE)
        (self._work / "grid.toml").write_text(GRID)
        os.chdir(self._work)
        if words[0] in ("diff", "replay"):
            for file in ("one.json", "two.json"):
                _say_nothing(("rate", "sgld-euler", "--quantity", "local-order", "--json", file))
        if words[0] == "sample":
            # It begins a thread, which no fork would have.
            load()
            if (ended := self._ended((*words, "--set", "seed=7"), 0, 0, False)).code not in (0, 1, 3):
                raise SystemExit(f"{words}: {ended}")
        else:
            _say_nothing(words)
        if name == "new":
            shutil.rmtree("of-mine")
        for place in answer:
            if Path(place).suffix in (".json", ".html", ".md", ".xml") and name != "verify --write-baseline":
                Path(place).write_text("old")
        for kept in Path().glob("kept.sqlite*"):
            kept.unlink()
        shutil.rmtree(self._before, ignore_errors=True)
        shutil.copytree(self._work, self._before)
        self._old = {place: self._content(place) for place in answer}

    def _call(self, words: Sequence[str], place: int, number: int, stays: bool = False) -> Ended:
        """Call a command whose call `place` fails; 0 for none."""
        _empty(self._work)
        shutil.copytree(self._before, self._work, dirs_exist_ok=True)
        return self._ended(words, place, number, stays)

    def _ended(self, words: Sequence[str], place: int, number: int, stays: bool) -> Ended:
        said, told = self._work.with_name("said"), self._work.with_name("told")
        told.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            try:
                from sgverify.cli import main

                if "d.zarr" in words:
                    # Draws and halts are stored while it draws, as in a long run.
                    from sgverify.draws.stored import folder, shards
                    from sgverify.samplers.fused import driver

                    folder.PART, shards.SHORTEST, shards.SHARE, driver._LONGEST = 12_000, 0.0, 1e9, 40

                handle = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(handle, 1)
                os.dup2(handle, 2)
                sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
                self._library.fail_at(ctypes.c_long(place), number, int(stays), os.fsencode(f"{self._work}/"))
                code = main(list(words))
                calls = self._library.calls()
                self._library.fail_at(ctypes.c_long(0), 0, 0, b"")
                for stream in (sys.stdout, sys.stderr):
                    stream.flush()
                told.write_text(f"{code} {calls}")
            finally:
                os._exit(0)
        ends = time.monotonic() + LONGEST
        while not os.waitpid(child, os.WNOHANG)[0]:
            if time.monotonic() > ends:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return Ended(-signal.SIGKILL, f"hangs: {said.read_text()}", place)
            time.sleep(0.002)
        text = said.read_text(errors="replace")
        code, calls = (int(word) for word in told.read_text().split()) if told.exists() else (-1, place)
        return Ended(code, text, calls)

    def _content(self, place: str) -> Any:
        """What a file or folder of an answer says; None where it is not whole."""
        path = self._work / place
        try:
            if path.suffix in (".nc", ".zarr"):
                return _without_times(content(path))
            if path.is_dir():
                return {
                    file.relative_to(path).as_posix(): file.read_text()
                    for file in path.rglob("*")
                    if file.is_file()
                }
            text = path.read_text()
            if text == "old":
                return text
            if path.suffix == ".json":
                json.loads(text)
            # The seconds that it took differ, the kind of its end does not.
            return text[-3:] if len(text) > 20 else None
        except (OSError, ValueError):
            return None

    def _faults(self, ended: Ended, whole: Ended, answer: Sequence[str], new: dict[str, Any]) -> str:
        """What is wrong with how a call ended, and what it left; "" where nothing is."""
        lines = [line for line in ended.said.splitlines() if line.startswith("error: ")]
        if ended.code not in (2, whole.code) or "Traceback" in ended.said:
            return "the exit code, or a traceback"
        if len(lines) != (ended.code == 2):
            return f"{len(lines)} messages"
        for place in answer:
            now = self._content(place)
            removed = f"removed: {place}" in ended.said or self._old[place] is None
            gone = not os.path.lexists(self._work / place)
            if ended.code != 2 and now != new[place]:
                return f"{place} is not the new one"
            if not (gone and removed) and (now is None or now not in (self._old[place], new[place])):
                return f"{place} is neither the old one nor a new one"
        others = self._others(answer)
        return (
            f"left: {others}"
            if (others and ended.code != 2) or not all(other in ended.said for other in others)
            else ""
        )

    def _others(self, answer: Sequence[str]) -> list[str]:
        """What lies in the folder now and did not before, and belongs neither to an answer nor to SQLite."""

        def names(folder: Path) -> set[str]:
            found = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
            kept = {name for name in found if not name.startswith(("cache/kernels", "kept.sqlite"))}
            return {name.partition("/")[0] if ".partial.zarr/" in name else name for name in kept}

        def of_the_answer(name: str) -> bool:
            if Path(name).name.startswith(".") and Path(name).suffix in (".part", ".lock"):
                return False
            inside = [place for place in answer if name.startswith(f"{place}/")]
            return bool(inside) or name in answer or any(place.startswith(f"{name}/") for place in answer)

        cache = {path.name for path in (self._work / "cache").rglob(".*")}
        return sorted(
            name for name in names(self._work) - names(self._before) if not of_the_answer(name)
        ) + sorted(cache)

    def _resumed(self, words: Sequence[str], answer: Sequence[str], new: dict[str, Any]) -> str:
        """Go on with what a sampler has kept: "" where it comes to the bits of the undisturbed run."""
        if not any(self._work.glob("*.partial.zarr")):
            return ""
        ended = self._ended([word for word in words if word != "--force"] + ["--resume"], 0, 0, False)
        if self._content(answer[0]) != new[answer[0]] or self._others(answer):
            return f"not resumed to the same bits: {ended.said[-300:]}"
        return ""


def _without_times(content: Any) -> Any:
    """The draws but for the command line that each call notes."""
    if isinstance(content, dict):
        return {
            key: _without_times(value)
            for key, value in content.items()
            if key not in ("command", "created_at")
        }
    if isinstance(content, bytes):
        try:
            return _without_times(json.loads(content))
        except ValueError:
            return content
    return [_without_times(value) for value in content] if isinstance(content, list) else content


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _say_nothing(words: Sequence[str]) -> None:
    """Call a command in this process, so that everything that it needs is loaded."""
    import contextlib
    import io

    from sgverify.cli import main as command

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        code = command(list(words))
    if code not in (0, 1, 3):
        raise SystemExit(f"{words}: {code} {said.getvalue()}")


if __name__ == "__main__":
    main()
