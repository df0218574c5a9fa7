"""The generated pages: whatever is registered has its place there, with links that lead somewhere."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache

import pytest

from docs.making.checks import refuted
from docs.making.claims import reported, status
from docs.making.interfaces import MODULES, python_page
from docs.making.markdown import escaped, plain, table
from docs.making.notebooks import notebook_page
from docs.making.pages import PAGES
from docs.making.places import ROOT, in_repository, place_of, rewritten, targets
from reports.making.power.kill_matrix import JudgedMutant, KillMatrix, Trial
from sgverify import __version__
from sgverify.checks import CHECKS
from sgverify.claims import claims
from sgverify.cli.listing import SCHEMAS, items_of
from sgverify.cli.main import cli


@cache
def text_of(place: str) -> str:
    return PAGES[place]()


@pytest.mark.parametrize(
    ("place", "names"),
    [
        ("claims.md", [f"### {id}: " for id in claims()]),
        ("checks.md", [f"### {name}\n" for name in CHECKS]),
        ("configuration.md", [f"| `{item['name']}` |" for item in items_of("config")]),
        (
            "catalogue.md",
            [f"| `{item['name']}` |" for kind in ("schemes", "gradients") for item in items_of(kind)],
        ),
        ("limits.md", [f"| `{item['name']}` |" for item in items_of("face")]),
        ("commands.md", [f"## sgverify {name}\n" for name in cli.commands]),
        ("formats.md", [f"## {name}\n" for name in SCHEMAS]),
    ],
)
def test_what_is_registered_is_documented_once(place: str, names: list[str]) -> None:
    text = text_of(place)
    assert names and [name for name in names if text.count(name) != 1] == []


@pytest.mark.parametrize("place", PAGES)
def test_links_lead_to_pages_and_files(place: str) -> None:
    missing = [
        path
        for path in targets(text_of(place), in_repository(place))
        if place_of(path) not in PAGES and not (ROOT / path).is_file()
    ]
    assert missing == []


def test_every_public_name_is_documented_in_one_place() -> None:
    pages = {module: re.findall(r"^::: (.+)$", python_page(module), re.MULTILINE) for module in MODULES}
    places = [place for found in pages.values() for place in found]
    assert len(places) == len(set(places)) > 80
    assert "sgverify.schemes.scheme.scheme" in pages["sgverify"]


def test_every_check_says_what_it_cannot_see() -> None:
    said = {name: check.description for name, check in CHECKS.items()}
    assert [name for name, found in said.items() if not found.cannot_see.endswith(".")] == []
    assert all(found.text.startswith(f"{found.summary} Cannot see: ") for found in said.values())
    assert not any(
        "Cannot see" in text for found in said.values() for text in (found.summary, *found.details)
    )


def test_the_status_counts_the_committed_answers() -> None:
    printed = claims()["chen2015/theorem-4"]
    answers = [item for items in reported().values() for item in items if item.claim == printed.id]
    fallen = sum(item.refuted for item in answers)
    assert 0 < fallen < len(answers)
    assert status(printed, answers).startswith(f"refuted in {fallen}, conforms in ")
    assert status(printed, []) == "asked in no committed report"
    assert status(claims()["vr-resgld/lemma-d1"], []) == "not judged"


def test_a_bug_is_counted_once_for_a_check_by_its_strongest_method() -> None:
    def trial(method: str, kill: bool = True) -> Trial:
        return Trial(check="bias", claim="a/b", method=method, outcome="violates", kill=kill)  # type: ignore[arg-type]

    def mutant(*trials: Trial) -> JudgedMutant:
        given = {"place": "formula", "edits": (("a", "b"),), "settings": {}, "reason": "r", "source": "s"}
        return JudgedMutant(name="m", family="f", scheme="x", trials=trials, **given)  # type: ignore[arg-type]

    matrix = KillMatrix(
        mutants=(mutant(trial("monte-carlo"), trial("proof")), mutant(trial("exact", kill=False)))
    )
    assert refuted(matrix, "bias") == {"proof": 1}


def test_formulas_are_no_markup() -> None:
    assert escaped("theta**2 and `a*b`") == r"theta\*\*2 and `a*b`"
    assert plain("|x|\n  < `a|b`") == r"&#124;x&#124; &lt; `a\|b`"
    assert table(["a"], [["b"]]) == "| a |\n| --- |\n| b |"


def test_links_are_those_of_the_site() -> None:
    text = "[a](docs/glossary.md#x) ![b](reports/picture.svg) [c](https://a.b) `[d](docs/e.md)`"
    assert rewritten(text, "README.md") == (
        "[a](glossary.md#x) ![b](reports/picture.svg) [c](https://a.b) `[d](docs/e.md)`"
    )
    assert (
        rewritten("[a](../reports/b.md) [c](../README.md)", "docs/x.md") == "[a](reports/b.md) [c](index.md)"
    )
    assert rewritten("[a](../../docs/x.md)", "reports/power/b.md") == "[a](../../x.md)"
    assert targets(text, "README.md") == ["docs/glossary.md", "reports/picture.svg"]


def test_a_notebook_is_a_page_with_its_outputs() -> None:
    outputs = [
        {"output_type": "stream", "text": ["1\n", "2\n"]},
        {"data": {"text/markdown": ["| a |"], "text/plain": "table"}},
        {"data": {"image/png": "QUJD\n", "text/plain": "figure"}},
        {"data": {"image/svg+xml": ["A", "BC"], "text/plain": "figure"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# A\n", "b"]},
        {"cell_type": "code", "source": ["f()"], "outputs": outputs},
    ]
    assert notebook_page(json.dumps({"cells": cells})) == (
        "# A\nb\n\n```python\nf()\n```\n\n```text\n1\n2\n```\n\n| a |\n\n![a figure](data:image/png;base64,QUJD)\n"
        "\n![a figure](data:image/svg+xml;base64,QUJD)\n"
    )
    prepares = {"cell_type": "code", "source": ["# Set-up\n", "import a"]}
    closed = notebook_page(json.dumps({"cells": [prepares]}))
    assert closed.startswith("??? note ") and "\n    ```python\n    # Set-up\n    import a\n" in closed
    assert place_of("notebooks/digits.ipynb") == "notebooks/digits.md"
    assert in_repository("notebooks/digits.md") == "notebooks/digits.ipynb"


def test_formulas_become_mathml() -> None:
    pytest.importorskip("latex2mathml")
    markdown = pytest.importorskip("markdown").Markdown(extensions=["docs.making.mathematics"])
    made = markdown.convert("let\n$h_1^*$ and $k_2^*$ be\n\n$$\\frac{1}{2}$$\n\n`$x$` costs 3 $ or 4 $")
    assert made.count("<p>") == 3 and "<em>" not in made
    assert made.count('<p><span class="formula" tabindex="0"><math') == 1
    assert made.count("<math") == 3 and made.count("<msubsup>") == 2 and "<mfrac>" in made
    assert "<code>$x$</code> costs 3 $ or 4 $" in made


def test_docstrings_keep_their_examples() -> None:
    pytest.importorskip("griffe")
    from docs.making.docstrings import marked_up

    text = "theta**2 of |x|.\n\n>>> 2**3\n8\n\n    a * b\n"
    assert marked_up(text) == "theta\\*\\*2 of &#124;x&#124;.\n\n```pycon\n>>> 2**3\n8\n```\n\n    a * b\n"


def test_the_citation_says_what_the_project_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'title: "{project["name"]}: {project["description"]}"\n' in text
    assert f"version: {__version__}\n" in text and f"license: {project['license']}\n" in text
    assert re.findall(r"^  - name: (.+)$", text, re.MULTILINE) == [
        author["name"] for author in project["authors"]
    ]
    assert re.findall(r"^  - (?!name:)(.+)$", text, re.MULTILINE) == project["keywords"]
    assert "://" not in text
    assert f"version = {{{__version__}}}" in text_of("cite.md") and project["description"] in text_of(
        "cite.md"
    )
