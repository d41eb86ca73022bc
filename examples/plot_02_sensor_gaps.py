"""
Sensor gaps: estimate the error before you use filled values
============================================================

A sensor that fails is silent for hours. Long gaps cannot be bridged by interpolation; other sensors
help. How large is the error? :func:`kgl.select_held_out` hides known entries in gaps of the same
shape, predicts them, and reports the error. The data are **simulated**, so the estimate can be
compared with the true error.
"""

# %%
# Sixteen sensors, each silent for one run of ten to twenty hours.

import matplotlib.pyplot as plt
import numpy as np

import kgl

data = kgl.datasets.make_stations(m=16, n=96, missing=0.0, seed=3)
rng = np.random.default_rng(0)
Y = data.Y.copy()
for sensor in Y.columns:
    start, length = rng.integers(5, 70), rng.integers(10, 21)
    Y.loc[start : start + length, sensor] = np.nan
gaps = Y.isna().to_numpy()
print(f"{gaps.mean():.0%} of the entries are missing")

# %%
# Tune ``lam`` and ``rho`` by entries that are held out in runs like those that are missing.

chosen = kgl.select_held_out(
    kgl.KGL,
    Y,
    x=data.x,
    z=data.z,
    lam=[1e-4, 1e-2],
    rho=[3e-3, 3e-2],
    density=0.3,
    n_folds=3,
    folds="gaps",
)
print(chosen.params)

# %%
# Compare the estimated error with the true one, in units of each sensor's standard deviation.

scale = Y.std().to_numpy()


def rmse(guess):
    """Root mean square error at the gaps, in standard deviations of the sensor."""
    return float(np.sqrt(np.mean(((guess.to_numpy() - data.Y.to_numpy()) / scale)[gaps] ** 2)))


filled = chosen.estimator.impute(Y)
errors = {
    "mean of the sensor": rmse(Y.fillna(Y.mean())),
    "interpolation in time": rmse(Y.interpolate(limit_direction="both")),
    "KGL": rmse(filled),
    "KGL, estimated\nby held-out entries": float(np.sqrt(chosen.mse.min())),
}

sensor = Y.columns[gaps.sum(axis=0).argmax()]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=[1.7, 1])
left.plot(data.Y[sensor], color="0.6", lw=3, label="true record")
left.plot(Y[sensor], color="C0", lw=1.5, label="known part")
silent = Y[sensor].isna()
left.plot(filled[sensor].where(silent), "--", color="C1", lw=2, label="filled by KGL")
straight = Y[sensor].interpolate(limit_direction="both").where(silent)
left.plot(straight, ":", color="C2", lw=2, label="interpolation")
left.set(xlabel="hour", ylabel="departure from the mean (°C)", title=f"Sensor {sensor}")
left.legend(frameon=False, fontsize=8)
names = list(errors)
right.barh(names, list(errors.values()), color=["0.7", "C2", "C1", "C0"])
right.invert_yaxis()
right.set(xlabel="RMSE (standard deviations)", title="Error in the gaps")
for row, value in enumerate(errors.values()):
    right.text(value, row, f" {value:.2f}", va="center")
right.set_xlim(0, 1.2 * max(errors.values()))

# %%
# **Lesson.** Hide what you want to predict. With ``folds="gaps"`` the held-out error is an estimate
# of the error in gaps of that length; with single entries held out it would be too optimistic.
