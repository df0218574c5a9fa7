"""What is kept is found again, by whoever asks the same; what is damaged, forged or foreign is named and not used."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sgverify.campaigns.engines import LocalProcesses
from sgverify.campaigns.tasks import Task, answered, key_of_task
from sgverify.errors import UserError
from sgverify.keeping import identity
from sgverify.keeping.files import alone_in
from sgverify.keeping.identity import ContentKey, key_of
from sgverify.keeping.rows import StoredRow
from sgverify.keeping.store import BESIDE, PATIENCE, CannotKeepError, OptionalStore, Store


@pytest.fixture(autouse=True)
def _files_of_the_package_are_old(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """So that a test may run while somebody edits them."""
    monkeypatch.setattr(identity, "changed_since_start", lambda state: False)
    identity._KEPT.clear()
    yield
    identity._KEPT.clear()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def key(number: int) -> ContentKey:
    return key_of("example", {"number": number})


def test_what_is_kept_is_found_by_another_process_to_the_last_bit(place: Path) -> None:
    value = {"text": "theta\u00b2", "numbers": [0.1 + 0.2, 1e-320, -0.0, 2**70], "none": None}
    with Store(place) as store:
        assert store.find(key(1)) is None
        assert store.keep(key(1), value, 2.5)
        assert store.find(key(1)) == value
        assert store.find(key(2)) is None
    program = (
        "from sgverify.keeping.identity import key_of\nfrom sgverify.keeping.store import Store\n"
        f"print(Store({str(place)!r}).find(key_of('example', {{'number': 1}})))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{value}\n"
    (answer,) = Store(place).answers()
    told = (answer.kind, answer.question, answer.answer, answer.seconds)
    assert told == ("example", {"number": 1}, value, 2.5)
    assert answer.text == key(1).circumstances.text


def test_the_newest_answer_counts_and_none_is_ever_changed(place: Path) -> None:
    store = Store(place)
    for value in ("old", "new"):
        store.keep(key(1), value, 1.0)
    assert store.find(key(1)) == "new" and [row.answer for row in store.answers()] == ["new"]
    for statement in ("UPDATE answers SET seconds = 0", "DELETE FROM answers"):
        with (
            sqlite3.connect(place) as other,
            pytest.raises(sqlite3.IntegrityError, match="answers are added"),
        ):
            other.execute(statement)


def test_an_answer_is_found_under_its_own_circumstances_alone(place: Path) -> None:
    store = Store(place)
    store.keep(key(1), "here", 1.0)
    there = key(1).circumstances
    other = replace(there, text=there.text.replace("sgverify", "sgverify "), digest="0" * 64)
    assert store.find(replace(key(1), circumstances=other)) is None
    assert store.problems == []


def test_nothing_is_kept_that_no_hash_covers_or_that_changed_meanwhile(place: Path, tmp_path: Path) -> None:
    store = Store(place)
    refused = replace(key(1), refused="mine.py:3 opens a file")
    assert not store.keep(refused, 1, 1.0) and store.find(refused) is None
    data = tmp_path / "data.csv"
    data.write_text("1")
    asked = key_of("example", 1, files=[data])
    data.write_text("22")
    assert not store.keep(asked, 1, 1.0)
    assert store.problems == [
        "not kept: mine.py:3 opens a file",
        f"{data} was changed while answers were computed: they are not kept",
    ]


def test_an_answer_to_code_that_was_edited_while_it_was_computed_is_not_kept(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key that is made when the answer is kept would be that of the new text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(identity, "_FRESH", -1.0)
    Path("mine.py").write_text("X = 1")

    def edited() -> int:
        Path("mine.py").write_text("X = 22")
        return 1

    task = Task("example", 1, "example", edited, (), references=("mine.py:X",))
    store = Store(place)
    for fresh in (False, True):
        Path("mine.py").write_text("X = 1")
        assert dict(answered([task], LocalProcesses(1), store, fresh=fresh)) == {0: 1}
        assert list(store.answers()) == [] and "mine.py was changed during the run" in store.problems[0]
    right = replace(task, function=int)
    assert dict(answered([right], LocalProcesses(1), store)) == {0: 0}
    assert store.find(key_of_task(right)) == 0


def planted(place: Path, statement: str, *given: object) -> None:
    """Change a row as somebody with another program would."""
    with sqlite3.connect(place) as connection:
        connection.executescript("DROP TRIGGER answers_stay; DROP TRIGGER answers_remain;")
        connection.execute(statement, given)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE answers SET value = zeroblob(20) WHERE number = 1", "checksum"),
        ("UPDATE answers SET value = substr(value, 1, 10) WHERE number = 1", "checksum"),
        ("UPDATE answers SET value = 'text' WHERE number = 1", "form"),
        (
            "UPDATE answers SET value = (SELECT value FROM answers WHERE number = 2) WHERE number = 1",
            "checksum",
        ),
        ("UPDATE answers SET seconds = 0.5 WHERE number = 1", "checksum"),
        ("UPDATE answers SET written = '2020' WHERE number = 1", "checksum"),
        ("UPDATE answers SET checksum = '' WHERE number = 1", "checksum"),
        ("UPDATE circumstances SET text = '{}'", "circumstances"),
        ("DELETE FROM circumstances", "circumstances"),
    ],
)
def test_a_row_that_was_changed_is_named_and_computed_again(statement: str, said: str, place: Path) -> None:
    with Store(place) as store:
        store.keep_all([(key(1), "first", 1.0), (key(2), "second", 1.0)])
    planted(place, statement)
    store = Store(place)
    assert store.find(key(1)) is None
    (problem,) = store.problems
    assert "entry 1 (example) is not used" in problem and said in problem
    store.keep(key(1), "again", 1.0)
    assert store.find(key(1)) == "again" and store.find(key(2)) == "second"


def test_an_answer_to_another_question_under_this_key_is_not_used(place: Path) -> None:
    """Forged with a checksum that fits: the key's own text says for which question it was kept."""
    with Store(place) as store:
        store.keep(key(1), "first", 1.0)
        row = StoredRow.of(replace(key(2), kind="other"), "forged", 1.0)._replace(digest=key(1).digest)
        store._write([row._replace(checksum=row.seal)])
        assert store.find(key(1)) is None
        assert "under the key of another question" in store.problems[0]


def forged_log(place: Path) -> bytes:
    """A log that SQLite takes for a part of a store: the newest answer to the first question is another one."""
    other = place.with_name("other.sqlite")
    other.write_bytes(place.read_bytes())
    other.chmod(0o600)
    with Store(other) as store:
        store.keep(key(1), "forged", 1.0)
        return Path(f"{other}-wal").read_bytes()


def test_a_log_that_somebody_else_laid_beside_the_file_is_set_aside(place: Path) -> None:
    with Store(place) as store:
        store.keep(key(1), "true", 1.0)
    log = Path(f"{place}-wal")
    log.write_bytes(forged_log(place))
    log.chmod(0o600)
    copy = place.with_name("copy.sqlite")
    copy.write_bytes(place.read_bytes())
    copy.chmod(0o600)
    Path(f"{copy}-wal").write_bytes(log.read_bytes())
    Path(f"{copy}-wal").chmod(0o600)
    # As its owner's own it would be believed, whatever it says.
    assert Store(copy).find(key(1)) == "forged"
    if os.getuid():
        log.chmod(0o622)
    else:
        os.chown(log, 12345, 12345)
    os.symlink("/dev/zero", f"{place}-journal")
    os.mkfifo(f"{place}-shm")
    store = Store(place)
    assert store.find(key(1)) == "true"
    names = [f"store.sqlite{ending}.foreign-1" for ending in ("-wal", "-shm", "-journal")]
    assert len(store.problems) == 3 and all(
        f"it is not used, and now has the name {name}" in problem
        for name, problem in zip(names, store.problems, strict=True)
    )
    assert all(os.path.lexists(place.with_name(name)) for name in names)
    assert store.keep(key(2), 2, 1.0) and Store(place).find(key(1)) == "true"


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_nothing_is_kept_or_taken_where_others_can_write_beside_it(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sgverify.keeping.places._is_private", lambda group: False)
    place = tmp_path / "shared" / "store.sqlite"
    place.parent.mkdir()
    with Store(place) as store:
        store.keep(key(1), 1, 1.0)
    place.parent.chmod(mode)
    with pytest.raises(CannotKeepError, match=r"other users can write in .*shared.*chmod go-w"):
        Store(place)
    monkeypatch.setattr("sgverify.keeping.places._is_private", lambda group: True)
    if mode == 0o770:
        assert Store(place).find(key(1)) == 1


def test_a_pipe_is_no_store_and_nobody_waits_for_it(place: Path) -> None:
    os.mkfifo(place)
    with pytest.raises(UserError, match="a pipe, and no regular file"):
        Store(place)


def test_a_value_that_is_not_read_is_named_and_computed_again(place: Path) -> None:
    """Its checksum fits, and its form is none that the command writes."""
    with Store(place) as store:
        store.keep(key(1), {"evidence": 1}, 1.0)
        for wrong in (ValueError, KeyError, TypeError, AttributeError, UserError):

            def read(value: object, wrong: type[Exception] = wrong) -> object:
                raise wrong("no evidence")

            assert store.find(key(1), read) is None
        assert store.reused == [] and ["form that is not read" in each for each in store.problems] == [True]


def test_a_store_that_another_process_holds_keeps_nobody_waiting(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(place) as store:
        store.keep(key(1), 1, 1.0)
    said: list[str] = []
    with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        store = OptionalStore(place, said.append)
        assert store.find(key(1)) == 1
        for number in range(2, 6):
            assert store.keep(key(number), number, 1.0) is False
        assert time.monotonic() - began < 2 * PATIENCE
        assert len(said) == 1 and "another process has held it for 1.5 s" in said[0]
        other.execute("ROLLBACK")
    assert store.keep(key(6), 6, 1.0) and [store.find(key(number)) for number in (1, 2, 6)] == [1, None, 6]
    store.close()
    monkeypatch.setattr(Store, "patience", 0.1)
    with alone_in(place.parent), pytest.raises(CannotKeepError, match="another process has held it"):
        Store(place)


def test_a_damaged_file_is_set_aside_and_what_can_be_read_is_taken_over(place: Path) -> None:
    with Store(place) as store:
        store.keep_all([(key(number), VALUES[number], 1.0) for number in VALUES])
    size = place.stat().st_size
    with place.open("r+b") as file:
        # The structure of a page and its neighbours; what merely changes a text leaves an entry that is named.
        file.seek(size // 2 // 4096 * 4096)
        file.write(bytes([255]) * 12288)
    before = place.read_bytes()
    store = Store(place)
    found = [store.find(key(number)) for number in VALUES]
    good = [value for value in found if value is not None]
    assert 10 < len(good) < 40 and all(value == VALUES[n] for n, value in enumerate(found) if value)
    aside = place.with_name("store.sqlite.damaged-1")
    assert aside.read_bytes() == before
    assert any(aside.name in problem and "could be read" in problem for problem in store.problems)
    store.keep(key(40), 1, 1.0)
    assert Store(place).find(key(40)) == 1


VALUES = {
    number: {"text": f"{number}" * 3000, "seed": random.Random(number).randbytes(2000).hex()}
    for number in range(40)
}


@pytest.mark.by_default("0", "2", "3", "4")
@pytest.mark.parametrize("seed", range(12))
def test_random_damage_never_gives_a_wrong_value_and_is_mended_by_keeping(seed: int, place: Path) -> None:
    with Store(place) as store:
        store.keep_all([(key(number), VALUES[number], 1.0) for number in VALUES])
    chance, size = random.Random(seed), place.stat().st_size
    damage = chance.randbytes(chance.choice([1, 10, 100, 4096, 12288]))
    with place.open("r+b") as file:
        file.seek(chance.randrange(100, size - len(damage)))
        file.write(damage)
    store = Store(place)
    found = {number: store.find(key(number)) for number in VALUES}
    missing = [number for number, value in found.items() if value is None]
    assert all(found[number] in (None, VALUES[number]) for number in VALUES)
    for number in missing:
        store.keep(key(number), VALUES[number], 1.0)
    again = Store(place)
    assert all(again.find(key(number)) == VALUES[number] for number in missing)


def test_a_truncated_file_is_set_aside(place: Path) -> None:
    with Store(place) as store:
        store.keep_all([(key(number), os.urandom(3000).hex(), 1.0) for number in range(20)])
    os.truncate(place, place.stat().st_size // 2)
    store = Store(place)
    found = [store.find(key(number)) for number in range(20)]
    assert store.problems and None in found
    assert store.keep(key(0), 1, 1.0) and store.find(key(0)) == 1


@pytest.mark.parametrize("content", [b"{}", b"x" * 5000, b"SQLite format 3\0" + bytes(4080)])
def test_a_file_that_is_no_store_is_left_alone(
    content: bytes, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write_bytes(content)
    place.chmod(0o600)
    with pytest.raises(UserError, match="no store of sgverify"):
        Store(place)
    assert place.read_bytes() == content
    # In the cache folder it can only be what became of a store.
    if not content.startswith(b"SQLite"):
        monkeypatch.setenv("SGVERIFY_STORE", str(place))
        store = Store.open()
        assert store is not None and store.keep(key(1), 1, 1.0)
        assert place.with_name("store.sqlite.damaged-1").read_bytes() == content


def test_another_database_another_version_and_other_peoples_files_are_refused(place: Path) -> None:
    with sqlite3.connect(place) as other:
        other.execute("CREATE TABLE answers (x)")
    other.close()
    place.chmod(0o600)
    before = place.read_bytes()
    with pytest.raises(UserError, match="no store of sgverify"):
        Store(place)
    assert place.read_bytes() == before
    place.unlink()
    Store(place).close()
    with sqlite3.connect(place) as other:
        other.execute("PRAGMA user_version = 7")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    with pytest.raises(UserError, match="version 7; expected version 1"):
        Store(place)
    place.chmod(0o622)
    with pytest.raises(UserError, match=r"other users can write it.*chmod go-w"):
        Store(place)


@pytest.mark.parametrize("name", ["missing/store.sqlite", ".", "file/store.sqlite"])
def test_a_place_that_cannot_be_a_file_is_one_message(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write in|expected a file in a folder"):
        Store(tmp_path / name)


def test_where_the_store_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Store.open("off") is None and Store.open() is None
    monkeypatch.delenv("SGVERIFY_STORE")
    monkeypatch.setenv("SGVERIFY_CACHE", "off")
    assert Store.open() is None
    monkeypatch.setenv("SGVERIFY_CACHE", str(tmp_path / "cache"))
    store = Store.open()
    assert store is not None and store.path == tmp_path / "cache" / "store.sqlite"
    monkeypatch.setenv("SGVERIFY_STORE", str(tmp_path / "other.sqlite"))
    store = Store.open()
    assert store is not None and store.path == tmp_path / "other.sqlite"
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_is_one_message_and_loses_nothing(place: Path) -> None:
    store = Store(place)
    store.keep(key(1), 1, 1.0)
    store._open().execute(f"PRAGMA max_page_count = {place.stat().st_size // 4096 + 8}")
    with pytest.raises(CannotKeepError, match="the disk is full; make room") as told:
        for number in range(2, 100):
            store.keep(key(number), os.urandom(4000).hex(), 1.0)
    assert "\n" not in str(told.value)
    assert store.find(key(1)) == 1 and Store(place).find(key(1)) == 1


@pytest.mark.power
def test_a_limit_of_the_system_is_one_message(place: Path) -> None:
    """Nothing more can be written, as on a full disk; the system says so in another way."""
    program = f"""
import os, resource, signal
from sgverify.keeping.identity import *
from sgverify.keeping.store import *
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = Store({str(place)!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
try:
    for number in range(200):
        store.keep(key_of("example", dict(number=number)), os.urandom(4000).hex(), 1.0)
except CannotKeepError as error:
    print(number, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    count, _, said = done.stdout.partition(" ")
    assert "an answer cannot be kept" in said and done.stderr == ""
    store = Store(place)
    assert int(count) > 5 and None not in [store.find(key(number)) for number in range(int(count))]


WRITER = """
import sys
from sgverify.keeping.identity import *
from sgverify.keeping.store import *
store = Store(sys.argv[1])
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    assert store.keep(key_of("example", dict(number=number)), dict(number=number, much="x" * 20000), 1.0), store.problems
    print(number, flush=True)
"""


def writer(place: Path, first: int, last: int) -> subprocess.Popen[str]:
    given = [sys.executable, "-c", WRITER, str(place), str(first), str(last)]
    return subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.power
def test_two_processes_on_one_store_that_is_new_to_both(place: Path) -> None:
    both = [writer(place, 0, 15), writer(place, 15, 30)]
    for process in both:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    store = Store(place)
    assert [store.find(key(number))["number"] for number in range(30)] == list(range(30))
    assert (
        sorted(path.name for path in place.parent.iterdir() if "part" in path.name or "damaged" in path.name)
        == []
    )


def killed(place: Path, first: int, after: float) -> list[int]:
    """The numbers that a process says it has kept, before it is killed."""
    process = writer(place, first, 10**6)
    assert process.stdout is not None
    told = [int(process.stdout.readline())]
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    told += [int(line) for line in process.stdout.read().splitlines()]
    process.wait()
    process.stdout.close()
    if process.stderr is not None:
        process.stderr.close()
    return told


@pytest.mark.power
def test_a_killed_process_loses_nothing_that_it_had_kept(place: Path) -> None:
    told = killed(place, 0, 0.05)
    store = Store(place)
    assert None not in [store.find(key(number)) for number in told] and store.problems == []


def test_a_file_that_goes_away_is_made_anew(place: Path) -> None:
    store = Store(place)
    store.keep(key(1), 1, 1.0)
    for ending in BESIDE:
        Path(f"{place}{ending}").unlink(missing_ok=True)
    assert store.keep(key(2), 2, 1.0) and store.find(key(2)) == 2 and store.find(key(1)) is None
    assert Store(place).find(key(2)) == 2


def test_a_forked_process_leaves_the_store_of_its_parent_alone(place: Path) -> None:
    store = Store(place)
    store.keep(key(1), 1, 1.0)
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if store.find(key(1)) == 1 and store.keep(key(2), 2, 1.0) else 2
            store.close()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert store.find(key(2)) == 2


def test_a_name_that_no_file_can_have_is_one_message() -> None:
    with pytest.raises(UserError, match=r"store 'a\\x00b': no file can have this name"):
        Store(Path("a\x00b"))
