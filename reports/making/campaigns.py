"""What campaigns cost and survive: tasks on two engines, kills, the cost of questions. Writes the folder campaigns/.

`python -m reports.making.campaigns NAME` measures one of: here, dask, kills, questions. Times are those of processors, which the
load of a machine does not change; the ratio to the ideal is the processor time of all processes over that of the tasks alone.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sgverify.campaigns.engines import LONGEST, Costs, LocalProcesses
from sgverify.campaigns.tasks import Task, answered
from sgverify.evidence import canonical
from sgverify.keeping.files import json_text, write_atomically
from sgverify.keeping.store import Store

FOLDER = Path(__file__).parents[1] / "campaigns"

TASKS, SECONDS, WORKERS = 10_000, 0.02, 2
KILLS = 20

SURVIVING = """
schemes = ["sghmc-aboba", "sghmc-baoab", "sghmc-obabo", "sghmc-euler", "sgld-euler"]
targets = ["gaussian", { name = "gaussian-mean", size = 8 }]
gradients = ["full", { kind = "iid", batch = 2 }]
checks = ["stationary-bias", "local-order"]
[grid]
temperature = [0.5, 2.0, 3.0]
"""
"""The campaign that is killed: 60 combinations, of which 15 do not fit."""

FAMILIES = {
    "Euler, sgld-euler": "sgld-euler",
    "a splitting, sghmc-aboba": "sghmc-aboba",
    "a splitting, sghmc-baoab, in two dimensions": "sghmc-baoab",
    "a thermostat, sgnht-euler": "sgnht-euler",
}
"""A scheme of each family whose whole verdict is timed."""

UNDER = {"a splitting, sghmc-baoab, in two dimensions": {"target": {"name": "gaussian", "dim": 2}}}


def burn(number: int, seconds: float) -> int:
    """Use so much processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return number


def burnt(engine: Any, folder: Path, count: int, seconds: float) -> dict[str, Any]:
    """Answer so many tasks on an engine with a store, and say what it took, and how much memory at which time."""
    tasks = [
        Task("burn", {"number": n}, f"task {n}", burn, (n, seconds), sort="burn", references=())
        for n in range(count)
    ]
    memory: list[int] = []
    seen = 0
    began = time.perf_counter()
    with Store(folder / "store.sqlite") as store:
        for number, answer in answered(tasks, engine, store, costs=Costs(["burn"] * count)):
            assert number == answer
            seen += 1
            if seen % max(1, count // 10) == 0:
                memory.append(_resident())
    assert seen == count
    wall = time.perf_counter() - began
    return {"tasks": count, "seconds": seconds, "wall": round(wall, 1), "megabytes": memory}


def throughput(engine: str, count: int = TASKS) -> dict[str, Any]:
    """The measurement of one engine, "here" or "dask", in a process of its own, whose children's processor time is counted."""
    began = _children()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "reports.making.campaigns", "burn", engine, str(count), folder],
            capture_output=True,
            text=True,
            check=True,
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    processor = _children() - began
    ideal = count * SECONDS
    found |= {
        "batch": LONGEST,
        "processor": round(processor, 1),
        "ratio": round(processor / ideal, 3),
        "load": _load(),
    }
    return found


def _burn(engine: str, count: int, folder: Path) -> dict[str, Any]:
    if engine == "here":
        return burnt(LocalProcesses(WORKERS), folder, count, SECONDS)
    from sgverify.campaigns.cluster import SentCode, connected

    with local_cluster() as address, connected(address, SentCode()) as cluster:
        return burnt(cluster, folder, count, SECONDS)


@contextmanager
def local_cluster(workers: int = WORKERS) -> Iterator[str]:
    """A context with a scheduler and workers of this machine; the address of the scheduler."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


def survived(kills: int = KILLS, seed: int = 0, text: str = SURVIVING) -> dict[str, Any]:
    """Run a campaign, kill it by SIGKILL at random moments, run it to its end, and compare with one that nothing disturbed."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "campaign.toml").write_text(text, encoding="utf-8")
        began = time.perf_counter()
        assert started_campaign(folder, "undisturbed").wait() == 0
        whole = time.perf_counter() - began
        undisturbed = told_report(folder / "undisturbed")
        killed, completed, kept = 0, 0, []
        while killed < kills or not completed:
            running = started_campaign(folder, "killed")
            try:
                # At any moment, the loading of libraries and the writing of the report among them.
                code = running.wait(timeout=chance.uniform(0.3, 1.0) * whole if killed < kills else None)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
                killed += 1
                kept.append(kept_answers(folder / "killed.sqlite"))
                continue
            assert code == 0 and told_report(folder / "killed") == undisturbed
            completed += 1
            for path in folder.glob("killed.sqlite*"):
                path.unlink()
    return {
        "kills": killed,
        "completed": completed,
        "combinations": len(undisturbed[1]),
        "evidence": len(undisturbed[0]["evidence"]),
        "kept": kept,
    }


def told_report(folder: Path) -> list[Any]:
    """What a report says, but for times and versions."""
    evidence, summary = (json.loads((folder / name).read_text()) for name in ("report.json", "campaign.json"))
    return [canonical(evidence), summary["rows"], summary["cells"]]


def started_campaign(
    folder: Path, name: str, *options: str, workers: int | None = WORKERS
) -> subprocess.Popen[bytes]:
    """The campaign of campaign.toml as a process of its own, with its store and its report beside it."""
    own = [] if workers is None else ["--workers", str(workers)]
    command = ["campaign", "campaign.toml", *own, "--store", f"{name}.sqlite", "--out", name, *options]
    return subprocess.Popen(
        [sys.executable, "-m", "sgverify", *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=surroundings(),
    )


def surroundings() -> dict[str, str]:
    """The environment of such a process: this checkout, one thread."""
    path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def kept_answers(store: Path) -> int:
    """How many answers a store has."""
    if not store.exists():
        return 0
    with Store(store) as found:
        return sum(1 for _ in found.answers())


def questions() -> dict[str, Any]:
    """What a whole `verify`, and single checks, cost in processor time, in one process, the loading of libraries aside."""
    from sgverify.campaigns.questions import judged

    judged("sgld-euler", {"friction": 1.5}, ())
    found: dict[str, Any] = {"verify": {}, "checks": {}}
    memory = [_resident()]
    for family, scheme in FAMILIES.items():
        costs = [
            _spent(partial(judged, scheme, {"temperature": 1.1 + place / 8, **UNDER.get(family, {})}, ()))
            for place in range(2)
        ]
        found["verify"][family] = round(1000 * min(costs))
    memory.append(_resident())
    for check in ("local-order", "stationary-bias", "mse", "covariance"):
        costs = [
            _spent(
                partial(judged, "sghmc-baoab", {"temperature": 1.1 + place / 8, "friction": 3.0}, (check,))
            )
            for place in range(5)
        ]
        found["checks"][check] = round(1000 * min(costs), 1)
    before = _resident()
    for place in range(100):
        judged("sghmc-baoab", {"temperature": 2.1 + place / 64}, ("stationary-bias",))
    found["megabytes"] = {"after loading": memory[0], "before": before, "after 100 more": _resident()}
    found["size"] = len(json.dumps(judged("sghmc-baoab", {"temperature": 0.7}, ())))
    return found


def overheads() -> dict[str, Any]:
    """What one task costs beside its work: its key, its place in the store, alone and with others."""
    from sgverify.campaigns.tasks import key_of_task

    answer = {"evidence": [{"x": list(range(40)), "reason": "of some length " * 10}] * 30}
    tasks = [
        Task(
            "overhead", {"scheme": "sgld-euler", "number": n}, "", burn, (n, 0.0), references=("sgld-euler",)
        )
        for n in range(2000)
    ]
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "store.sqlite") as store:
        key_of_task(tasks[0])
        key = _spent(lambda: [key_of_task(task) for task in tasks]) / len(tasks)
        keys = [key_of_task(task) for task in tasks]
        alone = _spent(lambda: [store.keep(item, answer, 0.1) for item in keys[:50]]) / 50
        wall = time.perf_counter()
        together = _spent(lambda: store.keep_all((item, answer, 0.1) for item in keys[50:1050])) / 1000
        wall = (time.perf_counter() - wall) / 1000
        find = _spent(lambda: [store.find(item) for item in keys[:1000]]) / 1000
    named = {"key": key, "keep alone": alone, "keep with others": together, "find": find, "keep, wall": wall}
    return {name: round(1e3 * seconds, 4) for name, seconds in named.items()}


def _spent(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _resident() -> int:
    """The memory of this process, in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() >> 20


def _load() -> float:
    return round(os.getloadavg()[0], 1)


MEASURED: dict[str, Callable[[], dict[str, Any]]] = {
    "here": lambda: throughput("here"),
    "dask": lambda: throughput("dask"),
    "kills": survived,
    "questions": questions,
    "overheads": overheads,
}


def measure(names: list[str], folder: Path = FOLDER) -> None:
    """Measure what is named, and write it beside what is stored."""
    for name in names:
        store_measurement(name, MEASURED[name](), folder)


def store_measurement(name: str, measured: dict[str, Any], folder: Path) -> None:
    """Write one measurement beside those that are stored."""
    path = folder / "campaigns.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    folder.mkdir(exist_ok=True)
    write_atomically(path, json_text({**known, name: measured}))
    print(f"{name}: {measured}", file=sys.stderr)


def make() -> None:
    """Measure everything that is installed, and write the page."""
    from reports.making import disturbances

    able = importlib.util.find_spec("distributed") is not None
    measure([name for name in MEASURED if able or name != "dask"])
    disturbances.measure([name for name in disturbances.MEASURED if able or name != "cluster"])
    render(FOLDER.parent)


def render(folder: Path) -> None:
    """Write FOLDER/campaigns/campaigns.md, and campaigns.svg, from the JSON beside them."""
    from reports.making import disturbances

    found = json.loads((folder / "campaigns" / "campaigns.json").read_text(encoding="utf-8"))
    write_atomically(folder / "campaigns" / "campaigns.md", page(found))
    disturbances.draw(found, folder / "campaigns" / "campaigns.svg")


ENGINES = {"here": "processes of this machine", "dask": "a Dask cluster on this machine"}


def page(found: dict[str, Any]) -> str:
    """The measurements as Markdown."""
    lines = ["# What campaigns cost and survive", "", " ".join(str(__doc__).split("\n\n")[1].split()), ""]
    runs = {name: told for name, told in found.items() if "ratio" in told}
    lines += [
        "| engine | tasks | each, s | batches, s | wall, s | processor, s | ratio to the ideal | load |",
        "|---" * 8 + "|",
    ]
    for name, told in runs.items():
        keys = ("tasks", "seconds", "batch", "wall", "processor", "ratio", "load")
        lines.append(
            f"| {' | '.join([ENGINES[name.partition('-')[0]], *(str(told[key]) for key in keys)])} |"
        )
    memory = [
        f"{ENGINES[name.partition('-')[0]]}, {told['tasks']} tasks: {', '.join(map(str, told['megabytes']))}"
        for name, told in runs.items()
    ]
    lines += [
        "",
        "Two workers each. The load is that of the machine's two processors at the end; at 2, the tasks have them for themselves. "
        "The first tasks are handed over one by one, and beginning the processes is counted: of a cluster these are five, whose "
        "libraries weigh on 2,000 tasks more than they would on 10,000.",
        "",
        f"Memory of the process that asks, in megabytes, at each tenth of the tasks. {'; '.join(memory)}.",
    ]
    if "kills" in found:
        told = found["kills"]
        lines += [
            "",
            "## Killed and run again",
            "",
            f"A campaign of {told['combinations']} combinations was killed by SIGKILL {told['kills']} times at random moments, and "
            f"run again each time; {told['completed']} times it came to its end in between, and its report was the one of a run "
            f"that nothing disturbed: the same {told['evidence']} pieces of evidence, rows and sums. Answers in the store at each "
            f"kill: {', '.join(map(str, told['kept']))}; it begins anew after each report.",
        ]
    if "overheads" in found:
        lines += ["", "## Beside the work", "", "| part of one task | ms |", "|---|---|"]
        lines += [f"| {name} | {value} |" for name, value in found["overheads"].items()]
    if "questions" in found:
        told = found["questions"]
        lines += ["", "## Questions", "", "| question | processor, ms |", "|---|---|"]
        lines += [f"| a whole verdict: {name} | {value} |" for name, value in told["verify"].items()]
        lines += [f"| {name} of sghmc-baoab | {value} |" for name, value in told["checks"].items()]
        grown = ", ".join(f"{name} {value}" for name, value in told["megabytes"].items())
        lines += [
            "",
            f"A whole answer is {told['size']} bytes of JSON. Memory of a process, in megabytes: {grown}.",
        ]
    from reports.making.disturbances import page as disturbed

    return "\n".join([*lines, *disturbed(found), ""])


if __name__ == "__main__":
    if sys.argv[1] == "burn":
        print(json.dumps(_burn(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))))
    else:
        measure(sys.argv[1:])
