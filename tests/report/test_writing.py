from __future__ import annotations

import dataclasses
import json
import os
import shutil
import stat

import pytest

from sgverify.errors import UserError
from sgverify.evidence import Erratum, decode_errata, read_evidence
from sgverify.report import writing
from sgverify.report.writing import prepare_folder, write_report


def test_a_report_is_five_files_with_figures_and_the_json_is_the_document(written, document):
    assert sorted(os.listdir(written)) == [
        "evidence.html",
        "figures",
        "index.html",
        "junit.xml",
        "report.json",
        "report.md",
    ]
    assert read_evidence(written / "report.json") == document


@pytest.mark.power  # 1.1 s
def test_a_report_may_be_written_over_an_old_one(written, tmp_path, document):
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    write_report(document, tmp_path)
    before, after = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}
        for folder in (written, tmp_path)
    )
    assert before == after


@pytest.mark.power  # 0.7 s
def test_what_was_computed_is_kept_when_the_page_cannot_be_drawn(tmp_path, document, monkeypatch):
    def broken(*_):
        raise RuntimeError("no fonts")

    monkeypatch.setattr(writing, "render_page", broken)
    with pytest.raises(RuntimeError):
        write_report(document, tmp_path)
    assert read_evidence(tmp_path / "report.json") == document


def test_a_file_in_the_place_of_the_figures_is_refused_and_the_json_is_kept(tmp_path, document):
    (tmp_path / "figures").write_text("x")
    with pytest.raises(UserError, match="figures.*it is a file"):
        write_report(document, tmp_path)
    assert (tmp_path / "report.json").is_file()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_is_a_file_is_refused_by_name(tmp_path, place):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError) as error:
        prepare_folder(tmp_path / place)
    assert repr(str(tmp_path / place)) in str(error.value) and "--out" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_without_permission_is_refused_by_name(tmp_path, monkeypatch):
    # The tests may run as root, whom no mode stops, so the answer of the system is planted.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UserError, match="cannot be written"):
        prepare_folder(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="no mode stops root")
def test_a_folder_that_is_read_only_is_refused(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(UserError, match="cannot be written"):
        prepare_folder(tmp_path)


def test_the_folder_is_made_before_anything_is_computed(tmp_path):
    assert prepare_folder(tmp_path / "a" / "b").is_dir()


def test_errata_are_on_the_page_and_kept_beside_it(tmp_path, document):
    wrong = Erratum(
        id="chen2015/equation-8",
        where="equation (8)",
        printed="2D <I>",
        read_as="2D I",
        holds="D I",
        severity="typographical",
        root="chen2015/equation-8",
        affects="nothing",
        because="a factor",
        fails=True,
        method="proof",
        certificate={"difference": "D d_p^2"},
    )
    small = dataclasses.replace(document, evidence=document.evidence[:2])
    page = write_report(small, tmp_path, formulas=[wrong])
    assert decode_errata(json.loads((tmp_path / "errata.json").read_text())) == (wrong,)
    text = page.read_text()
    assert "Errata of the paper" in text and "<I>" not in text and 'aria-label="d_p²"' in text
    assert "Misprints" in text and "1 misprint." in text
    assert (
        'misprint | "2D \\<I\\>" | 2D I | D I | nothing<br>a factor |' in (tmp_path / "report.md").read_text()
    )
