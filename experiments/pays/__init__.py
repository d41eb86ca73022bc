"""When does kernel graph learning pay? Imputation and new nodes against baselines, on real tables.

The tables come with public Python packages (``pip install 'kernel-graph-learning[pays]'``, from a
checkout ``pip install '.[pays]'``); nothing of them is kept in the repository.
"""
