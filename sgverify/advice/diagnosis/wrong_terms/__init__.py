"""Which terms of one step's expansion are wrong, and by which factor?

`moments` reads mean and covariance of a step's increment in powers of h, `groups` sorts their terms beside those of the
dynamics, `ratio` is the quotient of two of them. `consistency` names the cause where a step has the wrong generator, and
`noise` where its diffusion is; `second_order` where the generator is right and h^2 is wrong, `splitting` where letters or
shares of a word are; `draws` asks whether one draw serves several places, and
`unexpandable` why a step has no power series.
"""
