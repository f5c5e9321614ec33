"""
Explaining a classifier with prototypes and criticisms
======================================================

A model reads handwritten digits. An auditor asks: what has it learnt, and why did it call
*this* image a 3? An answer that people understand is an example: "because it looks like these
images, which the model also calls 3". For that we need a few images that stand for what the
model does, prototypes, and we should be honest about images that they do not stand for:
criticisms (Kim, Khanna, Koyejo 2016, *Examples are not enough, learn to criticize!*).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import protobandit as pb

pixels, digits = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(
    pixels, digits, test_size=0.4, random_state=0, stratify=digits
)
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.02, max_iter=200))
model.fit(train, y_train)
predicted = model.predict(test)
print(f"accuracy of the model on {len(test)} test images: {np.mean(predicted == y_test):.1%}")


def show(ax, image, text="", colour="black"):
    """Draw one digit with a line of text below it."""
    ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    ax.set_xlabel(text, fontsize=9, color=colour, labelpad=2)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


# %%
# Prototypes of what the model does
# ---------------------------------
# The classes are the *predictions* of the model, not the truth: we want to explain the model.
# ``by`` solves one problem per class, and a mapping says how many prototypes each class gets.

said = model.predict(train)
selection = pb.select(train, k=dict.fromkeys(range(10), 5), by=said, random_state=0)

figure, axes = plt.subplots(5, 10, figsize=(8, 5), layout="constrained")
classes = np.asarray(selection.prototype_labels)
for column, digit in zip(axes.T, range(10), strict=True):
    own = np.flatnonzero(classes == digit)
    for ax, i in zip(column, own[np.argsort(-selection.mass[own])], strict=True):
        show(ax, train[selection.indices[i]], f"{selection.mass[i]:.1%}")
    column[0].set_title(f"“{digit}”", fontsize=11)
figure.suptitle(
    "What the model calls 0 to 9: five prototypes each, with their mass", x=0.01, ha="left"
)
plt.show()

# %%
# Are fifty examples enough?
# --------------------------
# Prototypes explain a model only if they behave like it. So let the nearest prototype decide, on
# images that neither has seen, and compare with the model. The same rule with all training images
# shows how much the small number costs.

rule = classes[selection.assign(test).labels]
everything = KNeighborsClassifier(1).fit(train, said).predict(test)
for name, labels, others in (
    ("nearest of 50 prototypes and the model", rule, predicted),
    (f"nearest of all {len(train):,} images and the model", everything, predicted),
    ("nearest of 50 prototypes and the truth", rule, y_test),
):
    print(f"{name:<43} agree on {np.mean(labels == others):.1%}")
assert np.mean(rule == predicted) > 0.85

# %%
# Wrong predictions, explained
# ----------------------------
# Some test images that the model got wrong, and the nearest prototypes of each: what the model
# takes it for, and what it should have been. ``distances`` returns the distance to every
# prototype. Often the two are about equally far away: such an image lies between two classes.

wrong = np.flatnonzero(predicted != y_test)[:8]
distances = selection.distances(test[wrong])
figure, axes = plt.subplots(3, len(wrong), figsize=(8.5, 3.9), layout="constrained")
for column, row, gaps in zip(axes.T, wrong, distances, strict=True):
    show(column[0], test[row], f"is a {y_test[row]}")
    for ax, digit, colour in (
        (column[1], predicted[row], "#D55E00"),
        (column[2], y_test[row], "#0072B2"),
    ):
        nearest = np.where(classes == digit, gaps, np.inf).argmin()
        show(ax, train[selection.indices[nearest]], f"“{digit}”, {gaps[nearest]:.0f}", colour)
for ax, text in zip(
    axes[:, 0],
    ("test image", "nearest of the\npredicted class", "nearest of the\ntrue class"),
    strict=True,
):
    ax.set_ylabel(text, rotation=0, ha="right", va="center", fontsize=9)
figure.suptitle(
    "Images that the model got wrong, and the distances to prototypes", x=0.01, ha="left"
)
plt.show()

# %%
# Criticisms: what the prototypes leave out
# -----------------------------------------
# MMD-critic chooses prototypes by a kernel and then the rows that these represent worst. The
# formula takes the largest gaps between how dense the data are at a row and how dense the
# prototypes say they are, and keeps the criticisms different from each other.

critic = pb.methods.MMDCritic(n_criticisms=16)
criticised = pb.select(train, k=50, method=critic)
figure, axes = plt.subplots(2, 8, figsize=(8.5, 2.6), layout="constrained")
for ax, row in zip(axes.flat, criticised.criticisms, strict=True):
    show(ax, train[row], f"“{said[row]}”")
figure.suptitle("Criticisms, and what the model calls them", x=0.01, ha="left")
plt.show()

# %%
# When to trust the model
# -----------------------
# Prototypes also give a warning that needs no labels. Take the distance of a test image to the
# nearest prototype of the predicted class, divided by that to the nearest prototype of any other
# class. If it is small, the image is typical of what the model calls so. The errors gather where
# it is large.

table = selection.distances(test)
is_own = classes[None, :] == predicted[:, None]
own_gap = np.where(is_own, table, np.inf).min(axis=1)
other_gap = np.where(is_own, np.inf, table).min(axis=1)
ratio = own_gap / other_gap
quarters = np.array_split(np.argsort(ratio), 4)
for name, rows in zip(("most typical", "second", "third", "least typical"), quarters, strict=True):
    print(f"{name:>13} quarter: {np.mean(predicted[rows] != y_test[rows]):5.1%} wrong")
errors = [np.mean(predicted[rows] != y_test[rows]) for rows in quarters]
assert errors[3] > 3 * max(errors[:2])

# %%
# What to try next
# ----------------
# - Pass hidden activations or SHAP values of the model instead of pixels: then "similar" means
#   similar to the model.
# - ``selection.explain(image, n=3)`` returns the three nearest prototypes of one image.
# - ``method="protodash"`` gives prototypes with non-negative coefficients.
# - ``selection.report("digits.html", images=train.reshape(-1, 8, 8) / 16, labels=said)`` shows
#   each prototype with what it represents, and what it covers badly.
