"""Exact numbers in definitions.

`roots` (what stands under a root), `algebraic` (radicals, real roots and their sums), `rounded` (what a float or a printed decimal
stands for), `constants` (vectors and matrices), `periods` (the coordinates that they tell apart), `text` (numbers as people write
them, and expressions in named quantities).
"""
