"""Can a graph be trusted without a ground truth? Regret of rules, reliability of probabilities.

Simulated graphs, whose truth is known, and the paper's two real data sets, of which entries are
hidden.
"""
