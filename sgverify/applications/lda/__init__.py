"""Latent Dirichlet allocation: topics of documents, sampled by SGLD and by SGHMC in two integrators.

In an order for reading: `gibbs` (the topics of tokens, given the topics' words; `gibbs.c` the same in C), `corpus` (documents, and
generated ones with known topics), `readers` (files of UCI and LDA-C, 20 newsgroups), `parametrisations` (expanded-natural and
expanded-mean), `model` (the stochastic gradient), `enumeration` (the exact one, of tiny documents), `perplexity` (document
completion, and topics matched with true ones), `samplers` (who is compared, on which grids), `experiment` (the run),
`outcomes` (what it keeps), `findings` (the paper's statements beside it), `figures`, `advised` (what `advise` answers about a
Gaussian of a few coordinates).
"""

from sgverify.applications.application import Application, Option

DECLARED = Application(
    name="lda",
    title="Latent Dirichlet allocation: SGLD, SGHMC by Euler's steps and by a splitting",
    summary="Sample the topics of a corpus: perplexity of held-out documents against step size, friction and documents seen, and "
    "how well the topics of a generated corpus are recovered.",
    source="chen2015 section 5 and Appendix K.2; Patterson and Teh 2013",
    minutes=4,
    run="sgverify.applications.lda.experiment:run",
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
        Option("documents", int, 5000, "Documents of a generated corpus.", quick=400, least=10),
        Option("words", int, 2000, "Words of the vocabulary of a generated corpus.", quick=200, least=2),
        Option("topics", int, 20, "K, of the model and of a generated corpus.", quick=5, least=2),
        Option("length", int, 60, "The mean length of a generated document.", quick=30, least=4),
        Option("alpha", float, 0.1, "The Dirichlet parameter of a document's proportions.", least=1e-3),
        Option("beta", float, 0.1, "The Dirichlet parameter of a topic's words.", least=1e-3),
        Option(
            "held-out", int, 200, "Documents to be completed, half of them for validation.", quick=40, least=4
        ),
        Option("batch", int, 100, "n, the documents of a minibatch.", quick=40, least=1),
        Option("steps", int, 250, "Steps of every chain; the last half is averaged.", quick=30, least=4),
        Option("evaluations", int, 10, "How often perplexity is computed.", quick=6, least=2),
        Option("burn", int, 2, "Gibbs sweeps over a document that do not count.", least=0),
        Option("sweeps", int, 3, "Gibbs sweeps over a document that are averaged.", least=1),
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
