"""From files, settings and keywords to one configuration; and the settings that rebuild it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgverify.configuration import Configuration, load_configuration, settings_of
from sgverify.errors import ConfigurationError, UnknownNameError, UserError
from tests.tables import each_row


@each_row(
    ("setting", "key", "value"),
    [
        ("temperature=2", "temperature", 2.0),
        ("steps=1e10", "steps", 10**10),
        ("steps=10_000", "steps", 10_000),
        ("seed=1e3", "seed", 1000),
        (" seed = 7 ", "seed", 7),
        ("test_function=theta**2 + p", "test_function", "theta**2 + p"),
        ('test_function="p"', "test_function", "p"),
        ("test_function=", "test_function", ""),
        ("test_function=theta[0]*p[1] == 1", "test_function", "theta[0]*p[1] == 1"),
        ("gradient.kind=iid", "gradient.kind", "iid"),
        ("gradient.kind= iid", "gradient.kind", "iid"),
        ("sweep.steps=[0.01,0.02]", "sweep.steps", [0.01, 0.02]),
        ("sweep.lengths=[1e2,1e12]", "sweep.lengths", [100, 10**12]),
        ("target.precision=[[2,1],[1,2]]", "target.precision", [[2.0, 1.0], [1.0, 2.0]]),
        ("target.precision=3", "target.precision", 3.0),
        ("target={name='gaussian', dim=2}", "target.dim", 2),
        ("device=cuda:0", "device", "cuda:0"),
    ],
)
def test_a_setting_is_read_as_toml_else_as_text(setting: str, key: str, value: Any) -> None:
    found: Any = load_configuration(settings=[setting])
    for step in key.split("."):
        found = getattr(found, step)
    assert found == value
    assert type(found) is type(value)


def test_the_last_one_wins(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("seed = 1\nfriction = 3.0\nchains = 8\n[gradient]\nkind = 'iid'\nbatch = 5\n")
    found = load_configuration(file, ["seed=2", "friction=4", "seed=3", "gradient.batch=6"], seed=4)
    assert (found.seed, found.friction, found.chains) == (4, 4.0, 8)
    assert (found.gradient.kind, found.gradient.batch) == ("iid", 6)


def test_keywords_may_be_tables_dotted_or_underscored() -> None:
    expected = load_configuration(settings=["gradient.kind=iid"])
    assert load_configuration(gradient={"kind": "iid"}) == expected
    assert load_configuration(gradient__kind="iid") == expected
    assert load_configuration(**{"gradient.kind": "iid"}) == expected
    # A table is merged into what is there, and a whole configuration may be the start.
    assert load_configuration(expected, gradient={"batch": 3}).gradient.kind == "iid"
    assert load_configuration({"gradient": {"kind": "iid"}}, ["gradient={batch=3}"]).gradient.batch == 3


def test_what_is_given_is_not_changed() -> None:
    mapping = {"gradient": {"kind": "iid"}}
    load_configuration(mapping, ["gradient.kind=full"], gradient__batch=3)
    assert mapping == {"gradient": {"kind": "iid"}}


def test_json_and_toml_files_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps({"steps": 100, "target": {"name": "gaussian", "precision": [1, 2]}})
    )
    (tmp_path / "a.toml").write_text("steps = 100\n[target]\nname = 'gaussian'\nprecision = [1, 2]\n")
    assert load_configuration(tmp_path / "a.json") == load_configuration(str(tmp_path / "a.toml"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.toml", None, "cannot be read .No such file"),
        ("bad.toml", b"seed = = 1", "not valid TOML"),
        ("bad.json", b"{'seed': 1}", "not valid JSON"),
        ("list.json", b"[1]", "holds a list; expected a table"),
        ("binary.toml", b"\xff\xfe\x00", "not a text file"),
        ("nan.json", b'{"friction": NaN}', "friction=nan: expected a finite number"),
        ("key.toml", b"frictoin = 1", "did you mean 'friction'"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        load_configuration(tmp_path / name)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_configuration(tmp_path)


@each_row(
    ("setting", "message"),
    [
        ("temprature=1", "unknown configuration key 'temprature'; did you mean 'temperature'"),
        ("gradient.knd=iid", "'gradient.knd'; did you mean 'gradient.kind'"),
        ("batch=3", "did you mean 'gradient.batch'"),
        ("kind=iid", "known: gradient.kind, schedule.kind"),
        ("target={nam='gaussian'}", "did you mean 'target.name'"),
        ("zzz=1", "the nearest of [0-9]+ known: target.size"),
        ("gradient.=1", "unknown configuration key 'gradient.'"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(setting: str, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        load_configuration(settings=[setting])


@each_row(
    ("setting", "message"),
    [
        *(
            (f"{key}=nan", f"{key}=nan: expected a finite number")
            for key in ("temperature", "friction", "start")
        ),
        *(
            (f"{key}=-inf", f"{key}=-inf: expected a finite number")
            for key in ("temperature", "schedule.step", "steps")
        ),
        *(
            (f"{key}=0", f"{key}=0: expected greater than 0")
            for key in ("temperature", "friction", "schedule.step")
        ),
        ("friction=-1", "friction=-1: expected greater than 0"),
        ("temperature=hot", "temperature='hot': expected a number"),
        ("temperature='1'", "temperature='1': expected a number"),
        ("temperature=true", "temperature=True: expected a number"),
        ("start=[1,nan]", r"start=\[1, nan\]: expected a finite number"),
        ("start=[1]", r"start=\[1\]: expected"),
        ("friction=[1]", r"friction=\[1\]: expected a valid number"),
        ("steps=0", "steps=0: expected greater than or equal to 1"),
        ("steps=1.5", "steps=1.5: expected a valid integer"),
        ("steps=1e13", "steps=.*: expected less than or equal to 1000000000000"),
        ("chains=1", "chains=1: expected greater than or equal to 2"),
        ("seed=-1", "seed=-1: expected greater than or equal to 0"),
        ("start_momentum=cold", "start_momentum='cold': expected 'zero' or 'stationary'"),
        ("dtype=float16", "dtype='float16': expected 'float64' or 'float32'"),
        ("device=", "device='': expected at least 1 character"),
        ("test_function=3", "test_function=3: expected a valid string"),
        ("target.precision=[1,nan]", r"target.precision=\[1, nan\]: expected a finite number"),
        ("target.precision=[[1,2],[3,inf]]", "target.precision=.*: expected a finite number"),
        ("target.precision=[true]", r"target.precision=\[True\]: expected a number"),
        ("target.mean=[1,'a']", r"target.mean=\[1, 'a'\]: expected a number"),
        ("target.data=3", "target.data=3: expected a valid list"),
        ("target.data=no", "target.data='no': expected a valid list; mend the configuration"),
        ("target.data=1.5 2.5", "target.data='1.5 2.5': expected a valid list; mend the configuration"),
        ("target.data=x.csv", "'x.csv': expected a valid list; target.file .* --set target.file=x.csv$"),
        ("target.data=a b/x.npy", "; target.file names a file, as in --set 'target.file=a b/x.npy'$"),
        ("target.data_seed=-1", "target.data_seed=-1: expected greater than or equal to 0"),
        ("gradient.kind=idd", "gradient.kind='idd': expected 'full', 'iid', .* or 'additive'"),
        ("gradient.batch=0", "gradient.batch=0: expected greater than or equal to 1"),
        ("gradient.covariance=nan", "gradient.covariance=nan: expected a finite number"),
        (
            "schedule.kind=x",
            "schedule.kind='x': expected 'fixed', 'horizon', 'power', 'cyclical' or 'annealed'",
        ),
        ("schedule.alpha=1", "schedule.alpha=1: expected less than 1"),
        ("sweep.steps=[]", r"sweep.steps=\[\]: expected at least 1 item"),
        ("sweep.steps=[0.1,0]", r"sweep.steps=\[0.1, 0\]: expected greater than 0"),
        ("sweep.lengths=[10.5]", r"sweep.lengths=\[10.5\]: expected a valid integer"),
        ("gradient=iid", "gradient='iid': expected a table with the keys kind, batch, covariance"),
        ("seed", "--set 'seed': expected key=value"),
        ("=3", "--set '=3': expected key=value"),
        ("schedule.step=1\nseed=2", "schedule.step='1.*seed=2': expected a number"),
    ],
)
def test_a_bad_value_is_refused_with_what_was_expected(setting: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_configuration(settings=[setting])


def test_a_value_and_a_table_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="'gradient' was already given as a value"):
        load_configuration(settings=["gradient=iid", "gradient.kind=iid"])


def configurations() -> st.SearchStrategy[Configuration]:
    positive = st.floats(1e-100, 1e100)
    finite = st.one_of(st.just(0.0), st.floats(1e-100, 1e100), st.floats(-1e100, -1e-100))
    rows = st.integers(1, 3).flatmap(
        lambda d: st.lists(st.lists(finite, min_size=d, max_size=d), min_size=1, max_size=3)
    )
    numbers = st.one_of(finite, st.lists(finite, min_size=1, max_size=3), rows)
    length = st.integers(1, 10**12)
    texts = st.one_of(
        st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), max_size=12),
        st.sampled_from(
            ["true", "1e5", "[1]", "'a'", '"a"', " p", "p # q", "1\nseed=2", "nan", "2020-01-01", "\ud7ff😀"]
        ),
    )
    tree = st.fixed_dictionaries(
        {},
        optional={
            "temperature": positive,
            "friction": positive,
            "steps": length,
            "seed": st.integers(0, 2**63 - 1),
            "start": finite,
            "start_momentum": st.sampled_from(["zero", "stationary"]),
            "device": texts.filter(bool),
            "test_function": texts,
            "target": st.fixed_dictionaries(
                {}, optional={"name": texts, "dim": st.integers(1, 9), "precision": numbers, "data": rows}
            ),
            "gradient": st.fixed_dictionaries(
                {}, optional={"kind": st.sampled_from(["full", "iid", "additive"]), "covariance": numbers}
            ),
            "schedule": st.fixed_dictionaries(
                {}, optional={"step": positive, "alpha": st.floats(0.01, 0.99)}
            ),
            "sweep": st.fixed_dictionaries(
                {}, optional={"lengths": st.lists(length, min_size=1, max_size=3)}
            ),
        },
    )
    return tree.map(load_configuration)


@pytest.mark.power  # 1.5 s
@given(configurations())
def test_settings_rebuild_the_configuration(configuration: Configuration) -> None:
    settings = settings_of(configuration)
    assert load_configuration(settings=settings) == configuration
    assert settings_of(load_configuration(settings=settings)) == settings
    assert load_configuration(configuration.as_dict()) == configuration


def test_only_what_was_given_is_a_setting() -> None:
    assert settings_of(load_configuration()) == []
    found = settings_of(load_configuration(gradient__kind="iid", friction=3))
    assert found == ["friction=3.0", "gradient.kind=iid"]
