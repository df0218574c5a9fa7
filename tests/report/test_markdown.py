from __future__ import annotations

import dataclasses
import re
from xml.etree import ElementTree

import pytest

from sgverify.report.markdown import render_markdown
from sgverify.report.matrix import groups
from sgverify.report.text import counts
from sgverify.report.wording import compared_text


def tables(text):
    block: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("| "):
            block.append([cell.strip() for cell in line.replace(r"\|", "").strip("|").split("|")])
        elif block:
            yield block
            block = []


def test_counts_and_matrices_are_tables_with_equal_rows(document):
    found = list(tables(render_markdown(document)))
    assert len(found) == 3 + len([group for group in groups(document.evidence) if group.judged])
    assert all(len({len(row) for row in table}) == 1 for table in found)
    counted = {row[0].split(" ", 1)[1]: int(row[1]) for row in found[0][2:]}
    assert counted == counts(document.evidence)


def test_each_cell_has_verdict_finding_and_rung(document):
    first = list(tables(render_markdown(document)))[3]
    assert first[0] == ["claim", "first-a", "first-b", "second-a", "second-b", "second-c", "second-d"]
    assert first[2][0] == "chen2015/lemma-8"
    assert first[2][1] == "✓ pass, order 1 (proof)"
    assert len(first) == 3, "what does not apply is no proof"


def test_no_finding_is_told_twice_and_none_is_left_out(document):
    """A line holds a reason, who shows it, and one of the commands."""
    text = render_markdown(document)
    lines = [line for line in text.splitlines() if line.startswith("- ") and "**" in line]
    for claim in {item.claim for item in document.evidence}:
        items = [item for item in document.evidence if item.claim == claim]
        section = text[text.index(f"### {claim}") :].partition("\n### ")[0]
        findings = {
            (item.outcome, item.check, compared_text(item), item.method, item.reason) for item in items
        }
        assert section.count("\n- ") == len(findings)
        for item in items:
            assert item.scheme in section and f"**{item.outcome}** {item.check}" in section
            assert any(f"`{one.replay}`" in section for one in items if one.check == item.check)
    assert len(lines) < len(document.evidence)


@pytest.mark.power  # 1.4 s
def test_figures_are_links_to_files_where_they_belong(written):
    text = (written / "report.md").read_text()
    linked = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert linked and all((written / path).is_file() for path in linked)
    assert text.index(linked[0]) < text.index("| outcome |")
    for path in linked:
        drawn = ElementTree.fromstring((written / path).read_text())
        assert drawn.attrib["width"] and "prefers-color-scheme:dark" in (written / path).read_text()


def test_text_that_looks_like_markdown_or_html_stays_text(document):
    text = render_markdown(document)
    assert r"\<script\>alert(1)\</script\>" in text
    item = dataclasses.replace(document.evidence[0], reason="one | two *three* `four`")
    other = render_markdown(dataclasses.replace(document, evidence=(item,)))
    assert r"one \| two \*three\* \`four\`" in other


def test_the_same_document_gives_the_same_bytes(document):
    assert render_markdown(document) == render_markdown(document)
