"""The sigmoid belief network of chen2015, section 5: does the order of its samplers show on images that everybody has?

`model` is the network with its densities, enumerated up to 15 hidden units; `exact_gradient` and `sampled_gradient` are the
gradient by enumeration and by Gibbs sweeps over the `hidden_units`; `annealing` estimates likelihoods, `exactness` holds both
estimates against enumeration. `target` is a small network's posterior for `verify` and `advise`. `data` are the images, `grids`
the printed step sizes. `sampling` moves chains, `comparison` runs the grids, `findings` are the paper's statements beside the
numbers, `asking` is what `advise` answers, `figures` are the studies and the dictionary, and `result` puts them together.
"""

from reports.applications.application import Application, Option

DECLARED = Application(
    name="sbn",
    title="Sigmoid belief network on binary images",
    summary=(
        "A sigmoid belief network of one hidden layer on scikit-learn's digits, or on IDX files such as MNIST's: SGLD, SGHMC by "
        "Euler and SGHMC by the symmetric splitting over the printed step sizes and frictions, by the test negative log-likelihood."
    ),
    source="Chen, Ding, Carin 2015, section 5, Appendix K.2, Table 1 and Figure 9",
    minutes=4.0,
    run="reports.applications.sbn.result:run",
    options=(
        Option(
            "hidden",
            int,
            (50,),
            "Hidden units; up to 15 are enumerated.",
            quick=(8,),
            many=True,
            least=1,
            most=1e5,
        ),
        Option("steps", int, 300, "Steps of each chain; the paper has 5000.", quick=40, least=4, most=1e9),
        Option(
            "refinements",
            int,
            0,
            "How often the grids are refined around the best setting of each sampler, at most; each time takes up to a quarter as "
            "long again.",
            least=0,
            most=100,
        ),
        Option("batch", int, 200, "Images of a minibatch, as in the paper.", least=1, most=1e9),
        Option("burn-in", int, 2, "Gibbs sweeps of a gradient before the kept ones.", least=0, most=1e4),
        Option(
            "kept", int, 1, "States kept for a gradient, one after each further sweep.", least=1, most=1e4
        ),
        Option(
            "temperatures",
            int,
            60,
            "Temperatures of annealed importance sampling, one chain for each image.",
            quick=30,
            least=1,
            most=1e6,
        ),
        Option(
            "train", str, "", "IDX file of training images, plain or .gz; without it, digits.", metavar="FILE"
        ),
        Option("test", str, "", "IDX file of test images, plain or .gz.", metavar="FILE"),
    ),
)
