"""
Weather stations: covariates help where records have gaps
=========================================================

Hourly temperatures at 24 stations, 20 % of them missing. Position and altitude of the stations, and
the hour of each record, enter as covariates. The data are **simulated**: stations near each other
and at similar altitudes go together.
"""

# %%
# The data
# --------
# Rows are hours, columns are stations, NaN is a missing record.

import matplotlib.pyplot as plt
import numpy as np

import kgl

data = kgl.datasets.make_stations()
data.Y.iloc[:4, :6]

# %%
# The graph
# ---------
# :class:`kgl.KGL` takes covariates of stations (``x``) and of hours (``z``). The density is the
# share of all pairs of stations that become edges.

model = kgl.KGL(density=0.15).fit(data.Y, x=data.x, z=data.z)
print(model.summary())

ax = model.plot(
    positions=data.x[["east", "north"]],
    values=data.x["altitude"],
    values_label="altitude (km)",
    title="Learned graph, stations at their places",
)

# %%
# Dashed edges link stations that moved opposite to each other in these three days.
#
# Filled gaps
# -----------
# The simulation has the noise-free temperatures, so the error at the gaps is known. The mean of
# the station and linear interpolation in time are simple alternatives.

gaps = data.Y.isna().to_numpy()
guesses = {
    "mean of the station": data.Y.fillna(data.Y.mean()),
    "interpolation in time": data.Y.interpolate(limit_direction="both"),
    "KGL": model.impute(data.Y),
}
for name, guess in guesses.items():
    error = np.sqrt(np.mean((guess.to_numpy() - data.signals)[gaps] ** 2))
    print(f"{name:22s} RMSE at the gaps {error:.2f} °C")

# %%
# One station, with its gaps:

station = data.Y.columns[gaps.sum(axis=0).argmax()]
column = data.Y.columns.get_loc(station)
hours, missing = data.Y.index, gaps[:, column]
fig, ax = plt.subplots(figsize=(7, 3.2))
ax.plot(hours, data.signals[:, column], color="0.6", lw=3, label="noise-free temperature")
ax.plot(hours, data.Y[station], ".", label="record")
filled = guesses["KGL"][station][missing]
ax.plot(hours[missing], filled, "D", ms=5, mfc="none", label="filled by KGL")
ax.set(xlabel="hour", ylabel="departure from the mean (°C)", title=f"Station {station}")
fig.legend(frameon=False, ncols=3, loc="outside lower center")

# %%
# **Lesson.** With covariates of nodes and of rows, a gap is filled from near stations and from near
# hours at once.
