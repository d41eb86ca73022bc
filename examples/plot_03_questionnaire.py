"""
Questionnaire items: reversed wording needs signed edges
========================================================

Questionnaires mix positive items ("I like to be among people") with reversed ones ("I avoid
parties"). Reversed items correlate negatively with the others. A graph without signs cannot link
them. The answers are **simulated**: three traits, five items each, two of them reversed.
"""

# %%
# Answers from 1 to 5 of 300 people; 5 % are missing.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import kgl

rng = np.random.default_rng(1)
traits = ["outgoing", "orderly", "calm"]
people, per_trait = 300, 5
scores = rng.normal(size=(people, len(traits)))
columns = {}
for k, trait in enumerate(traits):
    for item in range(1, per_trait + 1):
        direction = -1 if item > 3 else 1
        answer = 3 + 0.9 * direction * scores[:, k] + 0.7 * rng.normal(size=people)
        columns[f"{trait} {item}{' (R)' if direction < 0 else ''}"] = np.clip(answer.round(), 1, 5)
answers = pd.DataFrame(columns).where(rng.random((people, len(columns))) > 0.05)
answers.head(3)

# %%
# The same model with and without signs, 30 edges each. Ten pairs of items belong to each trait.

degree = 2 * 30 / len(columns)
signed = kgl.KGL(average_degree=degree).fit(answers)
unsigned = kgl.KGL(average_degree=degree, signed=False).fit(answers)
trait_of = np.repeat(np.arange(len(traits)), per_trait)
for name, model in {"signed": signed, "not signed": unsigned}.items():
    pairs = model.to_networkx().edges
    same = sum(a.split()[0] == b.split()[0] for a, b in pairs)
    print(f"{name:11s} {same} of {len(pairs)} edges link items of one trait")

# %%
# Items on a circle, one colour for each trait. Dashed edges link opposites.

angle = 2 * np.pi * (np.arange(len(columns)) + 0.5) / len(columns)
circle = np.column_stack([np.cos(angle), np.sin(angle)])
fig, axes = plt.subplots(1, 2, figsize=(9, 4.6))
for ax, model, title in zip(
    axes, (unsigned, signed), ("signed=False", "signed=True (default)"), strict=True
):
    model.plot(ax=ax, positions=circle, values=trait_of, labels=False, title=title)
    for name, (across, up) in zip(columns, 1.12 * circle, strict=True):
        side = "left" if across > 0 else "right"
        ax.text(across, up, name, ha=side, va="center", fontsize=7.5)
    ax.set(xlim=(-1.9, 1.9))

# %%
# The sign of an edge is in the table, too.

signed.to_edges().query("sign < 0").head()

# %%
# **Lesson.** Leave ``signed=True`` where columns may move opposite to each other. Recoding the
# reversed items by hand gives the same graph.
