"""
Single cells: a sketch that keeps the rare ones
===============================================

An experiment measured 4,000 cells. The next step, an expensive model that runs overnight, can
take 80. The usual solution is to take 80 cells at random, but this often loses what the
experiment was made for: a cell type of which there is one in two hundred.

The counts are simulated, so that we know the type of every cell: negative binomial counts of
600 genes, more than half of them zero, with a different sequencing depth per cell and cell
types of very unequal size. The names of the types only make the pictures easier to read.
"""

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.decomposition import PCA

import protobandit as pb

random = np.random.default_rng(0)
shares = {
    "T cells": 0.44,
    "B cells": 0.22,
    "monocytes": 0.18,
    "NK cells": 0.115,
    "dendritic cells": 0.04,
    "plasma cells": 0.005,
}
n_cells, n_genes, dispersion = 4_000, 600, 2.0
types = random.choice(list(shares), n_cells, p=list(shares.values()))
everywhere = random.gamma(0.4, 1.0, n_genes)  # a few genes are high, most are low
levels = {}
for name in shares:  # each type raises the level of 40 genes
    levels[name] = everywhere.copy()
    levels[name][random.choice(n_genes, 40, replace=False)] *= random.lognormal(2.2, 0.5, 40)
depth = 1_500 * random.lognormal(0, 0.35, n_cells)
means = np.stack([levels[name] / levels[name].sum() for name in types]) * depth[:, None]
counts = random.poisson(random.gamma(dispersion, means / dispersion))
print(f"{np.mean(counts == 0):.0%} of the counts are zero")

# %%
# From counts to components
# -------------------------
# The usual steps: divide by the depth of each cell, take logarithms, keep 20 principal
# components. With real data, scanpy does this and leaves the same array in
# ``adata.obsm["X_pca"]``.

logs = np.log1p(counts / counts.sum(axis=1, keepdims=True) * 10_000)
names = [f"cell {i}" for i in range(n_cells)]
adata = anndata.AnnData(counts, obs=pd.DataFrame({"type": types}, index=names))
adata.obsm["X_pca"] = PCA(20, svd_solver="covariance_eigh").fit_transform(logs)
adata

# %%
# The sketch
# ----------
# ``select`` takes the AnnData object and the name of the array to compare. Nothing tells it about
# cell types.

sketch = pb.select(adata, obsm="X_pca", k=80, random_state=0)
sketch

# %%
# Which types are in it?
# ----------------------
# The last column is the share of 1,000 random draws of 80 cells without a single cell of that
# type.

all_counts = pd.Series(types).value_counts()
chosen_counts = pd.Series(types[sketch.indices]).value_counts().reindex(all_counts.index)
draws = [types[random.choice(n_cells, 80, replace=False)] for _ in range(1_000)]
lost = [np.mean([name not in draw for draw in draws]) for name in all_counts.index]
table = pd.DataFrame(
    {
        "all cells": all_counts,
        "cells in the sketch": chosen_counts.fillna(0).astype(int),
        "lost by random cells": [f"{share:.0%}" for share in lost],
    }
)
assert table["cells in the sketch"].min() >= 1
table

# %%
# The sketch has every type, also the rarest. That is not chance: cells of a type that has no
# prototype are far from all prototypes. If they are far enough, a prototype among them lowers the
# cost more than another one elsewhere, even if they are few.
#
# In the first two components the plasma cells overlap with other cells. The panel on the right
# shows the two components in which they differ most; the search uses all 20.

colours = dict(
    zip(shares, ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"], strict=True)
)
places = adata.obsm["X_pca"]
is_rare = types == "plasma cells"
apart = np.abs(places[is_rare].mean(axis=0)) / places.std(axis=0)
third, fourth = np.sort(np.argsort(apart)[-2:])
figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, (a, b) in zip(axes, [(0, 1), (third, fourth)], strict=True):
    for name, colour in colours.items():
        cells = types == name
        picks = sketch.indices[types[sketch.indices] == name]
        ax.scatter(places[cells, a], places[cells, b], s=8, color=colour, alpha=0.35, linewidths=0)
        ax.scatter(
            places[picks, a],
            places[picks, b],
            s=46,
            color=colour,
            edgecolors="black",
            linewidths=0.9,
            label=name,
        )
    ax.set_xlabel(f"component {a + 1}")
    ax.set_ylabel(f"component {b + 1}")
    ax.set(xticks=[], yticks=[])
    ax.spines[["top", "right"]].set_visible(False)
figure.legend(
    *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False
)
figure.suptitle("4,000 cells (dots) and the 80 of the sketch (circles)", x=0.01, ha="left")
plt.show()

# %%
# Counting with the sketch
# ------------------------
# A sketch is not a random sample, and the number of its cells of a type only roughly follows the
# share of that type. The ``mass`` corrects this: if each cell of the sketch counts with its mass,
# the shares are about those of all cells.

by_mass = pd.Series(sketch.mass).groupby(types[sketch.indices]).sum().reindex(all_counts.index)
assert np.allclose(by_mass, all_counts / n_cells, atol=0.005)
pd.DataFrame(
    {
        "all cells": all_counts / n_cells,
        "cells of the sketch, by mass": by_mass,
        "cells of the sketch, counted": chosen_counts / 80,
    }
).map("{:.1%}".format)

# %%
# How good is it?
# ---------------
# The certificate bounds the mean distance of a cell to the sketch by the best that any 80 cells
# could reach.

print(sketch.certify())

# %%
# What to try next
# ----------------
# - ``by="type"`` chooses cells of each annotated type separately, at least one of each.
# - ``method="kcenter"`` spreads cells as evenly as possible, without regard to how many there
#   are: more rare cells, but also more outliers.
# - ``adata[sketch.indices]`` is the sketch as an AnnData object; ``adata.obs["prototype"] =
#   sketch.assign(adata.obsm["X_pca"]).labels`` says which cell stands for which.
# - The same call takes a million cells; a Dask array takes more than fit into memory.
