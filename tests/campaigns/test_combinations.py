"""Campaign files: what they mean, what is drawn, and what is wrong with them, by name."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sgverify.campaigns.combinations import CampaignQuestion, combinations_of
from sgverify.campaigns.file import read_campaign
from sgverify.configuration import load_configuration
from sgverify.errors import UserError
from sgverify.named_code import run_code
from sgverify.schemes.loading import load_step

GRID = """
schemes = ["sghmc-aboba", "mine.py:heun"]
targets = ["gaussian", { name = "gaussian-mean", size = 20 }]
gradients = ["full", { kind = "iid", batch = 5 }]
claims = ["chen2015/theorem-4"]
checks = ["local-order"]
[grid]
temperature = [0.5, 2.0]
"schedule.step" = [0.1]
[settings]
friction = 2.5
target.dim = 2
"""


def asked(tmp_path: Path, text: str) -> list[CampaignQuestion]:
    file = tmp_path / "campaign.toml"
    file.write_text(text)
    return combinations_of(read_campaign(file))


def test_every_combination_is_asked_once(tmp_path: Path) -> None:
    with run_code():
        found = asked(tmp_path, GRID)
        assert asked(tmp_path, GRID.replace("[0.5, 2.0]", "[0.5, 2.0, 0.5]")) == found
    assert len(found) == 2 * 2 * 2 * 2 and len({item.identity for item in found}) == 16
    assert Counter(item.scheme for item in found) == {"sghmc-aboba": 8, "mine.py:heun": 8}
    assert found[-1].settings == {
        "friction": 2.5,
        "temperature": 2.0,
        "target": {"dim": 2, "name": "gaussian-mean", "size": 20},
        "gradient": {"kind": "iid", "batch": 5},
        "schedule": {"step": 0.1},
    }
    assert {item.selected for item in found} == {("chen2015/theorem-4", "local-order")}


def test_gradients_that_draw_data_do_not_fit_targets_without(tmp_path: Path) -> None:
    told = Counter(item.misfit for item in asked(tmp_path, GRID.replace("mine.py:heun", "sgld-euler")))
    assert told == {"": 12, "gradient.kind=iid draws data, and target.name=gaussian has none": 4}


def test_cases_are_written_out(tmp_path: Path) -> None:
    text = """
    checks = ["mse"]
    settings = { friction = 3.0 }
    cases = [{ scheme = "sgld-euler" }, { scheme = "sghmc-aboba", settings = { friction = 1.0 }, checks = ["bias"] }]
    """
    assert asked(tmp_path, text) == [
        CampaignQuestion("sgld-euler", {"friction": 3.0}, ("mse",)),
        CampaignQuestion("sghmc-aboba", {"friction": 1.0}, ("bias",)),
    ]


def test_data_files_are_found_from_the_folder_of_the_campaign(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("1.0\n2.0\n4.0\n")
    (found,) = asked(
        tmp_path, 'schemes = ["sgld-euler"]\ntargets = [{ name = "gaussian-mean", file = "data.csv" }]'
    )
    assert found.settings["target"]["file"] == str(tmp_path / "data.csv") and not found.refused


SAMPLE = """
sample = 5
seed = 3
gradients = ["full", { kind = "iid", batch = 2 }]
[draw]
dims = [1, 2]
"""


@pytest.mark.power  # 1.0 s
def test_a_sample_is_drawn_the_same_again_and_a_longer_one_begins_with_it(tmp_path: Path) -> None:
    found = asked(tmp_path, SAMPLE)
    assert len(found) == 5 and found == asked(tmp_path, SAMPLE)
    assert asked(tmp_path, SAMPLE.replace("= 5", "= 6"))[:5] == found
    assert asked(tmp_path, SAMPLE.replace("seed = 3", "seed = 4")) != found
    assert {item.settings["gradient"]["kind"] for item in found} == {"full", "iid"}
    assert not any(item.misfit or item.refused for item in found)
    for item in found:
        load_step(item.scheme)
        assert load_configuration(item.settings).target.dim in (1, 2)


def test_a_sample_of_lists_takes_their_entries(tmp_path: Path) -> None:
    listed = 'schemes = ["sgld-euler", "sghmc-baoab"]\ntargets = ["quartic"]\n' + SAMPLE.replace(
        "= 5", "= 12"
    )
    found = asked(tmp_path, listed + 'schedules = ["power"]\n[grid]\ntemperature = [0.3, 0.7]\n')
    assert {item.scheme for item in found} == {"sgld-euler", "sghmc-baoab"}
    assert {item.settings["target"]["name"] for item in found} == {"quartic"}
    assert {item.settings["temperature"] for item in found} == {0.3, 0.7}
    # Listed minibatches of a listed target without data are told as such, and not replaced.
    assert any(item.misfit for item in found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "names no scheme"),
        ('shemes = ["sgld-euler"]', "did you mean 'schemes'?"),
        ('schemes = ["sgld-euler"]\n[settings]\nfrictoin = 1.0', "did you mean 'friction'?"),
        ('schemes = ["sgld-euler"]\n[grid]\n"schedule.setp" = [1.0]', "did you mean 'schedule.step'?"),
        ('schemes = ["sgld-euler"]\n[grid]\ntemperature = [1.0, -1.0]', "temperature=-1.0"),
        ('schemes = ["sgld-euler"]\n[grid]\ntemperature = []', "grid.temperature"),
        ('schemes = ["sgld-euler"]\n[grid]\ntemperature = 1.0', "expected a valid list"),
        ('schemes = ["sgld-eulre"]', "did you mean 'sgld-euler'?"),
        ('schemes = ["sgld-euler"]\nchecks = ["msee"]', "did you mean 'mse'?"),
        ('schemes = ["sgld-euler"]\nclaims = ["chen2015/theorem-44"]', "'chen2015/theorem-4'"),
        ('schemes = ["sgld-euler"]\ngradients = ["idd"]', "gradient.kind='idd'"),
        ('schemes = ["sgld-euler"]\n[draw]\ndims = [1]', "[draw] without sample"),
        ("sample = 3\n[draw]\ndimensions = [1]", "did you mean 'draw.dims'?"),
        ('sample = 3\ncases = [{ scheme = "sgld-euler" }]', "[[cases]] beside sample"),
        ('cases = [{ schema = "sgld-euler" }]', "did you mean 'cases.scheme'?"),
        ("sample = 0", "sample='0'"),
        ("sample = 2000000", "at most 1000000"),
        ("schemes = [", "not valid TOML"),
        ('schemes = ["mine.py:heun"]', "names code, scheme='mine.py:heun'"),
        (
            'schemes = ["sgld-euler"]\ntargets = ["mine.py:target"]',
            "names code, target.name='mine.py:target'",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UserError) as refused:
        asked(tmp_path, text)
    assert told in str(refused.value) and "\n" not in str(refused.value)


def test_a_wrong_combination_of_right_parts_ends_no_other(tmp_path: Path) -> None:
    text = """
    schemes = ["sgld-euler"]
    targets = ["gaussian", { name = "gaussian-mean", data = [1.0, 2.0] }]
    """
    assert [item.refused for item in asked(tmp_path, text)] == ["", ""]
