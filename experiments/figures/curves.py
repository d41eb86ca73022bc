"""Curves over noise, missing rate and size: figures 2 to 5 and 8 to 11."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from experiments import style
from experiments.figures import Inputs


def recovery(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """One row per kind of data, one column per metric, one line per model."""
    raise NotImplementedError
