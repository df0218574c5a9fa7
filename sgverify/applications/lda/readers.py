"""Which files hold a corpus? The bag-of-words format of UCI, LDA-C, and the newsgroups that scikit-learn fetches."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from sgverify.applications.lda.corpus import Corpus
from sgverify.errors import ConfigurationError

NEWSGROUPS = "20newsgroups"
"""The name by which scikit-learn's corpus is asked for."""

MOST = 1 << 31
"""The most tokens that a file may have."""


def read_corpus(path: str, *, vocabulary: str | None = None, most_words: int = 2000) -> Corpus:
    """The corpus of a file, or of scikit-learn's 20 newsgroups for the name `20newsgroups`.

    A file (also .gz) is in UCI's bag-of-words format, three lines with the numbers of documents, words and entries and then lines
    `document word count` that count from 1, or in LDA-C's, a line `M word:count ...` for each document, with words from 0.
    `vocabulary` is a file with a word a line. `most_words` bounds the vocabulary of the newsgroups. Documents without words are
    left out. Raises `ConfigurationError` with file and line.
    """
    if path == NEWSGROUPS:
        return _newsgroups(most_words)
    lines = _lines(path, "--corpus")
    words = () if vocabulary is None else tuple(line.strip() for line in _lines(vocabulary, "--vocabulary"))
    head = [line.split() for line in lines[:3]]
    if len(head) == 3 and all(len(line) == 1 and ":" not in line[0] for line in head):
        documents, counts, size = _uci(path, lines)
    elif lines and (":" in lines[0] or lines[0].strip() == "0"):
        documents, counts, size = _lda_c(path, lines)
    else:
        raise ConfigurationError(
            f"--corpus {path!r}: line 1 is {lines[0] if lines else ''!r:.60}; expected a number of documents (UCI's bag of words: "
            "three lines with one number each) or `M word:count ...` (LDA-C); give a file in one of these formats"
        )
    if words and len(words) < size:
        raise ConfigurationError(
            f"--vocabulary {vocabulary!r}: {len(words)} words, and the corpus has {size}; expected one line for each word"
        )
    return _corpus(documents, counts, max(size, len(words)), Path(path).name, words)


def _lines(path: str, option: str) -> list[str]:
    try:
        raw = Path(path).read_bytes()
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        return text.decode("utf-8").splitlines()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise ConfigurationError(
            f"{option} {path!r}: cannot be read ({reason}); expected a text file in UTF-8, or one packed by gzip"
        ) from None


def _uci(path: str, lines: Sequence[str]) -> tuple[list[int], list[tuple[int, int]], int]:
    """(document, (word, count)) of each entry, from 0, and the size of the vocabulary."""
    size_of = [_number(path, number, lines[number], 0) for number in range(3)]
    documents, size, entries = size_of
    held = [(number, line) for number, line in enumerate(lines[3:], start=3) if line.strip()]
    if len(held) != entries:
        raise ConfigurationError(
            f"--corpus {path!r}: {len(held)} entries after line 3, which says {entries}; expected as many; is the file whole?"
        )
    owners, counts = [], []
    for number, line in held:
        parts = line.split()
        if len(parts) != 3:
            _refuse(path, number, line, "`document word count`")
        document, word, count = (_number(path, number, part, 1) for part in parts)
        if document > documents or word > size:
            _refuse(path, number, line, f"a document up to {documents} and a word up to {size}")
        owners.append(document - 1)
        counts.append((word - 1, count))
    return owners, counts, size


def _lda_c(path: str, lines: Sequence[str]) -> tuple[list[int], list[tuple[int, int]], int]:
    """The same of an LDA-C file; the vocabulary ends with the largest word."""
    owners, counts = [], []
    document = 0
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        first, *pairs = line.split()
        if _number(path, number, first, 0) != len(pairs):
            _refuse(path, number, line, f"as many pairs word:count as the first number says, {first}")
        for pair in pairs:
            word, colon, count = pair.partition(":")
            if not colon:
                _refuse(path, number, line, "pairs word:count")
            owners.append(document)
            counts.append((_number(path, number, word, 0), _number(path, number, count, 1)))
        document += 1
    return owners, counts, 1 + max((word for word, _ in counts), default=0)


def _corpus(
    owners: Sequence[int],
    counts: Sequence[tuple[int, int]],
    size: int,
    source: str,
    vocabulary: tuple[str, ...],
) -> Corpus:
    if not counts or (total := sum(count for _, count in counts)) > MOST:
        raise ConfigurationError(
            f"--corpus {source!r}: {'no words' if not counts else f'{total} tokens'}; expected between 1 and {MOST}"
        )
    order = np.argsort(np.asarray(owners), kind="stable")
    held = np.asarray(counts, dtype=np.int64)[order]
    lengths = np.bincount(np.asarray(owners)[order], weights=held[:, 1]).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths[lengths > 0])])
    tokens = np.repeat(held[:, 0], held[:, 1]).astype(np.int32)
    return Corpus(tokens, offsets, size, source, vocabulary)


def _newsgroups(most_words: int) -> Corpus:
    if find_spec("sklearn") is None:
        raise ConfigurationError(
            f"--corpus {NEWSGROUPS}: scikit-learn is not installed; expected it to fetch the corpus; pip install scikit-learn, or "
            "give a file"
        )
    from sklearn.datasets import fetch_20newsgroups  # type: ignore[import-untyped]
    from sklearn.feature_extraction.text import CountVectorizer  # type: ignore[import-untyped]

    try:
        texts: Any = fetch_20newsgroups(subset="all", remove=("headers", "footers", "quotes")).data
    except OSError as error:
        # URLError and timeouts are OSErrors; so is a folder that cannot be written.
        raise ConfigurationError(
            f"--corpus {NEWSGROUPS}: scikit-learn cannot fetch it here ({' '.join(str(error).split())}); expected a machine with a "
            "network, or with the corpus in scikit-learn's data folder; give a file, or leave --corpus out for a generated one"
        ) from None
    return _counted(texts, most_words, CountVectorizer)


def _counted(texts: Iterable[str], most_words: int, vectorizer: Any) -> Corpus:
    """The corpus of texts: their most frequent words but for English stop words, in documents that have one."""
    made = vectorizer(max_features=most_words, stop_words="english", min_df=2, max_df=0.5)
    table = made.fit_transform(texts).tocoo()
    counts = [(int(word), int(count)) for word, count in zip(table.col, table.data, strict=True)]
    words = tuple(made.get_feature_names_out())
    return _corpus([int(row) for row in table.row], counts, len(words), NEWSGROUPS, words)


def _number(path: str, number: int, text: str, least: int) -> int:
    try:
        found = int(text)
    except ValueError:
        found = least - 1
    if found < least:
        _refuse(path, number, text, f"a whole number of at least {least}")
    return found


def _refuse(path: str, number: int, line: str, expected: str) -> None:
    raise ConfigurationError(
        f"--corpus {path!r}, line {number + 1}: {line!r:.60}; expected {expected}; mend the line"
    )
