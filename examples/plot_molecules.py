"""
Molecules: a diverse set of bit vectors
=======================================

A laboratory can test 30 of 2,000 compounds. Chemists describe a compound by a fingerprint, a
vector of bits that say which small patterns it contains, and compare two of them by the
Tanimoto distance: one minus the number of common bits over the number of bits in either. Other
fields call it the Jaccard distance.

There are two goals. The 30 should *represent* the library: most compounds should have a similar
tested one. And they should be *diverse*: no two of them nearly the same, and no compound of the
library far from all of them.

The fingerprints are generated, not computed from real molecules: 24 scaffolds of very unequal
size, each a set of bits, and substituents that add some bits more.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import protobandit as pb

random = np.random.default_rng(0)
n_compounds, n_bits = 2_000, 512
sizes = 1 / np.arange(1, 25) ** 1.3  # a few large series, many small ones
scaffolds = [random.choice(n_bits, random.integers(14, 24), replace=False) for _ in sizes]
substituents = [random.choice(n_bits, random.integers(5, 11), replace=False) for _ in range(60)]
series = random.choice(24, n_compounds, p=sizes / sizes.sum())
fingerprints = np.zeros((n_compounds, n_bits), dtype=np.float32)
for row, scaffold in zip(fingerprints, series, strict=True):
    bits = scaffolds[scaffold]
    row[bits[random.random(len(bits)) < 0.93]] = 1  # a scaffold loses a pattern now and then
    for substituent in random.choice(60, random.integers(1, 4), replace=False):
        row[substituents[substituent]] = 1
print(f"{fingerprints.sum(axis=1).mean():.0f} of {n_bits} bits are set on average")

# %%
# Four ways to pick 30
# --------------------
# - *representative*: what ``select`` does without further options. It minimises the mean distance
#   of all compounds to their nearest pick.
# - *representative, apart*: the same, but no two picks may be closer than 0.6.
# - *diverse*: farthest first (``kcenter``), known in chemistry as MaxMin picking. It considers
#   the worst case only.
# - *random*.

options = {
    "representative": {},
    "representative, apart": {"constraints": pb.Constraints(min_distance=0.6)},
    "diverse (kcenter)": {"method": "kcenter"},
    "random": {"method": "random"},
}
picks = {
    name: pb.select(fingerprints, k=30, metric="jaccard", random_state=0, **each)
    for name, each in options.items()
}


def described(selection):
    """Return the numbers by which people choose between such sets."""
    between = selection.distances(fingerprints[selection.indices])
    np.fill_diagonal(between, np.inf)
    to_nearest = selection.assign(fingerprints).distances
    return {
        "mean distance of a compound": to_nearest.mean(),
        "90 % of the compounds within": np.quantile(to_nearest, 0.9),
        "farthest compound": to_nearest.max(),
        "closest two picks": between.min(),
        "scaffolds among the picks": len(set(series[selection.indices])),
    }


table = pd.DataFrame({name: described(each) for name, each in picks.items()}).T
table.astype({"scaffolds among the picks": int}).round(2)

# %%
# How to read the table
# ---------------------
# Each set is the best in the column that it was made for. The representative picks have the lowest
# mean distance: it is the ``cost``. With the diverse ones, no compound is very far from all picks,
# and the picks are far from each other. They have more scaffolds, because a scaffold with ten
# compounds counts as much for them as one with hundreds. But their mean distance is hardly better
# than that of random picks. In between, a minimum distance removes near-duplicates and increases
# the mean only a little.

mean, closest = table["mean distance of a compound"], table["closest two picks"]
assert mean.idxmin() == "representative"
assert mean["representative, apart"] < 1.1 * mean["representative"]
assert mean["diverse (kcenter)"] > 0.9 * mean["random"]
assert closest["representative, apart"] >= 0.6
assert table["farthest compound"].idxmin() == "diverse (kcenter)"

# %%
colours = ["#0072B2", "#009E73", "#D55E00", "#888888"]
figure, ax = plt.subplots(figsize=(8.5, 4), layout="constrained")
for (name, selection), colour in zip(picks.items(), colours, strict=True):
    distances = np.sort(selection.assign(fingerprints).distances)
    style = "--" if name == "random" else "-"
    ax.plot(distances, np.arange(1, n_compounds + 1) / n_compounds, style, color=colour, label=name)
ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
ax.set_xlabel("Tanimoto distance to the nearest of 30 picks")
ax.set_ylabel("share of the compounds within it")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# Where the picks went
# --------------------
# The scaffolds from the largest to the smallest, and the number of picks that each has. The
# representative picks are mostly in large scaffolds. The diverse ones take one of each scaffold and
# then unusual compounds: several of the second scaffold, which has the fewest bits of its own, so
# that substituents change most of it.

assert min(range(24), key=lambda number: len(scaffolds[number])) == 1

figure, axes = plt.subplots(2, 1, figsize=(8.5, 4.2), layout="constrained", sharex=True)
by_size = np.argsort(-np.bincount(series, minlength=24))
axes[0].bar(range(24), np.bincount(series, minlength=24)[by_size], color="#BBBBBB")
axes[0].set_ylabel("compounds")
for name, colour, shift in (
    ("representative", "#0072B2", -0.2),
    ("diverse (kcenter)", "#D55E00", 0.2),
):
    numbers = np.bincount(series[picks[name].indices], minlength=24)[by_size]
    axes[1].bar(np.arange(24) + shift, numbers, 0.4, color=colour, label=name)
axes[1].set_ylabel("picks")
axes[1].set_xlabel("scaffolds, largest first")
axes[1].set_xticks([])
axes[1].yaxis.get_major_locator().set_params(integer=True)
axes[1].legend(frameon=False)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What to try next
# ----------------
# - ``pb.Constraints(fixed=tested)`` keeps compounds that have been tested already and picks the
#   others around them.
# - ``pb.Constraints(costs=price, budget=5_000)`` picks as many as the money allows.
# - ``until=pb.Coverage(share=0.9, radius=0.7)`` instead of ``k`` picks until 90 % of the library
#   have a pick within 0.7.
# - Real fingerprints of RDKit are used in the same way, as an array of 0 and 1.
