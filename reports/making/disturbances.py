"""Campaigns whose processes are killed, and reports of many schemes. Writes into the folder campaigns/.

`python -m reports.making.disturbances NAME` measures one of: processes, cluster, sizes. A campaign of 1,000 answers runs once
undisturbed; then one of its two workers is killed by SIGKILL every few seconds, on processes of this machine and on a Dask cluster,
whose scheduler is killed half-way and started again as well. A command that ended early is given again, as its message says.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import Any

from reports.making.campaigns import (
    FOLDER,
    kept_answers,
    started_campaign,
    store_measurement,
    surroundings,
    told_report,
)
from sgverify.schemes.catalogue import NAMED

CAMPAIGN = """
schemes = ["sghmc-aboba", "sghmc-baoab", "sghmc-obabo", "sghmc-euler", "sgld-euler"]
targets = ["gaussian"]
checks = ["stationary-bias", "local-order"]
[grid]
temperature = [0.31, 0.52, 0.73, 0.94, 1.15, 1.36, 1.57, 1.78, 1.99, 2.21]
"schedule.step" = [0.011, 0.023, 0.037, 0.041, 0.053, 0.067, 0.071, 0.083, 0.097, 0.103]
"""
"""500 combinations, each with two answers."""

PAUSES = (5.0, 10.0)
"""Seconds between two kills, drawn evenly: starting a process takes two and more."""

SIZES = (5, 10, 20, 40)
"""Schemes of a report."""

SUITE = "schemes = {}\n"


def disturbed(cluster: bool, seed: int = 3) -> dict[str, Any]:
    """Run the campaign undisturbed and disturbed, and compare the reports; how often what was killed, and the seconds of both."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "campaign.toml").write_text(CAMPAIGN, encoding="utf-8")
        began = time.perf_counter()
        assert started_campaign(folder, "undisturbed").wait() == 0
        whole = time.perf_counter() - began
        engine = _Cluster() if cluster else None
        codes: list[int] = []
        kills, restarts = 0, 0
        began = time.perf_counter()
        try:
            while not codes or codes[-1] != 0:
                running = (
                    started_campaign(folder, "disturbed", "--scheduler", engine.address, workers=None)
                    if engine
                    else started_campaign(folder, "disturbed")
                )
                while (code := running.poll()) is None:
                    with suppress(subprocess.TimeoutExpired):
                        running.wait(chance.uniform(*PAUSES))
                        continue
                    kills += _kill_one(engine.nannies() if engine else [running.pid], chance)
                    if engine and not restarts and kept_answers(folder / "disturbed.sqlite") > 400:
                        engine.restart()
                        restarts += 1
                codes.append(code)
                assert len(codes) < 20, f"the campaign ends with {codes}"
        finally:
            if engine:
                engine.stop()
        taken = time.perf_counter() - began
        first, second = (told_report(folder / name) for name in ("undisturbed", "disturbed"))
    return {
        "answers": len(first[0]["evidence"]),
        "workers killed": kills,
        "schedulers restarted": restarts,
        "exit codes": codes,
        "same report": first == second,
        "seconds": [round(whole, 1), round(taken, 1)],
    }


def _kill_one(parents: Sequence[int], chance: random.Random) -> int:
    """Kill one of the Python workers below these processes; 1, or 0 where there is none at this moment."""
    workers = [
        child
        for parent in parents
        for child in _children(parent)
        if b"resource_tracker" not in _command(child)
    ]
    if not workers:
        return 0
    with suppress(ProcessLookupError):
        os.kill(chance.choice(sorted(workers)), signal.SIGKILL)
    return 1


def _children(process: int) -> list[int]:
    try:
        return [
            int(child)
            for task in Path(f"/proc/{process}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return []


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


class _Cluster:
    """A scheduler and two workers as processes of their own, each worker below a nanny that starts it again."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self._port}"
        self._start()

    def nannies(self) -> list[int]:
        return [self._workers.pid]

    def restart(self) -> None:
        """Kill the scheduler, and start another one, with workers, at the same address."""
        self.stop()
        self._start()

    def stop(self) -> None:
        for process in (self._scheduler, self._workers):
            process.kill()
            process.wait()

    def _start(self) -> None:
        quiet: dict[str, Any] = {
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
            "env": surroundings(),
        }
        python = [sys.executable, "-m"]
        self._scheduler = subprocess.Popen(
            [
                *python,
                "distributed.cli.dask_scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                str(self._port),
                "--no-dashboard",
            ],
            **quiet,
        )
        self._workers = subprocess.Popen(
            [
                *python,
                "distributed.cli.dask_worker",
                self.address,
                "--nworkers",
                "2",
                "--nthreads",
                "1",
                "--no-dashboard",
            ],
            **quiet,
        )
        # A command that comes first waits ten seconds for a scheduler; loading the libraries of one may take longer here.
        for _ in range(300):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1):
                return
            time.sleep(0.2)


def sizes() -> dict[str, Any]:
    """Processor seconds, the largest memory of a process in megabytes, and the bytes of report.json, by the number of schemes."""
    words = ["".join(letters) for letters in permutations("ABO")]
    words += [word + word[-2::-1] for word in words]
    schemes = [*NAMED, *(f"sghmc-{family}-{word}" for family in ("md", "chen") for word in words)]
    rows: dict[str, Any] = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "suite.py").write_text(SUITE.format(schemes[:size]), encoding="utf-8")
            command = [
                "report",
                "--suite",
                "suite.py:schemes",
                "--quick",
                "--workers",
                "2",
                "--store",
                "off",
                "--out",
                "out",
            ]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            # In a process of its own, so that the largest memory is that of this report.
            measured = subprocess.run(
                [sys.executable, "-c", _MEASURED, *command],
                cwd=folder,
                env=surroundings(),
                check=True,
                capture_output=True,
                text=True,
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            rows[str(size)] = {
                "processor": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
                "megabytes": int(measured.stdout.split()[-1]) >> 10,
                "bytes": Path(folder, "out", "report.json").stat().st_size,
            }
    return rows


_MEASURED = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "sgverify", *sys.argv[1:]], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""

MEASURED = {"processes": lambda: disturbed(False), "cluster": lambda: disturbed(True), "sizes": sizes}


def measure(names: Sequence[str]) -> None:
    """Measure what is named, and write it beside what is stored."""
    for name in names:
        store_measurement(name, MEASURED[name](), FOLDER)


def page(measurements: dict[str, Any]) -> list[str]:
    """The measurements as lines of Markdown."""
    lines: list[str] = []
    if disturbances := {
        name: measurements[name] for name in ("processes", "cluster") if name in measurements
    }:
        lines += ["", "## Workers killed while they compute", ""]
        lines += [
            "| engine | answers | killed | restarted | exit codes | same report | wall, s, undisturbed and disturbed |"
        ]
        lines += ["|---" * 7 + "|"]
        for name, row in disturbances.items():
            cells = [name, *(row[key] for key in ("answers", "workers killed", "schedulers restarted"))]
            cells += [", ".join(map(str, row["exit codes"])), "yes" if row["same report"] else "no"]
            lines.append(f"| {' | '.join(map(str, cells))} | {' and '.join(map(str, row['seconds']))} |")
    if rows := measurements.get("sizes"):
        lines += ["", "## Reports of many schemes", "", "`report --quick` with two workers and no store."]
        lines += ["", "| schemes | processor, s | largest process, MB | report.json, MB |", "|---" * 4 + "|"]
        lines += [
            f"| {size} | {row['processor']} | {row['megabytes']} | {row['bytes'] / 1e6:.1f} |"
            for size, row in rows.items()
        ]
    return lines


def draw(measurements: dict[str, Any], path: Path) -> None:
    """Time, memory and report.json against the number of schemes of a report."""
    import matplotlib as mpl

    from sgverify.report.colours import COLOURS, STYLE
    from sgverify.report.picture import Picture

    rows = measurements["sizes"]
    sizes = list(map(int, rows))
    parts = {
        "processor": ("processor, s", 1),
        "megabytes": ("largest process, MB", 1),
        "bytes": ("report.json, MB", 1e6),
    }
    with mpl.rc_context(STYLE):
        told = "Processor time, memory and size of report.json against the number of schemes"
        drawing = Picture((9.6, 3.0), told, told, layout="constrained")
        for axis, colour, (key, (label, unit)) in zip(
            drawing.subplots(1, 3), COLOURS, parts.items(), strict=False
        ):
            axis.plot(
                sizes, [rows[str(size)][key] / unit for size in sizes], "o-", color=colour, markersize=4
            )
            axis.set(xlabel="schemes", title=label, ylim=(0, None), xlim=(0, None))
        drawing.save(path)


if __name__ == "__main__":
    measure(sys.argv[1:])
