"""Draws that are kept while they are drawn: readable at every moment, and resumed to the bytes of an undisturbed run."""

from __future__ import annotations

import errno
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
import zarr.storage._local

import sgverify
from sgverify.cli import main
from sgverify.configuration import load_configuration
from sgverify.draws import Sampling, write_draws
from sgverify.draws import step_choice as memory
from sgverify.draws.files import alone_with
from sgverify.draws.stored import folder, ledger, shards
from sgverify.draws.stored.folder import DrawsFolder
from sgverify.draws.stored.run import KeptRun
from sgverify.errors import ConfigurationError, UserError
from sgverify.keeping.stopping import stoppable
from sgverify.samplers.fused import driver
from sgverify.samplers.run.halting import Halt
from sgverify.samplers.run.recording import Draws

FEW: dict[str, Any] = {"chains": 3, "steps": 210, "thinning": 2, "burn_in": 10, "schedule": {"step": 1e-3}}


def divide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of some 20 draws, in files of one chain, and a halt after every few steps."""
    monkeypatch.setattr(folder, "PART", 2000)
    monkeypatch.setattr(shards, "SHORTEST", 0.0)
    monkeypatch.setattr(shards, "SHARE", 1e9)
    monkeypatch.setattr(driver, "_LONGEST", 16)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in many parts."""
    divide(monkeypatch)


def files(place: Path) -> dict[str, bytes]:
    """Every file of a folder of draws, but for what lies there to go on from."""
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and ".resume" not in path.parts
    }


def read(place: Path) -> dict[str, xarray.Dataset]:
    groups = ("posterior", "sample_stats")
    return {group: xarray.open_dataset(place, engine="zarr", group=group).load() for group in groups}


def assert_first_draws(found: Any, whole: Any) -> int:
    """These are the first draws of the whole run; returns their number."""
    count = found["posterior"].sizes["draw"]
    # Before the first draw, a folder has no array for the statistics that steps report.
    for group in ("posterior", "sample_stats") if count else ("posterior",):
        expected = whole[group].isel(draw=slice(count)).drop_attrs()
        xarray.testing.assert_identical(found[group].load().drop_attrs().drop_encoding(), expected)
    return int(count)


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_after(monkeypatch: pytest.MonkeyPatch, writes: int) -> Iterator[None]:
    """A context whose process ends, as by SIGKILL, in the middle of its next write after so many."""
    left = [writes]

    def until(honest: Callable[..., Any], half: Callable[..., Any]) -> Callable[..., Any]:
        def write(*given: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                half(*given)
                raise Killed
            return honest(*given, **named)

        return write

    def chunk(path: Path, value: Any, *more: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".0123.partial").write_bytes(value.to_bytes()[:9])

    def text(path: Path, text: str) -> None:
        path.with_name(f".{path.name}.1.part").write_text(text[:9])

    def halt(self: Halt, path: Path) -> None:
        path.with_name(f".{path.name}.1.part").write_bytes(b"PK")

    with monkeypatch.context() as patched:
        patched.setattr(zarr.storage._local, "_put", until(zarr.storage._local._put, chunk))
        for module in (folder, ledger):
            patched.setattr(module, "put", until(folder.put, text))
        patched.setattr(Halt, "save", until(Halt.save, halt))
        with suppress(Killed):
            yield


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "splitting": ("sghmc-aboba", {}),
    "decreasing": ("sgld-euler", {"schedule": {"kind": "power", "scale": 1e-3, "alpha": 0.4}}),
    "swaps": ("resgld", {"gradient": {"kind": "iid"}}),
    "snapshots": (
        "sgld-euler",
        {"gradient": {"kind": "svrg", "batch": 5}, "target": {"name": "logistic-regression", "size": 20}},
    ),
}


def by_default(*names: str) -> list[Any]:
    return [name if name in names else pytest.param(name, marks=pytest.mark.power) for name in CASES]


@pytest.mark.parametrize("case", by_default("splitting"))
@pytest.mark.parametrize(
    "writes",
    [(250, 60), pytest.param(tuple(range(110, 330, 17)), marks=pytest.mark.power)],
    ids=["few", "many"],
)
def test_a_run_that_is_killed_goes_on_to_the_same_bytes(
    case: str, writes: tuple[int, ...], often: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file is written in one move, so that a process that is killed stops in the middle of one of them."""
    scheme, settings = CASES[case]
    how = {**FEW, **settings}
    whole = sgverify.sample(scheme, **how)
    undisturbed, place = tmp_path / "whole.zarr", tmp_path / "draws.zarr"
    sgverify.sample(scheme, **how, out=undisturbed)
    counts = []
    for most in writes:
        with killed_after(monkeypatch, most):
            sgverify.sample(scheme, **how, out=place, resume=True)
        if place.exists():
            found = read(place)
            counts.append(assert_first_draws(found, whole))
            assert found["posterior"].attrs["complete"] == (counts[-1] == 100)
    assert counts == sorted(counts)
    assert any(0 < count < 100 for count in counts)
    found = sgverify.sample(scheme, **how, out=place, resume=True)
    assert files(place) == files(undisturbed)
    assert found.attrs == whole.attrs


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a run that was killed on its way."""
    place = tmp_path_factory.mktemp("killed") / "draws.zarr"
    with pytest.MonkeyPatch.context() as patch, killed_after(patch, 300):
        divide(patch)
        sgverify.sample("sghmc-aboba", **FEW, out=place)
    assert 20 < read(place)["posterior"].sizes["draw"] < 100
    return place


@pytest.fixture
def stopped(killed: Path, often: None, tmp_path: Path) -> Path:
    """A copy of it, which a test may damage."""
    return Path(shutil.copytree(killed, tmp_path / killed.name))


def lines(place: Path, **how: Any) -> tuple[Any, list[str]]:
    """The draws of a resumed run, and what was said."""
    said: list[str] = []
    keys = {**FEW, **how}
    sampling = Sampling.of("sghmc-aboba", load_configuration(None, **keys), streamed=True)
    return sampling.draw(out=place, resume=True, say=said.append), said


def latest(place: Path) -> Path:
    return max((place / ".resume" / "halts-0").iterdir())


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


@pytest.mark.parametrize(
    "damage",
    ["chunk", *(pytest.param(name, marks=pytest.mark.power) for name in ("halt", "every halt", "checksums"))],
)
def test_what_is_damaged_is_named_and_drawn_again(damage: str, stopped: Path, tmp_path: Path) -> None:
    sgverify.sample("sghmc-aboba", **FEW, out=tmp_path / "whole.zarr")
    before = Halt.load(latest(stopped))[0].step
    if damage == "halt":
        cut(latest(stopped))
        names = [latest(stopped).name]
    elif damage == "chunk":
        cut(stopped / "posterior" / "theta" / "1.1.0")
        names = ["posterior/theta/1.1.0"]
    elif damage == "every halt":
        for path in latest(stopped).parent.iterdir():
            path.write_bytes(b"")
        names = [latest(stopped).name, "go on at the first step"]
    else:
        path = stopped / ".resume" / "chunks-000000000.jsonl"
        path.write_bytes(path.read_bytes()[:300])
        names = ["posterior/draw/0", "go on at the first step"]
    _, said = lines(stopped)
    assert len(said) == 1
    assert all(name in said[0] for name in names)
    assert f"after step {before}" not in said[0]
    assert files(stopped) == files(tmp_path / "whole.zarr")


DESCRIBED: dict[str, tuple[str, Callable[[Path], object]]] = {
    "attributes of an array": ("posterior/theta/.zattrs", lambda path: path.write_text("{}")),
    "shape of an array": ("sample_stats/diverging/.zarray", lambda path: path.write_bytes(b"\xff")),
    "codec": (
        "posterior/theta/.zarray",
        lambda path: path.write_text(path.read_text().replace("lz4", "zlib")),
    ),
    "numbers of chains": ("posterior/chain/0", lambda path: path.write_bytes(b"")),
    "a group": ("posterior/.zgroup", Path.unlink),
}


@pytest.mark.parametrize(
    "damage",
    [
        name if name == "numbers of chains" else pytest.param(name, marks=pytest.mark.power)
        for name in DESCRIBED
    ],
)
def test_what_describes_the_draws_is_written_anew_where_it_is_damaged(
    damage: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name, act = DESCRIBED[damage]
    place, whole = tmp_path / "draws.zarr", tmp_path / "whole.zarr"
    for folder_of in (place, whole):
        sgverify.sample("sghmc-aboba", **{**FEW, "steps": 120}, out=folder_of)
    act(place / name)
    _, said = lines(place, steps=120)
    assert name in said[0] and "written anew" in said[0]
    assert files(place) == files(whole)


@pytest.mark.power  # 0.6 s
def test_a_complete_run_is_not_trusted_without_a_look(often: None, tmp_path: Path) -> None:
    place = tmp_path / "draws.zarr"
    sgverify.sample("sghmc-aboba", **FEW, out=place)
    before = files(place)
    chunks = sorted(
        (place / "posterior" / "theta").glob("0.*.0"), key=lambda path: int(path.name.split(".")[1])
    )
    # A part that was written wholly is named; the last one is written anew from the latest halt.
    content = bytearray(chunks[0].read_bytes())
    content[-1] ^= 1
    chunks[0].write_bytes(bytes(content))
    chunks[-1].unlink()
    chunks[-1].mkdir()
    _, said = lines(place)
    assert f"theta/{chunks[0].name}" in said[0]
    assert files(place) == before


def test_attributes_that_cannot_be_read_are_one_message(stopped: Path) -> None:
    for text in ("", "[]", '{"metadata": {".zattrs": {}}}', "[" * 10_000):
        (stopped / ".zmetadata").write_text(text)
        with pytest.raises(ConfigurationError, match=r"\.zmetadata cannot be read.*--force"):
            lines(stopped)


@pytest.mark.power  # 0.6 s
def test_a_damaged_netcdf_file_is_one_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "draws.nc"
    sgverify.sample("sghmc-aboba", **{**FEW, "steps": 60}, out=place)
    whole = place.read_bytes()
    # HDF5 has checksums of what describes the arrays; zeros in its heaps, which have none, may keep it busy without an end.
    for content in (
        b"",
        b"[]",
        whole[: len(whole) // 2],
        bytes(200) + whole[200:],
        whole.replace(b"OHDR", b"OHDS"),
    ):
        place.write_bytes(content)
        with pytest.raises(ConfigurationError, match=r"--resume .* cannot be read.*--force"):
            lines(place, steps=60)
    assert "Traceback" not in capfd.readouterr().err


def test_another_run_is_refused_by_name(stopped: Path) -> None:
    before = files(stopped)
    for how, named in {
        "seed was 0 and is 1": {"seed": 1},
        "thinning was 2 and is 3": {"thinning": 3},
        "schedule was 'step=0.001' and is 'step=0.002'": {"schedule": {"step": 0.002}},
        "potential": {"target": {"data_seed": 3}},
    }.items():
        expected = how if how != "potential" else "gradients or data was"
        with pytest.raises(ConfigurationError, match=expected):
            lines(stopped, **named)
    with pytest.raises(ConfigurationError, match="steps=100: the run was begun with steps=210"):
        lines(stopped, steps=100)
    with pytest.raises(ConfigurationError, match="--force starts anew and --resume goes on"):
        KeptRun(None, stopped, force=True, resume=True)  # type: ignore[arg-type]
    (stopped / ".resume" / "run.json").unlink()
    with pytest.raises(ConfigurationError, match="no run to go on with"):
        lines(stopped)
    assert files(stopped) == before


def test_an_edited_definition_is_refused(often: None, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    text = (
        "from sgverify import scheme, sqrt\nfrom sgverify.schemes import langevin\n\n@scheme(langevin)\n"
        "def euler(theta, *, h, grad, noise, T):\n    return theta - h*grad(theta) + sqrt(2*T*h)*noise()\n"
    )
    mine.write_text(text)
    how = {**FEW, "out": tmp_path / "draws.zarr"}
    sgverify.sample(f"{mine}:euler", **how)
    mine.write_text(text.replace("return", "return 0*theta +"))
    with pytest.raises(ConfigurationError, match="the definition's source was"):
        sgverify.sample(f"{mine}:euler", **{**how, "steps": 300}, resume=True)


@pytest.mark.power
def test_a_complete_run_says_so_and_is_made_longer(often: None, tmp_path: Path) -> None:
    place = tmp_path / "draws.zarr"
    sgverify.sample("sghmc-aboba", **{**FEW, "steps": 120}, out=place)
    found, said = lines(place, steps=120)
    assert said == [f"{place} is complete: 120 steps, none is left"]
    assert found.posterior.sizes["draw"] == 55
    found, said = lines(place)
    assert said == []
    sgverify.sample("sghmc-aboba", **FEW, out=tmp_path / "whole.zarr")
    assert files(place) == files(tmp_path / "whole.zarr")
    cyclical = {"steps": 120, "schedule": {"kind": "cyclical", "scale": 1e-3}}
    sgverify.sample("sghmc-aboba", **{**FEW, **cyclical}, out=tmp_path / "cycles.zarr")
    with pytest.raises(ConfigurationError, match="schedule was 'scale=0.001, low=0.0, period=30"):
        lines(tmp_path / "cycles.zarr", **{**cyclical, "steps": 210})


@pytest.mark.power  # 1.0 s
def test_a_netcdf_file_is_written_from_a_folder_beside_it(
    often: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sgverify.sample("sghmc-aboba", **FEW)
    place, beside = tmp_path / "draws.nc", tmp_path / "draws.nc.partial.zarr"
    with killed_after(monkeypatch, 300):
        sgverify.sample("sghmc-aboba", **FEW, out=place)
    assert [path.name for path in tmp_path.iterdir()] == [beside.name]
    assert 20 < assert_first_draws(read(beside), whole) < 100
    with pytest.raises(ConfigurationError, match="has left its draws in draws.nc.partial.zarr.*--resume"):
        sgverify.sample("sghmc-aboba", **FEW, out=place)
    found = sgverify.sample("sghmc-aboba", **FEW, out=place, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
    assert_first_draws(found, whole)
    with xarray.open_dataset(place, group="posterior", engine="h5netcdf") as posterior:
        np.testing.assert_array_equal(posterior.theta, whole.posterior.theta)
        assert posterior.attrs["complete"] == 1
    _, said = lines(place)
    assert said == [f"{place}: is complete, no step is left"]
    with pytest.raises(ConfigurationError, match="its configuration is another one.*holds no state"):
        lines(place, steps=300)


def full(*given: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", [pytest.param("draws.zarr", marks=pytest.mark.power), "draws.nc"])
def test_a_full_disk_is_one_message_and_loses_nothing(
    name: str, often: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / name
    whole = sgverify.sample("sghmc-aboba", **FEW)
    honest, left = DrawsFolder.write, [5]

    def write(*given: Any) -> None:
        left[0] -= 1
        (honest if left[0] >= 0 else full)(*given)

    with monkeypatch.context() as patched:
        patched.setattr(DrawsFolder, "write", write)
        with pytest.raises(
            UserError, match=r"No space left on device\); the draws up to step \d+ are kept in .*--resume"
        ) as told:
            sgverify.sample("sghmc-aboba", **FEW, out=place)
    assert "\n" not in str(told.value)
    found = sgverify.sample("sghmc-aboba", **FEW, out=place, resume=True)
    assert assert_first_draws(found, whole) == 100


@pytest.mark.power
def test_a_disk_that_is_full_while_netcdf_is_written_ends_no_process(
    often: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HDF5 may end the process where it cannot write: it is never told."""
    place, limits = tmp_path / "draws.nc", resource.getrlimit(resource.RLIMIT_FSIZE)
    whole = sgverify.sample("sghmc-aboba", **FEW, out=tmp_path / "whole.nc")
    # Files of this process have at most so many bytes, as where a disk is full after them.
    for most in (0, 1000, (tmp_path / "whole.nc").stat().st_size - 1):
        with pytest.raises(ConfigurationError, match="File too large"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
            try:
                write_draws(whole, place)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert [path.name for path in tmp_path.iterdir()] == ["whole.nc"]

    with monkeypatch.context() as patched:
        patched.setattr("sgverify.draws.files.write_netcdf", full)
        with pytest.raises(UserError, match="No space left on device.*are kept in .*draws.nc.partial.zarr"):
            sgverify.sample("sghmc-aboba", **FEW, out=place)
    assert read(tmp_path / "draws.nc.partial.zarr")["posterior"].sizes["draw"] == 100
    found = sgverify.sample("sghmc-aboba", **FEW, out=place, resume=True)
    assert_first_draws(found, whole)
    assert not (tmp_path / "draws.nc.partial.zarr").exists()
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (5000, 5000))
    with pytest.raises(ConfigurationError, match=r"limited \(ulimit -f\)"):
        sgverify.sample("sghmc-aboba", **FEW, out=tmp_path / "other.nc")


def test_too_little_room_is_said_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda place: type("Usage", (), {"free": 9000}))
    with pytest.raises(
        ConfigurationError,
        match="and, at their end, the netCDF file take 17.6 kB; expected no more than the 9 kB",
    ):
        sgverify.sample("sghmc-aboba", **FEW, out=tmp_path / "draws.nc")
    assert sgverify.sample("sghmc-aboba", **FEW, out=tmp_path / "draws.zarr").attrs["complete"]


@pytest.mark.parametrize("name", ["draws.zarr", pytest.param("draws.nc", marks=pytest.mark.power)])
def test_a_signal_stops_the_run_and_it_goes_on(
    name: str,
    often: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole, honest, place = sgverify.sample("sghmc-aboba", **FEW), DrawsFolder.write, tmp_path / name

    def pressed(self: DrawsFolder, draws: Draws, first: int, chains: range) -> None:
        # In the middle of writing.
        if first > 20:
            signal.raise_signal(signal.SIGTERM)
        honest(self, draws, first, chains)

    words = ["sample", "sghmc-aboba", "--out", str(place)]
    for key in ("chains=3", "steps=210", "thinning=2", "burn_in=10", "schedule.step=1e-3"):
        words += ["--set", key]
    with monkeypatch.context() as patched:
        patched.setattr(DrawsFolder, "write", pressed)
        assert main(words) == 128 + signal.SIGTERM
    said = capsys.readouterr().err
    assert "go on with the same command and --resume" in said
    assert place.exists()
    # 200 steps are not to be trusted where the start is forgotten in 1,001.
    assert main([*words, "--resume"]) == 3
    with xarray.open_dataset(
        place, group="posterior", engine=None if name.endswith("nc") else "zarr"
    ) as found:
        np.testing.assert_array_equal(found.theta, whole.posterior.theta)
    assert main([*words, "--resume"]) == 3
    assert "complete" in capsys.readouterr().err


def test_ctrl_c_twice_ends_at_once(own_ctrl_c: None) -> None:
    with stoppable(signal.SIGINT) as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_two_runs_do_not_draw_into_one_folder(stopped: Path) -> None:
    with (
        alone_with(stopped),
        pytest.raises(ConfigurationError, match="another process is drawing into it"),
    ):
        lines(stopped)


def test_few_draws_are_written_as_a_whole(tmp_path: Path) -> None:
    for name in ("draws.zarr", "draws.nc"):
        found = sgverify.sample("sgld-euler", chains=2, steps=20, out=tmp_path / name)
        assert found.posterior.theta.shape == (2, 20, 1)
        with pytest.raises(ConfigurationError, match="is there already"):
            sgverify.sample("sgld-euler", chains=2, steps=20, out=tmp_path / name)
    assert assert_first_draws(read(tmp_path / "draws.zarr"), found) == 20


@pytest.mark.power
@pytest.mark.parametrize("name", ["draws.zarr", "draws.nc"])
def test_a_divergence_is_said_of_the_last_draw(name: str, often: None, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "target": {"name": "quartic"},
        "schedule": {"step": 0.3},
        "chains": 4,
        "start": 0.0,
        "steps": 20_000,
    }
    whole = sgverify.sample("sgld-euler", **settings)
    found = sgverify.sample("sgld-euler", out=tmp_path / name, **settings)
    assert assert_first_draws(found, whole) == whole.posterior.sizes["draw"]
    assert found.sample_stats.diverging.values[:, -1].any()
    assert found.attrs == whole.attrs
    found = sgverify.sample("sgld-euler", out=tmp_path / name, resume=True, **settings)
    assert found.attrs == whole.attrs


def test_the_command_line_writes_more_than_fits(
    often: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    words = ["sample", "sgld-euler", "--set", "chains=3", "--set", "steps=200", "--set", "burn_in=0"]
    assert main(words) == 2
    assert "by out DIR.zarr" in capsys.readouterr().err
    place = tmp_path / "draws.zarr"
    # From 2 sd, without a burn-in, the chains disagree.
    assert main([*words, "--out", str(place)]) == 3
    assert "200 draws of each of 3 chains; more than fit into memory" in capsys.readouterr().out
    assert read(place)["posterior"].sizes["draw"] == 200
