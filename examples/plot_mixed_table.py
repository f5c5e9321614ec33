"""
A mixed table: eight flats to visit
===================================

A housing office wants to know what 900 flats to let are like: numbers (rent, area, rooms,
year), categories (district, heating, lift, pets) and the gaps of forms that people fill in.
There is time to visit eight flats this week.

The table is generated (``examples/data/make_data.py``); no row describes a real flat.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import protobandit as pb

flats = pd.read_csv("data/flats.csv")
flats.head()

# %%
# Which columns have gaps?

flats.isna().sum().loc[lambda gaps: gaps > 0].to_frame("missing values")

# %%
# One distance for numbers and categories
# ---------------------------------------
# Euros, square metres and kinds of heating have no common unit. Gower's distance gives them one:
# a difference of numbers counts as a share of the range of its column, two different categories
# count 1, and every column has the same weight. A distance of 0.25 between two flats means that
# they differ by a quarter of what is possible, on average over the columns.
#
# ``impute`` says what replaces a gap in a column of numbers while rows are compared. A missing
# category counts as the most frequent one. The table itself stays as it is.

preparation = pb.Preparation(categories="gower", impute="median")
selection = pb.select(flats, k=8, preparation=preparation, random_state=0)
selection

# %%
# The eight flats
# ---------------
# ``to_frame`` adds the columns of the table to what is known about each prototype. ``rank`` is
# the order in which they were found, ``mass`` the share of the 900 flats that each one stands
# for.

selection.to_frame(flats).drop(columns=["gain", "cost"]).style.hide(axis="index").format(
    {"mass": "{:.1%}", "area": "{:.0f}", "built": "{:.0f}"}, na_rep="?"
)

# %%
# Only flats with a complete form
# -------------------------------
# Some of the chosen flats have gaps themselves (``?``). For a visit we would rather have complete
# forms. So the rows to choose from (the source) are the complete flats, and the rows to represent
# (the target) are still all flats: what matters is the whole market.

complete = flats.dropna()
visits = pb.select(complete, flats, k=8, preparation=preparation, random_state=0)
print(f"complete flats                         {len(complete)} of {len(flats)}")
print(f"mean distance, any flat may be chosen  {selection.cost:.4f}")
print(f"mean distance, complete flats only     {visits.cost:.4f}")
print(visits.certify())
assert visits.cost < 1.05 * selection.cost

# %%
# With complete flats only, the mean distance is only a little larger. The certificate compares with
# the best eight *complete* flats.
#
# Does the choice cover the market?
# ---------------------------------
# Eight points among 900, in two numbers that people care about. The size of a point is its mass;
# the colour is the kind of heating, one of the columns that decide too (grey: not known).

colours = {
    "district": "#0072B2",
    "gas": "#E69F00",
    "heat pump": "#009E73",
    "oil": "#CC79A7",
    "wood": "#D55E00",
}
chosen = visits.take(complete)
unknown = flats[flats["heating"].isna()]
figure, ax = plt.subplots(figsize=(8.5, 5), layout="constrained")
ax.scatter(unknown["area"], unknown["rent"], s=9, color="#BBBBBB", linewidths=0)
for heating, colour in colours.items():
    rows, picks = flats[flats["heating"] == heating], chosen["heating"] == heating
    ax.scatter(rows["area"], rows["rent"], s=12, color=colour, alpha=0.5, linewidths=0)
    ax.scatter([], [], s=50, color=colour, label=heating)
    ax.scatter(
        chosen["area"][picks],
        chosen["rent"][picks],
        s=2500 * visits.mass[picks.to_numpy()],
        color=colour,
        edgecolors="black",
        linewidths=1.2,
        alpha=0.85,
    )
ax.set_xlabel("area (square metres)")
ax.set_ylabel("rent (euros per month)")
ax.set_title("900 flats, and eight to visit (size: the share each stands for)", loc="left")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(title="heating", frameon=False, loc="upper left")
plt.show()

# %%
# And the categories: the share of each district among all flats, and the share that the eight
# flats give it, if each counts with its mass. Every district has a visit, and the shares are
# roughly right; they cannot all be exact, because a visited flat also stands for flats of other
# districts.

everywhere = flats["district"].value_counts(normalize=True)
by_mass = pd.Series(visits.mass).groupby(chosen["district"].to_numpy()).sum()
by_mass = by_mass.reindex(everywhere.index).fillna(0)
assert (by_mass > 0).all()

figure, ax = plt.subplots(figsize=(8.5, 2.8), layout="constrained")
places = np.arange(len(everywhere))
ax.bar(places - 0.2, everywhere, 0.38, color="#BBBBBB", label="all 900 flats")
ax.bar(places + 0.2, by_mass, 0.38, color="#0072B2", label="eight flats, by mass")
ax.set_xticks(places, everywhere.index)
ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
ax.spines[["top", "right"]].set_visible(False)
ax.set_title("Share of each district", loc="left")
ax.legend(frameon=False)
plt.show()

# %%
# What to try next
# ----------------
# - ``pb.Constraints(groups="district", at_least=1)`` guarantees a visit in every district; the
#   column that names the groups is then not compared.
# - ``visits.explain(flats.iloc[[0]])`` finds the visited flats that are most like a given one.
# - ``categories="one-hot", standardize=True`` is the other usual way to compare such rows.
# - ``visits.report("flats.html", rows=complete, target=flats)`` writes a page for colleagues.
#
# The data: :download:`flats.csv <../../examples/data/flats.csv>`.
