"""Which rate do sampled chains show? They are drawn where somebody asks for samples, at a stated error rate.

`method` fixes the random streams, the cost, the average that samples are compared with, and the level of a decision. `pilot` finds
how long chains forget their start and where their bias is moderate, `plan` the steps or lengths, the chains and the looks, `rates`
decides, and lays sampled points beside exact curves.
"""
