"""The wrong terms of one step's expansion, and the factors by which they are wrong.

`moments` reads mean and covariance of a step's increment in powers of h, and the quotient of two terms. `consistency` names the
cause where a step has the wrong generator, `noise` where its diffusion is (its terms beside those of the dynamics),
`second_order` where the generator is right and h^2 is wrong. `draws` asks whether one draw serves several places, which letters
or shares of a word are wrong, and why a step has no power series.
"""
