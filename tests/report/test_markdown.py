from __future__ import annotations

import dataclasses

from sgverify.report import counts, groups, render_markdown


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
    assert len(found) == 2 + len([group for group in groups(document.evidence) if group.judged])
    assert all(len({len(row) for row in table}) == 1 for table in found)
    counted = {row[0].split(" ", 1)[1]: int(row[1]) for row in found[0][2:]}
    assert counted == counts(document.evidence)


def test_each_cell_has_verdict_finding_and_rung(document):
    first = list(tables(render_markdown(document)))[2]
    assert first[0] == ["claim", "first-a", "first-b", "second-a", "second-b", "second-c", "second-d"]
    assert first[2][0] == "chen2015/lemma-8"
    assert first[2][1] == "✓ pass, order 1 (proof)"
    assert len(first) == 3, "what does not apply is no proof"


def test_every_piece_of_evidence_is_listed_with_its_reason_and_replay(document):
    text = render_markdown(document)
    for item in document.evidence:
        assert f"**{item.outcome}** {item.scheme}, {item.claim}" in text
        assert f"`{item.replay}`" in text


def test_text_that_looks_like_markdown_or_html_stays_text(document):
    text = render_markdown(document)
    assert r"\<script\>alert(1)\</script\>" in text
    item = dataclasses.replace(document.evidence[0], reason="a | b *c* `d`")
    other = render_markdown(dataclasses.replace(document, evidence=(item,)))
    assert r"a \| b \*c\* \`d\`" in other


def test_the_same_document_gives_the_same_bytes(document):
    assert render_markdown(document) == render_markdown(document)
