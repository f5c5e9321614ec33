"""
Images: twenty digits that stand for 1,797
==========================================

You have just received a set of scanned digits and want to know what is in it: which ways of
writing a 7 occur, and how often? Nobody looks at 1,797 images. Twenty fit on one slide.

Three usual answers are compared: prototypes (the images that ``select`` chooses), random
images, and the centres of k-means.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

import protobandit as pb

images, digits = load_digits(return_X_y=True)
selection = pb.select(images, k=20, random_state=0)
selection

# %%
# Twenty images, three ways
# -------------------------
# A prototype is one of the images. Its ``mass``, written below it, is the share of all images for
# which it is the nearest prototype. A random image is real too, but stands for nothing in
# particular. A centre of k-means is a mean of images: it is blurred, and nobody has ever written
# it.

order = np.argsort(-selection.mass)
random_rows = pb.select(images, k=20, method="random", random_state=3)
means = KMeans(20, n_init=1, random_state=0).fit(images)
share = np.bincount(means.labels_) / len(images)
panels = {
    "Prototypes: real images, with the share of all images that each stands for": (
        images[selection.indices[order]],
        selection.mass[order],
    ),
    "Random images, with the share that is nearest to each": (
        images[random_rows.indices],
        random_rows.mass,
    ),
    "Centres of k-means: means of images": (
        means.cluster_centers_[np.argsort(-share)],
        np.sort(share)[::-1],
    ),
}

figure = plt.figure(figsize=(9, 7.2), layout="constrained")
for part, (title, (pictures, shares)) in zip(
    figure.subfigures(3, hspace=0.06), panels.items(), strict=True
):
    part.suptitle(title, x=0.01, ha="left", fontsize=11)
    for ax, picture, mass in zip(part.subplots(2, 10).flat, pictures, shares, strict=True):
        ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set_xlabel(f"{mass:.0%}", fontsize=9, labelpad=2)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
plt.show()

# %%
# How to read the numbers
# -----------------------
# ``cost`` is the mean distance of an image to its nearest prototype. It has no absolute scale, so
# it is compared: with random images, and with the best possible twenty images. Nobody knows the
# best twenty, but the certificate proves how far from them the result can be at most.

print(f"cost of the prototypes    {selection.cost:.2f}")
print(f"cost of random images     {random_rows.cost:.2f}")
print(selection.certify())

# %%
# More images, fewer mistakes
# ---------------------------
# The search never saw the labels. Let each image take the label of its nearest chosen image: how
# many labels are right? And how does that change with the number of chosen images?

numbers = [10, 20, 40, 80]


def nearest_rows(k):
    """Return the images nearest to the centres of k-means, as a selection."""
    centres = KMeans(k, n_init=1, random_state=0).fit(images).cluster_centers_
    gaps = ((centres[:, None] - images[None]) ** 2).sum(axis=2)
    found = np.unique(gaps.argmin(axis=1))
    return pb.select(images, k=len(found), constraints=pb.Constraints(fixed=found))


def random_images(k):
    """Return ten draws of k random images."""
    return [pb.select(images, k=k, method="random", random_state=seed) for seed in range(10)]


contestants = {
    "prototypes": ([[pb.select(images, k=k, random_state=0)] for k in numbers], "#0072B2", "o"),
    "images nearest to k-means centres": ([[nearest_rows(k)] for k in numbers], "#E69F00", "s"),
    "random images (mean of ten draws)": ([random_images(k) for k in numbers], "#888888", "^"),
}
costs, accuracies = {}, {}
for name, (drawn, _, _) in contestants.items():
    costs[name] = [np.mean([each.cost for each in draws]) for draws in drawn]
    accuracies[name] = [
        np.mean([each.nearest_accuracy(digits) for each in draws]) for draws in drawn
    ]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name, (_, colour, marker) in contestants.items():
    style = {"color": colour, "marker": marker, "label": name}
    left.plot(numbers, costs[name], **style)
    right.plot(numbers, accuracies[name], **style)
left.set_title("Mean distance to the nearest chosen image", loc="left", fontsize=10)
right.set_title("Right labels by the nearest chosen image", loc="left", fontsize=10)
right.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
for ax in (left, right):
    ax.set_xscale("log", base=2)
    ax.set_xticks(numbers, map(str, numbers))
    ax.set_xlabel("number of chosen images")
    ax.spines[["top", "right"]].set_visible(False)
right.legend(frameon=False, loc="lower right")
plt.show()

# %%
# Images nearest to the centres of k-means are a good alternative. k-means minimises squared
# distances to means and then takes the nearest images; ``select`` minimises the distance to
# images directly, so its curve on the left is the lowest. Both are much better than random images.
# Few labels are enough: one per chosen image.

ours, theirs, by_chance = costs.values()
assert all(a < b < c for a, b, c in zip(ours, theirs, by_chance, strict=True))

# %%
# What to try next
# ----------------
# - ``k=[10, 20, 40, 80]`` chooses 80 images at once, best first; ``selection.at(20)`` returns the
#   first 20 with their mass. That is one search instead of four, at a slightly higher cost for
#   few images.
# - Use ``by=digits`` to choose images for each label separately.
# - ``selection.report("digits.html", images=images.reshape(-1, 8, 8) / 16, labels=digits)``
#   writes a page with all prototypes, what each represents, and what it covers badly.
# - For a folder of image files: ``protobandit select scans/ -k 20 --report``.
