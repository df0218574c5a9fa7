"""The exact laws of minibatch noise.

`law` has the cumulants of a mean of random data, `transition` those of the blocks of a permutation, `epochs` the
reshuffled noise that is added; where minibatches change the Hessian, `hessians` averages products over them and
`transition` makes an affine chain of the moments.
"""
