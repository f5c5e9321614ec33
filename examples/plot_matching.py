"""
Test and control: shops to compare a pilot with
===============================================

A chain tests a new kind of checkout in 120 shops. Did sales grow because of it? The pilot shops
are not like the others: larger, in richer districts, with more online orders. Comparing them
with all 1,500 other shops would compare shops that differ in many ways. An audit of control
shops is expensive, and the budget is 40.

So we choose 40 of the other shops (the source) that represent the pilot shops (the target).
Pilot shops with a large turnover should count more: they have weights.

The shops are generated, with a true effect of 2.0 percentage points. So we can check the
answer.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import protobandit as pb

random = np.random.default_rng(2)
n = 1_620
income = random.normal(0, 1, n)
area = random.lognormal(6.4, 0.4, n)
shops = pd.DataFrame(
    {
        "floor area": area,
        "customers": area * random.lognormal(0.6, 0.25, n),
        "online share": np.clip(0.12 + 0.04 * income + random.normal(0, 0.04, n), 0, None),
        "district income": 24_000 + 5_000 * income,
        "competitors": random.poisson(3, n),
    }
)
standard = (shops - shops.mean()) / shops.std()
eager = 0.7 * standard["floor area"] + 0.6 * standard["online share"] + random.gumbel(0, 0.8, n)
is_pilot = np.zeros(n, dtype=bool)
is_pilot[np.argsort(-eager)[:120]] = True
growth = 1.5 + 0.9 * standard["online share"] + 0.7 * standard["floor area"]
growth = (growth + random.normal(0, 0.6, n) + 2.0 * is_pilot).to_numpy()

pilot, others = shops[is_pilot], shops[~is_pilot]
turnover = pilot["customers"].to_numpy()
shops.groupby(np.where(is_pilot, "pilot", "others")).mean().round(2)

# %%
# Forty controls
# --------------
# Two arguments make it a matching: what to choose from, and what to represent. Columns have
# different units, so they are standardized, as fitted on the pilot shops. The cost is the mean
# distance of a pilot shop to its nearest control, weighted by turnover.

selection = pb.select(
    others,
    pilot,
    k=40,
    weights=turnover,
    preparation=pb.Preparation(standardize=True),
    random_state=0,
)
controls = selection.take(others)
selection

# %%
# Balance
# -------
# The usual check is the standardised mean difference of each column: the difference of the means
# of both groups, divided by the standard deviation among the pilot shops. Below 0.1 a column
# counts as balanced.
#
# ``mass`` is the weight of each control: the share of the pilot turnover that it stands for. All
# statements about the controls should use it.


def differences(rows, weights):
    """Return the standardised mean difference of each column to the weighted pilot shops."""
    goal = np.average(pilot, axis=0, weights=turnover)
    return (np.average(rows, axis=0, weights=weights) - goal) / pilot.std().to_numpy()


some = random.choice(len(others), 40, replace=False)
balance = pd.DataFrame(
    {
        "all other shops": differences(others, np.ones(len(others))),
        "40 random shops": differences(others.iloc[some], np.ones(40)),
        "40 chosen controls, by mass": differences(controls, selection.mass),
    },
    index=shops.columns,
)
balance.round(2)

# %%
figure, ax = plt.subplots(figsize=(8.5, 3.4), layout="constrained")
ax.axvspan(0, 0.1, color="#EEEEEE", zorder=0)
for (name, values), colour, marker in zip(
    balance.abs().items(), ("#888888", "#E69F00", "#0072B2"), ("s", "^", "o"), strict=True
):
    ax.scatter(values, range(len(values)), s=70, color=colour, marker=marker, label=name)
ax.set_yticks(range(len(balance)), balance.index)
ax.invert_yaxis()
ax.set_xlim(left=0)
ax.set_xlabel("absolute standardised mean difference to the pilot shops (grey: balanced)")
ax.grid(axis="y", color="#DDDDDD")
ax.set_axisbelow(True)
ax.spines[["top", "right", "left"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# In every column that differed, the chosen controls are much closer to the pilot shops. Floor
# area is not quite balanced: we will see why.
#
# The effect
# ----------
# The growth of the pilot shops, less that of each comparison group:

pilot_growth = np.average(growth[is_pilot], weights=turnover)
other_growth = growth[~is_pilot]
effects = {
    "all other shops": pilot_growth - other_growth.mean(),
    "40 random shops": pilot_growth - other_growth[some].mean(),
    "40 chosen controls, by mass": pilot_growth
    - np.average(other_growth[selection.indices], weights=selection.mass),
}
for name, effect in effects.items():
    print(f"{name:<28} {effect:.2f} percentage points")
print("truth                        2.00 percentage points")
errors = {name: abs(effect - 2) for name, effect in effects.items()}
assert min(errors, key=errors.get) == "40 chosen controls, by mass"
assert (
    balance["40 chosen controls, by mass"].abs().max() < balance["all other shops"].abs().max() / 2
)

# %%
# Which pilot shops have no similar control?
# ------------------------------------------
# The estimate is much closer to the truth, but still too high. Averages can hide pilot shops that
# have no counterpart at all. The distance of each pilot shop to its nearest control shows them:

distances = selection.assign(pilot).distances
figure, ax = plt.subplots(figsize=(8.5, 3.2), layout="constrained")
ax.scatter(
    pilot["floor area"], distances, s=turnover / 25, color="#0072B2", edgecolors="white", alpha=0.7
)
ax.axhline(1.2, color="#D55E00", linestyle="--", linewidth=1)
ax.set_xlabel("floor area of a pilot shop (size of the point: turnover)")
ax.set_ylabel("distance to its\nnearest control")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
print(selection.certify())

# %%
# The certificate says that no other 40 controls could do much better: the largest pilot shops
# have no counterpart among the others. That is a limit of the data, not of the search. The correct
# solution is to leave out pilot shops beyond the dashed line, to choose controls for the rest, and
# to say so.

has_twin = distances < 1.2
rest = pb.select(
    others,
    pilot[has_twin],
    k=40,
    weights=turnover[has_twin],
    preparation=pb.Preparation(standardize=True),
    random_state=0,
)
effect = np.average(growth[is_pilot][has_twin], weights=turnover[has_twin]) - np.average(
    other_growth[rest.indices], weights=rest.mass
)
print(f"{has_twin.sum()} of {len(pilot)} pilot shops: effect {effect:.2f} percentage points")
assert abs(effect - 2) < errors["40 chosen controls, by mass"]

# %%
# Closer, but not exact: with so few shops chance alone moves the estimate by about 0.1, and small
# differences remain. A regression on the matched shops would be the next step.
#
# What to try next
# ----------------
# - ``pb.Constraints(costs=price, budget=…)`` if audits have different prices.
# - ``pb.Constraints(groups=region, at_least=2)`` for controls in every region.
# - ``selection.extended(60)`` if the budget grows: the 40 controls stay.
# - ``k=[10, 20, 40]`` and ``selection.at(20)`` show what a smaller audit would cost in quality.
