"""Latent Dirichlet allocation: topics of documents, sampled by SGLD and by SGHMC in two integrators.

In an order for reading: `gibbs` (the topics of tokens, given the topics' words; `gibbs.c` the same in C), `corpus` (documents, and
generated ones with known topics), `readers` (files of UCI and LDA-C, 20 newsgroups), `parametrisations` (expanded-natural and
expanded-mean), `model` (the stochastic gradient), `enumeration` (the exact one, of tiny documents), `exactness` (few sweeps beside
it), `perplexity` (document completion, and topics matched with true ones), `samplers` (who is compared, on which grids),
`experiment` (the run), `outcomes` (what it keeps), `findings` (the paper's statements beside it), `figures`, `advised` (what
`advise` answers about a Gaussian of a few coordinates).
"""

from collections.abc import Mapping
from typing import Any

from reports.applications.application import Application, Option
from sgverify.errors import ConfigurationError

NEWSGROUPS = "20newsgroups"
"""The name by which scikit-learn's corpus is asked for."""

GENERATED = ("documents", "words", "length")
"""The options of a corpus that is generated."""


def _refuse(given: Mapping[str, Any]) -> None:
    """Raise `ConfigurationError` for an option without an effect: of a generated corpus beside a file, or of a file without one."""
    corpus = given.get("corpus")
    if "vocabulary" in given and corpus in (None, NEWSGROUPS):
        raise ConfigurationError(
            f"--vocabulary {given['vocabulary']!r}: expected --corpus FILE beside it, whose words it names; give that too, or "
            "leave it out"
        )
    # The most frequent words of the newsgroups are taken, so many.
    used = ("words",) if corpus == NEWSGROUPS else ()
    for name in GENERATED:
        if name in given and corpus is not None and name not in used:
            raise ConfigurationError(
                f"--{name} {given[name]} beside --corpus {corpus!r}: it is of a generated corpus; expected one of the two; "
                "leave one out"
            )


DECLARED = Application(
    refuse=_refuse,
    name="lda",
    title="Latent Dirichlet allocation: SGLD, SGHMC by Euler's steps and by a splitting",
    summary="Sample the topics of a corpus: perplexity of held-out documents against step size, friction and documents seen, and "
    "how well the topics of a generated corpus are recovered.",
    source="chen2015 section 5 and Appendix K.2; Patterson and Teh 2013",
    minutes=4,
    run="reports.applications.lda.experiment:run",
    options=(
        Option(
            "corpus",
            str,
            None,
            "A file in UCI's bag-of-words or in LDA-C's format, or 20newsgroups, which scikit-learn fetches; by default a corpus "
            "is generated from known topics.",
            metavar="FILE|20newsgroups",
        ),
        Option("vocabulary", str, None, "The words of the corpus, one a line.", metavar="FILE"),
        Option("documents", int, 5000, "Documents of a generated corpus.", quick=400, least=10, most=1e7),
        Option(
            "words", int, 2000, "Words of the vocabulary of a generated corpus.", quick=200, least=2, most=1e6
        ),
        Option("topics", int, 20, "K, of the model and of a generated corpus.", quick=5, least=2, most=1e4),
        Option("length", int, 60, "The mean length of a generated document.", quick=30, least=4, most=1e5),
        Option(
            "alpha", float, 0.1, "The Dirichlet parameter of a document's proportions.", least=1e-3, most=1e6
        ),
        Option("beta", float, 0.1, "The Dirichlet parameter of a topic's words.", least=1e-3, most=1e6),
        Option(
            "held-out",
            int,
            200,
            "Documents to be completed, half of them for validation.",
            quick=40,
            least=4,
            most=1e7,
        ),
        Option("batch", int, 100, "n, the documents of a minibatch.", quick=40, least=1, most=1e7),
        Option(
            "steps",
            int,
            250,
            "Steps of every chain; what is computed in the last half is averaged.",
            quick=30,
            least=4,
            most=1e9,
        ),
        Option("evaluations", int, 10, "How often perplexity is computed.", quick=6, least=2, most=1e6),
        Option(
            "refinements",
            int,
            12,
            "How often each grid is refined around its best setting, at most.",
            quick=0,
            least=0,
            most=100,
        ),
        Option("burn", int, 2, "Gibbs sweeps over a document that do not count.", least=0, most=1e4),
        Option("sweeps", int, 3, "Gibbs sweeps over a document that are averaged.", least=1, most=1e4),
        Option(
            "friction",
            float,
            (40.0,),
            "D as the paper prints it, for 10 million documents; times the square root of N/10^7.",
            many=True,
            least=1e-6,
        ),
    ),
)
