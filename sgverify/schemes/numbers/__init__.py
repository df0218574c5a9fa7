"""Exact numbers in definitions.

`surd` (square roots) and `algebraic` (other radicals and real roots), `rounded` (what a float or a printed decimal stands
for), `constants` (vectors and matrices), `text` (numbers as people write them),
`arithmetic` (expressions in named quantities).
"""
