"""Numerical solvers: the graph step, the signal step, their alternation, and slow references."""
