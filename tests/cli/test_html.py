"""`verify --html` and `--badge`, and a report on a suite of a user's file."""

from __future__ import annotations

import json
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Call
from tests.tables import each_row

CHECKS = ("--checks", "local-order,stationary-bias")
VOID = {"meta", "br", "link", "img", "input", "hr", "col", "wbr"}


class Structure(HTMLParser):
    """Ids and links of a page, and tags that are not closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attributes if name == "id" and value]
        self.links += [value for name, value in attributes if name in ("href", "src") and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attributes if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(path: Path) -> Structure:
    """The structure of a page that is well-formed, whose links end in the page, and that loads nothing."""
    text = path.read_text(encoding="utf-8")
    page = Structure(text)
    assert page.wrong == page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text
    assert len(text.encode()) < 1_000_000
    return page


def test_a_planted_error_has_a_page_that_begins_with_cause_and_mend(call: Call, tmp_path: Path) -> None:
    answer = call("verify", "mine.py:wrong", *CHECKS, "--html", "a.html", "--badge", "a.svg", "--json", "-")
    # The JSON alone stands on stdout, and the page says what it says.
    found = answer.document["answer"]
    assert answer.code == 1 and "page: a.html" in answer.err and "badge: a.svg" in answer.err
    text = (tmp_path / "a.html").read_text()
    page = read(tmp_path / "a.html")
    words = " ".join(" ".join(page.text).split())
    assert words.index("FAIL") < words.index("cause") < words.index("mend") < words.index("not tested")
    assert "the noise is too small by" in words and f"line {found['mend']['line']}" in words
    assert escape(found["mend"]["now"]) in text and "def weak_kick" in text and "<math" in text
    assert {"verdict", "step", "findings", "claims", "rates", "cost", "untested", "evidence"} <= set(page.ids)
    # Each answer and each setting that was not tried is there.
    assert all(item["id"] in page.ids for item in answer.evidence)
    assert all(
        item.partition(" (")[0].removeprefix("assumed: ")[:20] in words for item in found["not_tested"][:4]
    )
    # Its curve stands among the catalogue's.
    assert "mine.py:wrong" in words and "sghmc-obabo" in words and "gradients" in words
    svg = ElementTree.fromstring((tmp_path / "a.svg").read_text())
    assert svg.findtext("{http://www.w3.org/2000/svg}title") == "mine.py:wrong: fail, order 0 (sgverify)"


def test_a_right_scheme_has_the_same_page_with_the_words_of_the_terminal(call: Call, tmp_path: Path) -> None:
    answer = call("verify", "mine.py:heun", *CHECKS, "--html", "a.html", "--badge", "a.svg")
    words = " ".join(" ".join(read(tmp_path / "a.html").text).split())
    assert answer.code == 0 and "PASS" in words and "order 2 proved" in words
    assert "order 2 proved" in answer.out and "pass, order 2" in (tmp_path / "a.svg").read_text()
    assert "sgverify verify mine.py:heun" in words
    # What the signs of its findings mean stands under them; signs that are not there are not explained.
    assert ": the error falls with the square of the step size h" in words and "grows slowly" not in words


def test_the_page_of_what_is_refuted_says_where_and_counts_claims_by_their_weight(
    call: Call, tmp_path: Path
) -> None:
    asked = ("verify", "sghmc-aboba", "--set", "gradient.kind=iid", "--html", "a.html", "--checks")
    assert call(*asked, "chen2015/theorem-4").code == 3
    words = " ".join(read(tmp_path / "a.html").text)
    assert "Nothing that was asked speaks of the scheme: see" in words
    assert "1 of 1 claims asked here fails as printed: 1 by an error of consequence" in words
    assert call(*asked, "stationarity,chen2015/symmetric-words,chen2015/theorem-4").code == 0
    words = " ".join(read(tmp_path / "a.html").text)
    assert "Nothing that was asked" not in words
    assert "read as ≥ 3" in words and "printed ≥ 3" not in words
    assert "1 by an error of consequence, 1 by a misprint, 1 by an ambiguous reading" in words
    assert "Chen, Ding, Carin 2015: 2 claims refuted as printed, with the evidence" in words


TORCH = """\
import torch
from sgverify import torch_step
from sgverify.schemes import langevin

@torch_step(langevin, order=1)
def mine(theta, *, h, grad, T):
    return theta - h * grad(theta) + (2 * T * h) ** 0.5 * torch.randn_like(theta)
"""


def test_torch_code_has_its_text_and_no_printed_formula(call: Call, tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(TORCH)
    assert call("verify", "code.py:mine", "--checks", "local-order", "--html", "a.html").code == 0
    words = " ".join(read(tmp_path / "a.html").text)
    assert (
        "\n    return theta - h * grad(theta)" in words
        and "torch.randn_like(theta)" in words
        and "As it was judged" not in words
    )
    assert "gradients counted in one step of the code" in words


def test_an_exception_inside_a_check_is_shown_as_what_it_is(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(subject: object) -> object:
        raise ZeroDivisionError("nobody foresaw this")

    monkeypatch.delenv("SGVERIFY_RAISE")
    monkeypatch.setattr("sgverify.verdict.page.compare_subject", broken)
    monkeypatch.setattr("sgverify.checks.rates.stationary_bias.exact_answers", lambda *given: broken(given))
    answer = call("verify", "mine.py:heun", *CHECKS, "--html", "a.html")
    words = " ".join(read(tmp_path / "a.html").text)
    assert answer.code == 3 and "UNDECIDED" in words
    assert "the check ended with an exception" in words and words.count("nobody foresaw this") >= 2


@each_row(
    ("option", "path"),
    [
        ("--html", "a.txt"),
        ("--html", "-"),
        ("--html", ""),
        ("--html", "no/a.html"),
        ("--badge", "a.png"),
        ("--badge", "no/a.svg"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(call: Call, option: str, path: str) -> None:
    answer = call("verify", "no-such-scheme", option, path)
    assert answer.code == 2 and f"{option} {path!r}" in answer.err and "expected a file" in answer.err
    assert not answer.out and answer.err.count("error") == 1


def test_a_call_that_ends_with_an_error_leaves_no_page_of_an_earlier_one(call: Call, tmp_path: Path) -> None:
    files = [tmp_path / "a.html", tmp_path / "a.svg"]
    wanted = ("--html", "a.html", "--badge", "a.svg")
    for wrong in (
        ("mine.py:missing",),
        ("mine.py:heun", "--set", "schedule.step=1e9"),
        ("mine.py:heun", "--set", "frction=1"),
    ):
        for path in files:
            path.write_text("PASS")
        answer = call("verify", *wrong, *wanted)
        assert answer.code == 2 and not any(path.exists() for path in files)
        assert "removed: a.html, which an earlier call wrote" in answer.err
        assert "removed" not in call("verify", *wrong, *wanted).err


SUITES = '''\
"""Our integrators. Before and after."""
ours = [
    "mine.py:missing",
]
plain = [
    {"scheme": "mine.py:aboba", "settings": {"gradient.kind": "iid", "steps": 100}, "checks": ["stationary-bias"]},
    {"scheme": "mine.py:wrong", "checks": ["local-order"]},
]

def made(effort):
    """A suite of one question."""
    return plain[1:] if effort == "quick" else []

number = 3
unknown = [{"scheme": "mine.py:aboba", "checkz": []}]
setting = [{"scheme": "mine.py:aboba", "settings": {"frction": 1}}]
'''


@pytest.mark.power  # 0.6 s
def test_a_suite_of_ones_own_has_the_papers_page_and_a_title_of_its_own(call: Call, tmp_path: Path) -> None:
    (tmp_path / "suites.py").write_text(SUITES)
    answer = call("report", "--suite", "suites.py:plain", "--out", "mine")
    assert answer.code == 0 and "2 pieces of evidence" not in answer.err
    page = (tmp_path / "mine" / "index.html").read_text()
    assert "<h1>Our integrators. Before and after</h1>" in page and "What holds as printed" not in page
    assert (tmp_path / "mine" / "report.md").read_text().startswith("# Our integrators. Before and after\n")
    schemes = {
        item["scheme"] for item in json.loads((tmp_path / "mine" / "report.json").read_text())["evidence"]
    }
    assert schemes == {"mine.py:aboba", "mine.py:wrong"}
    assert not (tmp_path / "mine" / "errata.json").exists()
    assert call("report", "--suite", "suites.py:made", "--quick", "--strict", "--out", "made").code == 1
    assert "<h1>A suite of one question</h1>" in (tmp_path / "made" / "index.html").read_text()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ours", ("suites.py:ours", "entry 1", "'missing'")),
        ("made", ("suites.py:made", "it is []", "expected a list of schemes")),
        ("number", ("type int", "expected a list of schemes")),
        ("unknown", ("entry 1", "unknown key 'checkz'", "settings, checks")),
        ("setting", ("entry 1", "key 'frction'", "'friction'")),
        ("plian", ("unknown suite", "'plain'")),
    ],
)
def test_a_wrong_suite_is_refused_before_the_work(
    call: Call, tmp_path: Path, name: str, says: tuple[str, ...]
) -> None:
    (tmp_path / "suites.py").write_text(SUITES)
    answer = call("report", "--suite", f"suites.py:{name}", "--out", "mine")
    assert answer.code == 2 and not (tmp_path / "mine").exists()
    assert all(said in answer.err for said in says), answer.err
