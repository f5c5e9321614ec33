"""
Drift: are January's examples still good?
=========================================

A web shop describes every order by five numbers. In January a team studied 25 orders that stand
for all of them: rules, tests and dashboards were made for these. Orders change. Every month
somebody should ask: do the 25 still stand for what comes in, and if not, which ones should be
exchanged?

The orders are generated: four kinds at first. In summer the mix of these kinds changes. From
September on a fifth kind appears, which nobody had in mind in January.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import protobandit as pb

random = np.random.default_rng(1)
columns = ["items", "value", "discount", "weight", "hour"]
kinds = {  # mean and spread of each column
    "lunch break": ([2, 30, 0.05, 1.0, 12.5], [0.8, 9, 0.03, 0.4, 1.2]),
    "evening": ([4, 70, 0.10, 2.5, 20.5], [1.2, 20, 0.04, 0.8, 1.3]),
    "sale": ([7, 90, 0.35, 4.0, 17.0], [1.8, 25, 0.07, 1.2, 2.5]),
    "furniture": ([1.5, 320, 0.08, 28.0, 15.0], [0.6, 80, 0.04, 7.0, 3.0]),
    "wholesale": ([28, 450, 0.22, 16.0, 9.0], [5, 80, 0.04, 3.0, 0.8]),
}
months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def orders_of(month, n=600):
    """Return the orders of a month."""
    summer, new = 5 <= month <= 7, max(0, month - 7) * 0.04  # wholesale: 4, 8, 12, 16 %
    shares = np.array([0.25, 0.35, 0.35, 0.05] if summer else [0.40, 0.32, 0.16, 0.12])
    drawn = random.choice(list(kinds), n, p=[*(shares * (1 - new)), new])
    rows = [random.normal(*kinds[kind]) for kind in drawn]
    return pd.DataFrame(np.maximum(rows, 0), columns=columns)


orders = [orders_of(month) for month in range(12)]
selection = pb.select(orders[0], k=25, preparation=pb.Preparation(standardize=True), random_state=0)
selection.to_frame(orders[0]).head().round(2)

# %%
# One question per month
# ----------------------
# ``drift`` measures how far the new rows are from the prototypes and divides by what rows like
# those of January would give: the ``ratio``. 1 means that the new rows are represented as well as
# the old ones. It compares with rows that had no part in the selection, because a selection
# always fits the rows best that it was made from. The ``p_value`` tells whether chance explains
# the ratio.

answers = [selection.drift(rows) for rows in orders[1:]]
table = pd.DataFrame(
    {
        "ratio": [each.ratio for each in answers],
        "p-value": [each.p_value_text for each in answers],
        "mass moved": [f"{each.mass_moved:.0%}" for each in answers],
        "drift": [each.is_significant for each in answers],
    },
    index=months[1:],
)
table.round({"ratio": 2})

# %%
# Two kinds of change
# -------------------
# In summer the mix changes: ``mass moved`` is the share of the orders that other prototypes
# represent than in January. About a tenth is chance, as the quiet months of spring show; in
# summer it is more than twice as much. But each order still has a prototype nearby, so the ratio
# stays at about 1, and there is nothing to exchange: only the masses are out of date. In autumn
# orders arrive that are like none of the 25. The ratio grows month by month.
#
# A p-value below 0.05 happens by chance in one of twenty quiet months. Look at the ratio, too,
# before you act.

spring, summer = answers[:4], answers[4:7]
assert min(each.mass_moved for each in summer) > 1.5 * max(each.mass_moved for each in spring)
assert max(each.ratio for each in summer) < 1.1

autumn = answers[months.index("Oct") - 1]
print(autumn)

# %%
# What is new?
# ------------
# ``worst_rows`` are the rows that are represented worst, and ``rows_to_add`` those that would
# help most as additional prototypes. Here are the first of both:

october = orders[months.index("Oct")]
pd.concat(
    {
        "represented worst": october.iloc[autumn.worst_rows[:3]],
        "worth adding": october.iloc[autumn.rows_to_add[:3]],
    }
).round(2)

# %%
# Update
# ------
# ``updated`` keeps at least 80 % of the prototypes, so that most of the rules and tests stay
# valid, and exchanges the others where that helps old and new orders together.

updated = selection.updated(october, random_state=0)
print(updated.status.split(".")[0])
later = [updated.drift(rows) for rows in orders[months.index("Nov") :]]

# %%
# The whole year. After the update in October the ratio is low again, although wholesale orders
# keep growing. (Each ratio compares with rows like those that its prototypes were chosen for.)

figure, ax = plt.subplots(figsize=(8.5, 4), layout="constrained")
ratios, at = table["ratio"].to_numpy(), np.arange(1, 12)
ax.axhline(1, color="#888888", linewidth=1)
ax.text(0.6, 1.06, "1: as well as at the start", color="#666666", va="bottom")
ax.plot(at, ratios, color="#D55E00", marker="o", label="the 25 orders of January")
quiet = ~table["drift"].to_numpy()
ax.scatter(at[quiet], ratios[quiet], s=60, facecolors="white", edgecolors="#D55E00", zorder=3)
ax.plot(
    [10, 11],
    [each.ratio for each in later],
    color="#0072B2",
    marker="s",
    label="updated in October",
)
ax.axvspan(4.5, 7.5, color="#EEEEEE", zorder=0)
names = {"ha": "center", "va": "top", "color": "#666666", "transform": ax.get_xaxis_transform()}
ax.text(6, 0.97, "another mix", **names)
ax.axvspan(7.5, 11.5, color="#FBE9DD", zorder=0)
ax.text(8.5, 0.97, "a new kind", **names)
ax.set_xticks(range(1, 12), months[1:])
ax.set_xlim(0.5, 11.5)
ax.set_ylabel("cost ratio")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="center left")
ax.set_title("Distance of new orders to the prototypes (hollow: not significant)", loc="left")
plt.show()

assert ratios[8] < ratios[9] < ratios[10]
assert all(a.ratio < b.ratio for a, b in zip(later, answers[-2:], strict=True))

# %%
# What to try next
# ----------------
# - ``selection.save("january.json")`` stores what ``drift`` needs; ``pb.Selection.load`` reads it
#   next month, without the old rows.
# - On the command line: ``protobandit check january.json october.csv --fail-above 1.2`` in a
#   scheduled job.
# - ``updated(october, share=0.5)`` gives the new month half of the weight.
# - ``selection.report("orders.html", rows=orders[0], drift=autumn)`` shows the drift on the page.
