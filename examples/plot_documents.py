"""
Documents: twelve tickets to read before the meeting
====================================================

The support desk of a bike-sharing scheme received 480 messages last week. The meeting starts in
fifteen minutes, which is enough to read twelve of them. Which twelve? They should stand for all
the others, and we want to know for how many each of them stands.

The messages are generated from sentence templates (``examples/data/make_data.py``), so we also
know the topic of each. We use the topics only at the end, to check the result.
"""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import protobandit as pb

tickets = pd.read_csv("data/tickets.csv")
tickets.head()

# %%
# Texts as vectors
# ----------------
# protobandit compares rows, so each text becomes a vector: TF-IDF gives a text high values at
# words that are frequent in it and rare elsewhere, and the SVD joins words that occur together.
# The cosine distance then compares directions and ignores lengths. Vectors of an embedding model
# are used in the same way.

as_vectors = make_pipeline(
    TfidfVectorizer(stop_words="english", sublinear_tf=True),
    TruncatedSVD(40, random_state=0),
)
texts = tickets["text"].tolist()
vectors = as_vectors.fit_transform(texts)
selection = pb.select(vectors, k=12, metric="cosine", random_state=0)
selection

# %%
# The twelve tickets
# ------------------
# ``mass`` is the share of all tickets whose nearest chosen ticket is this one. It tells how much
# weight a message deserves in the meeting.

order = np.argsort(-selection.mass)
for i in order:
    print(textwrap.fill(f"{selection.mass[i]:6.1%}  {texts[selection.indices[i]]}", 90))

# %%
# As a picture, with the number of tickets that each one stands for:

figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
counts = np.round(selection.mass[order] * len(texts)).astype(int)
labels = [textwrap.shorten(texts[i], 62, placeholder=" …") for i in selection.indices[order]]
bars = ax.barh(range(len(order)), counts, color="#0072B2")
ax.bar_label(bars, padding=4)
ax.set_yticks(range(len(order)), labels)
ax.invert_yaxis()
ax.spines[["top", "right", "bottom"]].set_visible(False)
ax.tick_params(left=False, bottom=False, labelbottom=False)
ax.set_title("Tickets that each chosen ticket stands for", loc="left")
plt.show()

# %%
# What does a ticket stand for?
# -----------------------------
# ``members`` lists the tickets that a chosen one represents, nearest first. Before we quote a
# ticket as typical, we read the nearest, a middle and the farthest of them.

largest = order[0]
members = selection.members(largest)
print("chosen   ", texts[selection.indices[largest]])
for name, at in (("nearest  ", 1), ("middle   ", len(members) // 2), ("farthest ", -1)):
    print(name, texts[members[at]])

# %%
# Is it a good choice?
# --------------------
# ``cost`` is the mean distance of a ticket to its nearest chosen one. A single number says
# little, so we compare it twice. Random tickets show what no thought at all would give. The
# certificate says how far the result can be from the best possible twelve: here it is exact,
# because all distances of 480 tickets are quickly computed.

draws = [
    pb.select(vectors, k=12, metric="cosine", method="random", random_state=seed)
    for seed in range(40)
]
random_cost = np.mean([each.cost for each in draws])
print(f"cost of the chosen tickets   {selection.cost:.3f}")
print(f"cost of 12 random tickets    {random_cost:.3f} on average")
print(selection.certify())
assert selection.cost < 0.8 * random_cost

# %%
# Twelve labels for 480 tickets
# -----------------------------
# Suppose that a colleague now gives each of the twelve tickets a topic, and every other ticket
# inherits the topic of its nearest chosen ticket. How many of the 480 topics are then right?

topics = tickets["topic"].to_numpy()
ours = selection.nearest_accuracy(topics)
theirs = [each.nearest_accuracy(topics) for each in draws]
found = len(set(topics[selection.indices]))
print(f"right topics, chosen tickets  {ours:.0%}")
print(f"right topics, random tickets  {np.mean(theirs):.0%} on average, {max(theirs):.0%} at best")
print(f"topics among the twelve       {found} of {len(set(topics))}")
assert ours > max(theirs)

# %%
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.hist(
    theirs, bins=np.arange(0.4, 1.01, 0.04), color="#BBBBBB", label="12 random tickets, 40 draws"
)
ax.axvline(ours, color="#D55E00", linewidth=2.5, label="12 chosen tickets")
ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
ax.set_xlabel("share of the 480 tickets that get the right topic")
ax.set_ylabel("draws")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# The missing topics are the rarest ones. A choice that minimises a mean does not spend one of
# twelve rows on a handful of tickets. If every kind must be seen, however rare, choose more rows,
# or use ``method="kcenter"``, which looks at the largest distance instead of the mean.

missing = sorted(set(topics) - set(topics[selection.indices]))
print(tickets["topic"].value_counts()[missing])
assert tickets["topic"].value_counts()[missing].max() <= 8

# %%
# What to try next
# ----------------
# - ``pb.select(texts, k=12, metric="cosine", preparation=as_vectors)`` takes the texts
#   themselves, and ``selection.assign(new_texts)`` then finds the nearest chosen ticket of
#   messages that arrive later.
# - ``k=[12, 24, 48]`` chooses 48 tickets, and ``selection.at(12)`` returns the first twelve.
# - ``selection.report("tickets.html", rows=tickets, show=["text"])`` writes a page to send
#   around.
# - For vectors in a file: ``protobandit select embeddings.parquet -k 12 --metric cosine
#   --report``.
#
# The data: :download:`tickets.csv <../../examples/data/tickets.csv>`.
