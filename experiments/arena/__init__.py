"""Which package finds the graph? Peers in environments of their own, all on the same arrays.

Each peer has an adapter in ``peers/``, a program that reads arrays and writes edge weights, and a
list of packages beside it; :mod:`experiments.arena.environments` builds the environments. A peer
that is absent, fails or takes too long is counted, and disturbs no other.
"""
