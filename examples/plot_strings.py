"""
Strings: the place names behind 6,000 entries
=============================================

Visitors typed where they came from into a free text field: "Rotterdam", "roterdam",
"Roterdamm". Somebody has to make a list of places out of 6,000 entries, and wants to read
perhaps sixty of them.

Strings have no columns, only a distance: the number of letters to insert, delete or change,
with a swap of neighbours as one change. Such a distance is slow compared with a product of
vectors, and there are 36 million pairs. protobandit computes a small part of them and counts
how many.

The entries are generated: names of real cities, with the mistakes of a hurried typist.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from rapidfuzz.distance import OSA

import protobandit as pb

places = [
    *("Amsterdam", "Antwerp", "Athens", "Barcelona", "Basel", "Belgrade", "Bergen", "Berlin"),
    *(
        "Bologna",
        "Bordeaux",
        "Bratislava",
        "Bristol",
        "Brussels",
        "Bucharest",
        "Budapest",
        "Cologne",
    ),
    *("Copenhagen", "Dresden", "Dublin", "Edinburgh", "Florence", "Frankfurt", "Geneva", "Glasgow"),
    *("Gothenburg", "Hamburg", "Helsinki", "Innsbruck", "Istanbul", "Krakow", "Leipzig", "Lisbon"),
    *(
        "Liverpool",
        "Ljubljana",
        "London",
        "Luxembourg",
        "Lyon",
        "Madrid",
        "Manchester",
        "Marseille",
    ),
    *("Milan", "Munich", "Naples", "Nuremberg", "Oslo", "Paris", "Porto", "Prague"),
    *("Rome", "Rotterdam", "Salzburg", "Seville", "Sofia", "Stockholm", "Strasbourg", "Tallinn"),
    *("Thessaloniki", "Toulouse", "Turin", "Valencia", "Venice", "Vienna", "Vilnius", "Warsaw"),
    *("Zagreb", "Zurich"),
]
random = np.random.default_rng(0)
popularity = random.permutation(1 / np.arange(5, 5 + len(places)))


def mistyped(name):
    """Return the name with up to three mistakes."""
    letters = list(name)
    for _ in range(random.choice([0, 1, 2, 3], p=[0.35, 0.35, 0.2, 0.1])):
        at = random.integers(len(letters) - 1)
        kind = random.integers(4)
        if kind == 0:
            del letters[at]
        elif kind == 1:
            letters.insert(at, letters[at])
        elif kind == 2:
            letters[at] = random.choice(list("abcdefghijklmnopqrstuvwxyz"))
        else:
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
    return "".join(letters)


meant = random.choice(len(places), 6_000, p=popularity / popularity.sum())
entries = [mistyped(places[i]) for i in meant]
print(*entries[:12], sep=", ")
print(f"{len(set(entries)):,} different entries")

# %%
# A distance of our own
# ---------------------
# Any function of two rows can be a metric. This one divides the edit distance by the length of
# the longer name, so that one mistake in "Oslo" counts more than one in "Thessaloniki". It counts
# its calls, too.

n_calls = 0


def typing_distance(a, b):
    """Return the share of the letters that differ."""
    global n_calls
    n_calls += 1
    return OSA.normalized_distance(a, b)


selection = pb.select(entries, k=len(places), metric=typing_distance, random_state=0)
selection

# %%
# How much was computed?
# ----------------------
# ``evaluations`` counts every distance that was computed, also those that measured the result. It
# is the number of calls of our function, to the last one.

all_pairs = len(entries) ** 2
print(f"all pairs     {all_pairs:>12,}")
print(f"evaluations   {selection.evaluations:>12,}  (1 of {all_pairs / selection.evaluations:.0f})")
assert n_calls == selection.evaluations < all_pairs / 8

# %%
# The list
# --------
# The chosen entries, and for the largest ones some of the entries that they stand for. Most
# chosen entries are spelt correctly, because the correct name is in the middle of its
# misspellings.

assigned = selection.assign(entries)
chosen = [entries[i] for i in selection.indices]
sizes = np.bincount(assigned.labels, minlength=selection.k)
for i in np.argsort(-sizes)[:8]:
    rows = np.flatnonzero(assigned.labels == i)
    others = sorted({entries[row] for row in rows} - {chosen[i]})
    print(f"{sizes[i]:4d}  {chosen[i]:<12}  {', '.join(others[:6])}")
n_correct = sum(name in places for name in set(chosen))
print(f"\n{n_correct} of {len(chosen)} chosen entries are correct names")
assert n_correct > 0.8 * len(chosen)

# %%
# Was the right place found?
# --------------------------
# Each entry gets the name that was chosen for it. We know what the typist meant, so we can count.

right = np.array(
    [chosen[label] == places[i] for label, i in zip(assigned.labels, meant, strict=True)]
)
before = np.array([entry == places[i] for entry, i in zip(entries, meant, strict=True)])
print(f"entries with the right name before  {before.mean():.1%}")
print(f"entries with the right name after   {right.mean():.1%}")
assert right.mean() > before.mean() + 0.3

# %%
# The distance to the chosen entry says which ones somebody should look at: the farther away, the
# more names are wrong.

edges = np.array([0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0])
band = np.clip(np.searchsorted(edges, assigned.distances, side="right") - 1, 0, 5)
n_entries = np.bincount(band, minlength=6)
n_wrong = np.bincount(band, ~right, minlength=6)
figure, ax = plt.subplots(figsize=(8.5, 3.4), layout="constrained")
bars = ax.bar(range(6), n_wrong / n_entries, color="#D55E00")
ax.bar_label(bars, [f"{wrong:.0f} of {n:,}" for wrong, n in zip(n_wrong, n_entries, strict=True)])
ax.set_xticks(range(6), [f"{a:g} to {b:g}" for a, b in pairwise(edges)])
ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
ax.set_xlabel("distance to the chosen entry")
ax.set_ylabel("entries with a wrong name")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
assert (n_wrong / n_entries)[-1] > 3 * (1 - right.mean())

# %%
# What to try next
# ----------------
# - ``metric="levenshtein-normalized"`` needs no function and runs on all threads; "levenshtein"
#   is the default for texts.
# - ``pb.plan(entries, k=66, metric=typing_distance)`` says beforehand how many calls to expect.
# - ``limits=pb.Limits(evaluations=2_000_000)`` sets a limit; ``selection.warnings`` says what was
#   left out for it.
# - ``selection.certify()`` proves how far from the best the result can be, at the price of more
#   calls.
