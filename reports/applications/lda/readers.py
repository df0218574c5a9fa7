"""Which files hold a corpus? The bag-of-words format of UCI, LDA-C, and the newsgroups that scikit-learn fetches."""

from __future__ import annotations

import contextlib
import errno
import gzip
import warnings
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from reports.applications.lda import NEWSGROUPS
from reports.applications.lda.corpus import Corpus
from sgverify.errors import ConfigurationError, shown
from sgverify.keeping.files import amount, opened

MOST = 1 << 28
"""The most tokens that a corpus may have; each takes four bytes, and a line of a few bytes may claim any number of them."""

MOST_BYTES, MOST_LINE = 1 << 27, 1 << 24
"""The most bytes of a file, and of a line of it, that are read once it is unpacked."""

MOST_WORDS = 1 << 20
"""The most words of a vocabulary."""

MOST_DIGITS = 15
"""The most digits of a number in a file."""


def read_corpus(path: str, *, vocabulary: str | None = None, most_words: int = 2000) -> Corpus:
    """The corpus of a file, or of scikit-learn's 20 newsgroups for the name `20newsgroups`.

    A file (also .gz) is in UCI's bag-of-words format, three lines with the numbers of documents, words and entries and then lines
    `document word count` that count from 1, or in LDA-C's, a line `M word:count ...` for each document, with words from 0.
    `vocabulary` is a file with a word a line. `most_words` bounds the vocabulary of the newsgroups. Documents without words are
    left out. Raises `ConfigurationError`, with file and line where there is one, for every other file, and for more than `MOST`
    tokens or `MOST_WORDS` words.
    """
    if path == NEWSGROUPS:
        return _newsgroups(most_words)
    lines = enumerate(_lines(path, "--corpus"))
    head = [line for _, line in islice(lines, 3)]
    if len(head) == 3 and all(len(line.split()) == 1 and ":" not in line for line in head):
        found, size = _uci(path, lines, head)
    elif head and (":" in head[0] or head[0].strip() == "0"):
        found, size = _lda_c(path, chain(enumerate(head), lines))
    else:
        raise ConfigurationError(
            f"--corpus {path!r}: line 1 is {shown(head[0] if head else '')}; expected a number of documents (UCI's bag of words: "
            "three lines with one number each) or `M word:count ...` (LDA-C); give a file in one of these formats"
        )
    words = () if vocabulary is None else _words(vocabulary, size)
    return _corpus(found.owners, found.words, found.counts, max(size, len(words)), Path(path).name, words)


def _words(vocabulary: str, size: int) -> tuple[str, ...]:
    """The words of a vocabulary for at least `size` words."""
    words = tuple(line.strip() for line in islice(_lines(vocabulary, "--vocabulary"), MOST_WORDS + 1))
    if not size <= len(words) <= MOST_WORDS:
        raise ConfigurationError(
            f"--vocabulary {vocabulary!r}: {len(words)} words, and the corpus has {size}; expected one line for each word, and at "
            f"most {MOST_WORDS:,}"
        )
    return words


def _lines(path: str, option: str) -> Iterator[str]:
    """The lines of a text file, plain or packed; no more is held than one of them."""
    read = 0
    try:
        with _unpacked(path) as file:
            while raw := file.readline(MOST_LINE + 1):
                read += len(raw)
                if len(raw) > MOST_LINE or read > MOST_BYTES:
                    what, most = ("a line", MOST_LINE) if len(raw) > MOST_LINE else ("it", MOST_BYTES)
                    raise OSError(errno.EFBIG, f"{what} has more than the {amount(most)} that are read")
                yield raw.decode("utf-8").rstrip("\r\n")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise ConfigurationError(
            f"{option} {path!r}: cannot be read ({reason}); expected a text file in UTF-8, or one packed by gzip"
        ) from None


@contextlib.contextmanager
def _unpacked(path: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with opened(path, MOST_BYTES) as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        yield gzip.GzipFile(fileobj=file) if packed else file


class _Entries:
    """How often which word is in which document, from 0, entry by entry; 24 bytes each."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.owners, self.words, self.counts = (array("q") for _ in range(3))
        self._tokens = 0

    def add(self, document: int, word: int, count: int) -> None:
        """Add one. Raises `ConfigurationError` for a corpus of more tokens than are read."""
        self._tokens += count
        if self._tokens > MOST:
            raise ConfigurationError(
                f"--corpus {self._path!r}: it has more than {MOST:,} tokens, which are read at most; expected fewer; give a part "
                "of it"
            )
        self.owners.append(document)
        self.words.append(word)
        self.counts.append(count)


def _uci(path: str, lines: Iterator[tuple[int, str]], head: Sequence[str]) -> tuple[_Entries, int]:
    """The entries, and the size of the vocabulary."""
    documents, size, stated = (_number(path, number, line.strip(), 0) for number, line in enumerate(head))
    _check_size(path, size)
    found = _Entries(path)
    for number, line in lines:
        if not line.strip():
            continue
        parts = line.split()
        if len(parts) != 3:
            _refuse(path, number, line, "`document word count`")
        document, word, count = (_number(path, number, part, 1) for part in parts)
        if document > documents or word > size:
            _refuse(path, number, line, f"a document up to {documents} and a word up to {size}")
        found.add(document - 1, word - 1, count)
    if len(found.counts) != stated:
        raise ConfigurationError(
            f"--corpus {path!r}: {len(found.counts)} entries after line 3, which says {stated}; expected as many; is the file "
            "whole?"
        )
    return found, size


def _lda_c(path: str, lines: Iterator[tuple[int, str]]) -> tuple[_Entries, int]:
    """The same of an LDA-C file; the vocabulary ends with the largest word."""
    found, size, document = _Entries(path), 0, 0
    for number, line in lines:
        if not line.strip():
            continue
        first, *pairs = line.split()
        if _number(path, number, first, 0) != len(pairs):
            _refuse(path, number, line, f"as many pairs word:count as the first number says, {shown(first)}")
        for pair in pairs:
            text, colon, count = pair.partition(":")
            if not colon:
                _refuse(path, number, line, "pairs word:count")
            word = _number(path, number, text, 0)
            size = max(size, word + 1)
            found.add(document, word, _number(path, number, count, 1))
        document += 1
    _check_size(path, size)
    return found, size


def _check_size(path: str, size: int) -> None:
    if size > MOST_WORDS:
        raise ConfigurationError(
            f"--corpus {path!r}: its vocabulary has {size:,} words; expected at most {MOST_WORDS:,}, for every topic has a number "
            "for each; leave rare words out"
        )


def _corpus(
    owners: Sequence[int],
    words: Sequence[int],
    counts: Sequence[int],
    size: int,
    source: str,
    vocabulary: tuple[str, ...],
) -> Corpus:
    if not len(counts):
        raise ConfigurationError(f"--corpus {source!r}: no words; expected at least one")
    # Documents without words are not numbered.
    _, numbered = np.unique(np.asarray(owners, dtype=np.int64), return_inverse=True)
    order = np.argsort(numbered, kind="stable")
    times = np.asarray(counts, dtype=np.int64)[order]
    lengths = np.bincount(numbered[order], weights=times).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.repeat(np.asarray(words, dtype=np.int32)[order], times)
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
        with warnings.catch_warnings():
            # Each attempt that fails is warned of; the last one is told below.
            warnings.simplefilter("ignore")
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
    words = tuple(made.get_feature_names_out())
    return _corpus(table.row, table.col, table.data, len(words), NEWSGROUPS, words)


def _number(path: str, number: int, text: str, least: int) -> int:
    # int() also takes signs, underscores and the digits of other scripts.
    found = int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else least - 1
    if found < least:
        _refuse(path, number, text, f"a whole number of at least {least}")
    return found


def _refuse(path: str, number: int, line: str, expected: str) -> NoReturn:
    raise ConfigurationError(
        f"--corpus {path!r}, line {number + 1}: {shown(line)}; expected {expected}; mend the line"
    )
