"""Campaigns on a Dask cluster: the answers of this machine, whatever becomes of workers and scheduler, and no other code."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sgverify.campaigns.cluster import DaskCluster, SchedulerGoneError, SentCode, Worker, connected
from sgverify.campaigns.engines import Costs, Job, Lost, Spent
from sgverify.campaigns.tasks import Task, answered, key_of_task
from sgverify.cli import main
from sgverify.errors import UserError
from sgverify.evidence import canonical
from sgverify.keeping.identity import Circumstances
from sgverify.keeping.store import Store
from tests.campaigns.test_campaign import CAMPAIGN_FILE, MINE

ADDRESS = "tcp://cluster:8786"


def told(**changes: Any) -> str:
    """What a worker with other circumstances says of itself."""
    value = json.loads(Circumstances.here().text)
    for key, given in changes.items():
        value[key] = {**value[key], **given}
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def test_a_worker_of_another_source_is_refused_by_name() -> None:
    cluster = DaskCluster(None, ADDRESS, SentCode())
    other = Worker("tcp://a:1", told(sgverify={"source": "0" * 64}))
    with pytest.raises(UserError, match=r"tcp://a:1 runs another sgverify \(.*source 0{12}, here"):
        cluster.meet([Worker("tcp://b:1", Circumstances.here().text), other])
    with pytest.raises(UserError, match="tcp://c:1 cannot run sgverify"):
        cluster.meet([Worker("tcp://c:1", problem="ModuleNotFoundError: sgverify")])


def test_a_worker_on_another_platform_is_named_and_has_its_own_circumstances() -> None:
    cluster = DaskCluster(None, ADDRESS, SentCode())
    there = told(platform={"system": "linux arm64"}, libraries={"numpy": "1.26.0"})
    cluster.meet(
        [Worker("tcp://a:1", Circumstances.here().text), *(Worker(f"tcp://{n}:1", there) for n in "bc")]
    )
    (note,) = cluster.notes
    assert note.startswith("2 of 3 workers, such as tcp://b:1, differ from this process")
    assert "numpy 1.26.0, here" in note and "system linux arm64, here" in note
    assert cluster.places[0] is None
    place = cluster.places[1]
    assert place is not None and place.digest != Circumstances.here().digest


def test_a_store_keeps_what_another_place_answered_under_that_place(tmp_path: Path) -> None:
    place = Circumstances.told(told(platform={"system": "linux arm64"}), Circumstances.here())
    task = Task("factorial", {"n": 5}, "5!", math.factorial, (5,))
    with Store(tmp_path / "store.sqlite") as store:
        assert store.keep_all([(key_of_task(task, place), 120, 0.1)]) == 1
        assert store.find(key_of_task(task)) is None and store.find(key_of_task(task, place)) == 120


def test_what_is_sent_is_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "parts").mkdir(parents=True)
    there.mkdir()
    (here / "mine.py").write_text("import helping_part\nvalue = helping_part.value\n")
    (here / "helping_part.py").write_text("value = 1\n")
    (there / "data.csv").write_text("1.0\n")
    monkeypatch.chdir(here)
    first = SentCode.of(["mine.py:value", "sgld-euler"], [str(there / "data.csv")])
    assert [name for name, _ in first.texts] == ["helping_part.py", "mine.py"]
    (here / "helping_part.py").write_text("value = 2\n")
    second = SentCode.of(["mine.py:value"])
    assert first.digest != second.digest
    monkeypatch.chdir(there)
    for sent, value in ((first, 1), (second, 2), (first, 1)):
        with sent.in_place():
            # A module of another campaign with the same name is not taken for this one's.
            assert __import__("helping_part").value == value
            assert Path("mine.py").read_text() == "import helping_part\nvalue = helping_part.value\n"
    (there / "data.csv").write_text("2.0\n")
    with pytest.raises(UserError, match=r"data\.csv: sha256 .* where the campaign began"), first.in_place():
        pass


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    pytest.importorskip("distributed")
    from reports.making.campaigns import local_cluster

    with local_cluster() as address:
        yield address


pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.campaign
def test_a_cluster_gives_the_evidence_of_this_machine(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "campaign.toml").write_text(CAMPAIGN_FILE)
    asked = ["campaign", "campaign.toml", "--run-code", "--store", "kept.sqlite"]
    assert main([*asked, "--scheduler", cluster, "--out", "there"]) == 0
    assert main([*asked, "--store", "off", "--workers", "1", "--out", "here"]) == 0
    found = [
        canonical(json.loads((tmp_path / place / "report.json").read_text())) for place in ("there", "here")
    ]
    assert found[0] == found[1] and len(found[0]["evidence"]) == 2
    capsys.readouterr()
    assert main([*asked, "--scheduler", cluster, "--out", "again"]) == 0
    assert "4 are in the store; 0 to compute" in capsys.readouterr().err


@pytest.mark.campaign
def test_a_worker_that_dies_takes_no_other_job_along(cluster: str) -> None:
    jobs: dict[int, Job] = {number: (math.factorial, (number,)) for number in range(30)}
    jobs[7] = (signal.raise_signal, (signal.SIGKILL,))
    costs = Costs(["a"] * 30, {"a": Spent(1, 0.01)})
    with connected(cluster, SentCode()) as engine:
        found = {number: item.result for some in engine.run(jobs, costs) for number, item in some}
    lost = found.pop(7)
    assert isinstance(lost, Lost) and "twice" in lost.reason
    assert found == {number: math.factorial(number) for number in range(30) if number != 7}


SCHEDULER = """
import asyncio
from distributed import Scheduler
async def serve():
    async with Scheduler(port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()
asyncio.run(serve())
"""


def slept(seconds: float, number: int) -> int:
    time.sleep(seconds)
    return number


@pytest.mark.campaign
def test_a_scheduler_that_vanishes_is_told_and_what_was_finished_is_kept(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    scheduler = subprocess.Popen([sys.executable, "-c", SCHEDULER], stdout=subprocess.PIPE, text=True)
    assert scheduler.stdout is not None
    address = scheduler.stdout.readline().strip()
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        address,
        "--nthreads",
        "1",
        "--no-dashboard",
    ]
    worker = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    tasks = [Task("sleep", n, str(n), slept, (0.05, n), sort="sleep") for n in range(200)]
    seen = 0
    try:
        with (
            Store(tmp_path / "store.sqlite") as store,
            pytest.raises(SchedulerGoneError, match="does not answer any more"),
            connected(address, SentCode()) as engine,
        ):
            for _ in answered(tasks, engine, store):
                seen += 1
                if seen == 20:
                    scheduler.kill()
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
        scheduler.stdout.close()
    assert 20 <= seen < 200
    with Store(tmp_path / "store.sqlite") as store:
        assert sum(1 for _ in store.answers()) == seen


@pytest.mark.campaign
def test_no_scheduler_and_no_worker_are_one_message() -> None:
    pytest.importorskip("distributed")
    with (
        pytest.raises(UserError, match="no scheduler answers"),
        connected("tcp://127.0.0.1:9", SentCode()),
    ):
        pass
    with pytest.raises(UserError, match="no scheduler answers"), connected("nonsense://x", SentCode()):
        pass


def test_without_the_extra_one_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match=r"sgverify\[cluster\]"), connected(ADDRESS, SentCode()):
        pass
