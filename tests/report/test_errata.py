"""What errata are called and how they are counted: an error once, however many rows show it."""

from __future__ import annotations

from dataclasses import replace

from sgverify.evidence import Erratum
from sgverify.report.errata import by_severity, counted, explain_errata, roots, word

ONE = Erratum(
    id="chen2015/theorem-9",
    where="theorem 9",
    printed="L^-1",
    read_as="L^-1",
    holds="L^-1/2",
    severity="consequence",
    root="chen2015/lost-term",
    affects="rate lost",
    because="a term is lost",
    fails=True,
    method="proof",
    certificate={"difference": "L^1/2"},
)
STEP = replace(ONE, id="chen2015/equation-9", severity="local")
SIGN = replace(ONE, id="chen2015/equation-1", root="chen2015/equation-1", severity="typographical")
OTHER = replace(ONE, id="awsgld/equation-1", root="awsgld/equation-1", severity="reading")
RIGHT = Erratum(
    id="chen2015/equation-2",
    where="(2)",
    printed="1",
    read_as="1",
    fails=False,
    method="exact",
    certificate={"cases": 3},
)


def test_an_error_that_shows_in_two_rows_is_one_and_as_heavy_as_its_heaviest_row() -> None:
    assert roots([STEP, ONE, SIGN, OTHER, RIGHT]) == {
        "consequence": {"chen2015/lost-term": 2},
        "local": {},
        "typographical": {"chen2015/equation-1": 1},
        "reading": {"awsgld/equation-1": 1},
    }
    assert counted([STEP, ONE, SIGN, RIGHT]) == (
        "4 printed statements checked, 1 stands; 1 error of consequence in 2 rows; 1 misprint"
    )
    assert counted([STEP, RIGHT]) == "2 printed statements checked, 1 stands; 1 slip or gap in a proof"
    assert counted([RIGHT]) == "1 printed statement checked, 1 stands"


def test_refuted_is_said_of_theorems_alone() -> None:
    assert word(ONE) == "refuted" and word(replace(ONE, id="chen2015/lemma-9")) == "error"
    assert word(STEP) == "slip or gap in a proof" and word(SIGN) == "misprint" and word(OTHER) == "ambiguous"
    assert word(replace(ONE, severity="reading")) == "ambiguous"
    assert word(RIGHT) == "not refuted where it was computed"


def test_the_heaviest_end_at_the_prompt_and_each_paper_is_counted() -> None:
    told = explain_errata([ONE, RIGHT, SIGN, OTHER])
    places = [
        told.index(name) for name in ("chen2015/equation-2", "awsgld/equation-1", "misprint:", "refuted:")
    ]
    assert places == sorted(places)
    assert told.splitlines()[-2:] == [
        "chen2015: 3 printed statements checked, 1 stands; 1 error of consequence; 1 misprint",
        "awsgld: 1 printed statement checked, 0 stand; 1 ambiguous reading",
    ]
    assert list(by_severity([OTHER, SIGN, ONE])) == ["consequence", "typographical", "reading"]
