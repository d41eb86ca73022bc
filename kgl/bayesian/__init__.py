"""A generative model of graph and signals: edges with probabilities, values with intervals."""
