"""Generic mathematics on exact numbers and balls, used by every engine.

`ball` (ball arithmetic, positive definite factors, enclosed eigenvectors of a symmetric matrix), `entrywise` (vectors and
matrices of any exact values), `matrix_series` (matrices of exact numbers; joint moments and cumulants),
`jets` (derivatives of a potential by Taylor polynomials), `quadrature` (nodes for normal and other laws, few with positive
weights; orthonormal polynomials), `panels` (functions of one normal number that are not smooth).
"""
