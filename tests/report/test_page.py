from __future__ import annotations

import dataclasses
import re
import time
from html.parser import HTMLParser

import pytest

from sgverify.claims import claims
from sgverify.claims.claim import Publication
from sgverify.evidence import Document
from sgverify.report.figures import figures
from sgverify.report.formulas import with_formulas
from sgverify.report.matrix import groups
from sgverify.report.page.pages import EVIDENCE, INDEX, render_evidence, render_page
from sgverify.report.page.story import pictures_of, story_of
from sgverify.report.wording import MEANINGS

BOOK = Publication(title="A title", authors=("A",), year=2000)
VOID = {"meta", "br", "link", "img", "input", "hr", "col", "wbr"}


class Page(HTMLParser):
    """Ids, links, cells and nesting of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.ids, self.links, self.tags, self.open, self.text = [], [], [], [], []
        self.problems: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "action", "data", "poster", "srcset"):
                self.links.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def text(document):
    return render_page(document, publication=BOOK)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.fixture(scope="module")
def evidence_text(document):
    return render_evidence(document)


@pytest.fixture(scope="module")
def pages(page, evidence_text):
    return {INDEX: page, EVIDENCE: Page(evidence_text)}


@pytest.mark.parametrize("name", [INDEX, EVIDENCE])
def test_a_page_is_well_formed_with_ids_used_once(pages, name):
    page = pages[name]
    assert page.problems == [] and page.open == []
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.parametrize("name", [INDEX, EVIDENCE])
def test_a_page_opens_offline(pages, name, text, evidence_text):
    page, source = pages[name], {INDEX: text, EVIDENCE: evidence_text}[name]
    assert page.links and all(link.startswith(("#", INDEX, EVIDENCE)) for link in page.links)
    assert not {tag for tag, _ in page.tags} & {"link", "iframe", "img", "object", "embed"}
    assert [attributes for tag, attributes in page.tags if tag == "script"] == [{}]
    assert "http" not in source and "@import" not in source and "fetch(" not in source
    assert not re.search(r"url\(\s*(?!['\"]?#)", source)


@pytest.mark.parametrize("name", [INDEX, EVIDENCE])
def test_every_link_leads_to_something_on_either_page(pages, name):
    for link in pages[name].links:
        place, _, id = link.partition("#")
        assert not id or id in pages[place or name].ids, link


def test_each_cell_leads_to_its_evidence_and_says_its_verdict_in_words(document, text):
    for group in groups(document.evidence):
        for item in group.evidence:
            if item.claim not in group.judged:
                continue
            cell = re.search(
                rf'<a href="{EVIDENCE}#{item.id}" class="{item.outcome}".*?</a>', text, re.DOTALL
            )
            assert cell, item.id
            assert f"<small>{item.outcome}</small>" in cell.group() and item.method in cell.group()


def test_the_answer_stands_first_and_what_does_not_apply_by_itself(document, text):
    places = [text.index(f'<section id="{name}"') for name in ("claims", "answer", "untested", "group-1")]
    assert places == sorted(places)
    apart = text[text.index('<section id="unspoken"') :]
    for item in document.evidence:
        if item.verdict == "not-applicable":
            assert item.claim in apart and item.reason.partition("<")[0] in apart


def test_every_claim_is_shown_with_statement_source_and_replay(document, evidence_text):
    for item in document.evidence:
        card = claims()[item.claim]
        assert f'id="{item.id}"' in evidence_text
        assert with_formulas(str(card.source)) in evidence_text
        assert with_formulas(card.statement) in evidence_text
        assert item.replay in evidence_text


def test_what_evidence_says_is_text_and_never_markup(text):
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_what_a_certificate_says_is_text_with_its_quotation_marks(document):
    said = {"law": "</pre><b>p</b> & q", "of": ["x"]}
    one = dataclasses.replace(document.evidence[0], certificate=said)
    shown = render_evidence(dataclasses.replace(document, evidence=(one,)))
    assert '"law": "&lt;/pre&gt;&lt;b&gt;p&lt;/b&gt; &amp; q",\n "of": ["x"]' in shown


def test_figures_are_inline_and_described(document, page):
    drawn = [attributes for tag, attributes in page.tags if tag == "svg" and "role" in attributes]
    at_the_head = pictures_of(story_of(document.evidence), document.evidence)
    assert len(drawn) == len(figures(document.evidence)) + len(at_the_head) and at_the_head
    for attributes in drawn:
        assert attributes["role"] == "img"
        assert set(attributes["aria-labelledby"].split()) <= set(page.ids)
    captions = [tag for tag, _ in page.tags if tag == "figcaption"]
    assert len(captions) == len(drawn)


def test_the_page_has_a_language_headers_and_labelled_tables(page):
    tags = dict(page.tags)
    assert tags["html"]["lang"] == "en" and "viewport" in str(page.tags)
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in page.tags if tag == "th")


def test_dark_screens_have_colours_of_their_own(text):
    assert "prefers-color-scheme: dark" in text
    for name in set(re.findall(r"var\((--[a-z0-9]+)\)", text)) - {"--tone"}:
        assert text.count(f"{name}:") == 2, name


def test_every_outcome_has_a_tone_a_sign_and_a_meaning(text):
    for name, meaning in MEANINGS.items():
        assert f".{name} {{ --tone" in text and meaning in text


@pytest.mark.power  # 2.2 s
def test_the_same_document_gives_the_same_bytes(document, text):
    assert render_page(document) == text
    later = dataclasses.replace(document.provenance, seconds=77.0)
    assert render_page(dataclasses.replace(document, provenance=later)) == text.replace(
        "<dd>1.5</dd>", "<dd>77.0</dd>"
    )


def test_formulas_in_the_certificate_are_shown(evidence_text):
    assert '<pre tabindex="0">theta += h p</pre>' in evidence_text


def test_no_formula_is_left_as_it_is_typed(page, text, evidence_text):
    """Outside commands, JSON and Python, a power is raised and a Greek letter is one."""
    shown = re.sub(r"(?s)<(style|script|code|pre|title|desc)\b.*?</\1>", "", text + evidence_text)
    shown = re.sub(r'(?:aria-label|value)="[^"]*"', "", shown)
    assert text.count("<math ") > 50
    assert not re.search(r"\*\*|\w\^|\btheta\b", shown)


def test_refuted_claims_and_violations_are_told_apart(text):
    refuted = text[text.index('<section id="claims"') : text.index('<section id="answer"')]
    violated = text[text.index('<section id="violated"') : text.index('<section id="group-1"')]
    assert "theorem 4" in refuted and "refuted" in refuted
    assert ">second-b</a>" in violated and ">second-a</a>" not in violated


def test_what_papers_print_is_closed_and_below_the_integrators_on_a_page_of_ones_own(document):
    """A planted one: a refuted claim beside schemes that pass; neither the headline nor the first screen speaks of it."""
    kept = tuple(item for item in document.evidence if item.outcome in ("pass", "refuted"))
    own = render_page(dataclasses.replace(document, evidence=kept), title="Ours")
    assert any(item.outcome == "refuted" for item in kept)
    answer = own[own.index('<p class="answer">') :].partition("</p>")[0]
    assert answer.endswith(": pass.") and "theorem" not in answer
    assert own.index('<section id="answer"') < own.index('<section id="claims"')
    section = own[own.index('<section id="claims"') :].partition("</section>")[0]
    before, _, folded = section.partition('<details class="papers"><summary>')
    assert "theorem" not in before and folded.startswith("Chen, Ding, Carin 2015: 1 of ")
    assert Page(own).problems == []


def test_a_page_without_evidence_is_a_page(document):
    page = Page(render_page(Document((), document.provenance)))
    assert page.problems == [] and "claims" not in page.ids


def test_unknown_claims_and_checks_are_shown_too(document):
    other = dataclasses.replace(document.evidence[0], id="", claim="own/claim", check="own-check")
    text = render_page(dataclasses.replace(document, evidence=(other,)))
    assert Page(text).problems == [] and "own/claim" in text


@pytest.mark.power  # 1.9 s
def test_a_full_report_renders_in_ten_seconds(document):
    """Twice the evidence and figures of the paper's suite; measured at 2.5 s on one core."""
    many = tuple(
        dataclasses.replace(item, id="", configuration={**item.configuration, "friction": friction})
        for friction in (1.0, 2.0)
        for item in document.evidence
    )
    started = time.process_time()
    render_page(dataclasses.replace(document, evidence=many))
    assert time.process_time() - started < 10
