"""The image classifier of vr-resgld, sections 5.2 and 5.3: what do variance-reduced swaps gain on images that everybody has?

In an order for reading: `data` (images of classes that are learnt and of unseen ones), `cifar` (CIFAR's binary files), `network` (a
residual network of one vector of parameters), `model` (its posterior, with stochastic gradients), `methods` (who is compared, and
the printed settings scaled), `swapping` (replicas that swap by the sampler's own hooks), `variances` (the exact variance of the
energies, Figures 3 and 5), `predictions` (model averages), `scores` (of probabilities), `outcomes` (of methods), `comparison` (the
run), `findings` (the paper's statements beside it), `figures`, `asking` (what `advise` answers), `target` (a small network's
posterior for `verify`), `result`.
"""

from reports.applications.application import Application, Option

DECLARED = Application(
    name="classifier",
    title="Image classifier: replica exchange with reduced variance",
    summary=(
        "A residual network on scikit-learn's digits, or on CIFAR's binary files: M-SGD, SGHMC, cyclical SGHMC, and replica "
        "exchange with and without reduced variance, by the variance of their energies, their accuracy, and their uncertainty "
        "about classes that they have not seen."
    ),
    source="Deng, Feng, Karagiannis, Lin, Liang 2021, sections 5.2, 5.3, appendices E, F",
    minutes=4.0,
    run="reports.applications.classifier.result:run",
    options=(
        Option("epochs", int, 80, "Epochs; those of the paper are 500.", quick=6, least=1),
        Option("batch", int, 16, "Images of a minibatch; those of the paper are 256.", least=2),
        Option(
            "train-images",
            int,
            None,
            "Images that are learnt; by default 512 digits, or all images of --data.",
            quick=256,
            least=4,
            metavar="N",
        ),
        Option("width", int, 24, "Units of a dense layer, or filters of the first convolution.", least=1),
        Option("blocks", int, 2, "Residual blocks of the dense network.", least=1),
        Option(
            "depth",
            int,
            0,
            "Layers of a convolutional network, 6k + 2, such as 20, 32, 56 with --width 16; 0 is the dense one.",
            least=0,
        ),
        Option(
            "data",
            str,
            "",
            "Folder of the binary files of CIFAR-10 or CIFAR-100; without it, digits.",
            metavar="DIR",
        ),
        Option("unseen", str, "", "Folder of the other CIFAR, whose classes are unseen.", metavar="DIR"),
    ),
)
