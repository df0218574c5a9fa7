"""Splittings as products of exponentials: Baker-Campbell-Hausdorff, exactly.

`splitting` reads a word and its coefficients into the free algebra, `lyndon` has its basis, `bch` finds order and
leading error, `order_conditions` the equations in the coefficients, `printed_decimals` the order that rounded coefficients are
consistent with, `conjugacy` the order up to conjugacy, `mean_flow` the flow of several minibatches.
"""
