"""A corpus is read from the formats that are in use, refused where a line is broken, and generated from known topics."""

from __future__ import annotations

import gzip
import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from reports.applications.lda import DECLARED, NEWSGROUPS, readers
from reports.applications.lda.corpus import Corpus, generated
from reports.applications.lda.readers import read_corpus
from sgverify.errors import ConfigurationError

UCI = "3\n4\n4\n1 1 2\n1 4 1\n3 2 1\n3 3 1\n"
LDA_C = "2 0:2 3:1\n0\n2 1:1 2:1\n"
DOCUMENTS = [[0, 0, 3], [1, 2]]


def documents(corpus: Corpus) -> list[list[int]]:
    return [list(part) for part in np.split(corpus.tokens, corpus.offsets[1:-1])]


@pytest.mark.parametrize("text", [UCI, LDA_C], ids=["UCI", "LDA-C"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_both_formats_hold_the_same_documents(text: str, packed: bool, tmp_path: Path) -> None:
    place = tmp_path / "words"
    place.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found = read_corpus(str(place))
    assert documents(found) == DOCUMENTS and found.size == 4 and found.source == "words"


def test_entries_of_a_document_may_stand_apart(tmp_path: Path) -> None:
    place = tmp_path / "words"
    place.write_text("3\n4\n4\n3 2 1\n1 1 2\n3 3 1\n1 4 1\n")
    assert documents(read_corpus(str(place))) == DOCUMENTS


def test_a_vocabulary_names_the_words(tmp_path: Path) -> None:
    (tmp_path / "words").write_text(UCI)
    (tmp_path / "names").write_text("a\nb\nc\nd\ne\n")
    found = read_corpus(str(tmp_path / "words"), vocabulary=str(tmp_path / "names"))
    assert found.vocabulary == ("a", "b", "c", "d", "e") and found.size == 5


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hello\n", "line 1 is 'hello'; expected"),
        ("3\n4\n1\n1 1 99999999999\n", "more than 268,435,456 tokens"),
        ("3\n4\n1\n1 1 " + "9" * 5000 + "\n", "line 4: '999"),
        ("3\n4\n1\n1 1 1_0\n", "line 4: '1_0'; expected a whole number"),
        ("9\n9999999\n1\n1 1 1\n", "its vocabulary has 9,999,999 words; expected at most 1,048,576"),
        ("1 9999999:1\n", "its vocabulary has 10,000,000 words"),
        ("", "line 1 is ''"),
        ("3\n4\n5\n1 1 2\n", "1 entries after line 3, which says 5"),
        (UCI.replace("1 4 1", "1 5 1"), "line 5: '1 5 1'; expected a document up to 3 and a word up to 4"),
        (UCI.replace("1 4 1", "1 4 0"), "line 5: '0'; expected a whole number of at least 1"),
        (UCI.replace("1 4 1", "1 4"), "line 5: '1 4'; expected `document word count`"),
        ("2 0:2 3:1\n3 1:1\n", "line 2: '3 1:1'; expected as many pairs"),
        ("1 0:x\n", "line 1: 'x'; expected a whole number"),
        ("2 0:1 1\n", "line 1: '2 0:1 1'; expected pairs word:count"),
        ("0\n0\n", "no words; expected"),
    ],
)
def test_a_broken_file_is_refused_by_line(text: str, told: str, tmp_path: Path) -> None:
    place = tmp_path / "words"
    place.write_text(text)
    with pytest.raises(ConfigurationError) as refused:
        read_corpus(str(place))
    assert told in str(refused.value)


def test_a_file_that_is_none_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        read_corpus(str(tmp_path / "none"))
    (tmp_path / "broken").write_bytes(b"\x1f\x8b\x00")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_corpus(str(tmp_path / "broken"))


def test_numbers_of_documents_take_no_memory(tmp_path: Path) -> None:
    place = tmp_path / "words"
    place.write_text("999999999999999\n4\n1\n999999999999999 4 1\n")
    assert documents(read_corpus(str(place))) == [[3]]


@pytest.mark.parametrize(
    ("line", "told"),
    [(b"1 1 1\n", "it has more than the 2 kB"), (b"1 1 1 ", "a line has more than the 1 kB")],
)
def test_a_small_file_that_unpacks_to_a_large_one_is_not_held(
    line: bytes, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "words.gz").write_bytes(gzip.compress(b"3\n4\n9\n" + line * 100_000))
    monkeypatch.setattr(readers, "MOST_BYTES", 2000)
    monkeypatch.setattr(readers, "MOST_LINE", 1000)
    with pytest.raises(ConfigurationError, match=told):
        read_corpus(str(tmp_path / "words.gz"))


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place, kind in (
        (tmp_path / "pipe", "a pipe"),
        (tmp_path, "a folder"),
        (Path("/dev/zero"), "a device"),
    ):
        with pytest.raises(ConfigurationError, match=f"cannot be read \\({kind}"):
            read_corpus(str(place))


def test_a_short_vocabulary_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words").write_text(UCI)
    (tmp_path / "names").write_text("a\n")
    with pytest.raises(ConfigurationError, match="1 words, and the corpus has 4"):
        read_corpus(str(tmp_path / "words"), vocabulary=str(tmp_path / "names"))


def sklearn_with(monkeypatch: pytest.MonkeyPatch, fetch) -> None:
    """scikit-learn's loader, replaced: no test asks the network."""
    held = types.ModuleType("sklearn.datasets")
    held.fetch_20newsgroups = fetch  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sklearn.datasets", held)


def test_the_newsgroups_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    texts = ["red green red", "green blue", "red blue blue", "the", "green"]
    sklearn_with(monkeypatch, lambda **_: types.SimpleNamespace(data=texts))
    found = read_corpus(NEWSGROUPS, most_words=2)
    # Of two words at most half of the documents have: the two most frequent, red (3) and blue (3). Stop words make no document.
    assert found.vocabulary == ("blue", "red") and [sorted(item) for item in documents(found)] == [
        [1, 1],
        [0],
        [0, 0, 1],
    ]


def test_a_machine_without_a_network_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")

    def fetch(**_: object) -> None:
        raise OSError("no route to host")

    sklearn_with(monkeypatch, fetch)
    with pytest.raises(
        ConfigurationError, match=r"cannot fetch it here \(no route to host\).*leave --corpus out"
    ):
        read_corpus(NEWSGROUPS)


def test_a_generated_corpus_has_the_law_of_the_model() -> None:
    given = {"documents": 2000, "size": 30, "topics": 3, "length": 40, "alpha": 0.1, "beta": 0.5}
    found = generated(seed=1, **given)
    assert found.topics is not None and np.allclose(found.topics.sum(1), 1)
    assert found.lengths.mean() == pytest.approx(40, abs=5 * np.sqrt(38 / 2000))
    # Proportions are exchangeable, so that a token has the word w with probability mean_k pi_k(w); documents vary by their
    # proportions, whose variance at alpha = 0.1 is 2/9 / 1.3 for each topic.
    expected = found.topics.mean(0)
    shares = np.bincount(found.tokens, minlength=30) / len(found.tokens)
    assert np.abs(shares - expected).max() < 5 * np.sqrt(2 / 9 / 1.3 / 2000) * found.topics.max()
    assert generated(seed=1, **given).sha256 == found.sha256 != generated(seed=2, **given).sha256


def test_halves_and_held_out_documents_are_a_division() -> None:
    found = generated(documents=60, size=20, topics=2, length=9, alpha=0.5, beta=0.5, seed=0)
    train, held_out = found.divided(20, seed=3)
    assert (train.documents, held_out.documents) == (40, 20)
    every = sorted(map(tuple, [*documents(train), *documents(held_out)]))
    assert every == sorted(map(tuple, documents(found)))
    first, second = held_out.halves(seed=3)
    for whole, one, other in zip(documents(held_out), documents(first), documents(second), strict=True):
        assert sorted(whole) == sorted([*one, *other]) and len(one) - len(other) in (0, 1)
    with pytest.raises(ConfigurationError, match="--held-out 60"):
        found.divided(60, seed=0)


def test_documents_lie_side_by_side() -> None:
    found = Corpus(np.array([0, 1, 2, 3], dtype=np.int32), np.array([0, 1, 4]), 4, "tiny")
    held = found.padded(np.array([[1, 0]]))
    assert held.words.tolist() == [[[1, 2, 3], [0, 0, 0]]] and held.lengths.tolist() == [[3, 1]]
    with pytest.raises(ConfigurationError, match="at least one word"):
        Corpus(np.array([0], dtype=np.int32), np.array([0, 0, 1]), 4, "tiny")
    with pytest.raises(ConfigurationError, match="a word has the number 4"):
        Corpus(np.array([4], dtype=np.int32), np.array([0, 1]), 4, "tiny")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"vocabulary": "names"}, "--vocabulary 'names': expected --corpus FILE"),
        ({"vocabulary": "names", "corpus": NEWSGROUPS}, "expected --corpus FILE"),
        ({"corpus": "words", "documents": 50}, "--documents 50 beside --corpus 'words'"),
        ({"corpus": "words", "words": 50}, "--words 50 beside"),
        ({"corpus": NEWSGROUPS, "length": 50}, "--length 50 beside"),
    ],
)
def test_options_without_an_effect_are_refused(given: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        DECLARED.settings(given)


def test_the_newsgroups_have_as_many_words_as_are_asked_for() -> None:
    assert DECLARED.settings({"corpus": NEWSGROUPS, "words": 50})["words"] == 50
