"""Make the picture of the first page: ten prototypes of the digits, and rows that each stands for.

    python docs/make_landing.py

Writes docs/landing.png. Its background is transparent, so that it suits light and dark pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from sklearn.datasets import load_digits

import protobandit as pb

FILE = Path(__file__).parent / "landing.png"
PROTOTYPE, ROW, TEXT = "#0d8a9e", "#8a8f98", "#7d838c"
N_ROWS, N_COLUMNS = 5, 3  # rows of the target that are shown below each prototype


def main() -> None:
    """Draw the picture."""
    rows = load_digits().data
    selection = pb.select(rows, k=10, random_state=0)
    plt.rcParams.update({"font.family": "DejaVu Sans"})
    figure = plt.figure(figsize=(11, 3.3))
    for place, i in enumerate(np.argsort(-selection.mass)):
        left = 0.005 + 0.1 * place
        top = figure.add_axes((left + 0.01, 0.69, 0.07, 0.3))
        top.imshow(ink(rows[selection.indices[i]], PROTOTYPE))
        below = figure.add_axes((left, 0.12, 0.09, 0.54))
        members = selection.members(i)
        shown = members[np.linspace(1, len(members) - 1, N_ROWS * N_COLUMNS).astype(int)]
        below.imshow(sheet([ink(rows[row], ROW) for row in shown]))
        below.set_title(
            f"{100 * selection.mass[i]:.0f} % of the rows", y=-0.2, fontsize=9, color=TEXT
        )
        for axes in (top, below):
            axes.axis("off")
    figure.savefig(FILE, dpi=160, transparent=True)


def ink(row: Any, colour: str) -> Any:
    """Return a digit as an image: its numbers are the opacity of one colour."""
    image = np.empty((8, 8, 4))
    image[..., :3] = to_rgb(colour)
    image[..., 3] = row.reshape(8, 8) / 16
    return image


def sheet(images: list[Any]) -> Any:
    """Return images side by side, in lines, with a transparent pixel between them."""
    padded = [np.pad(image, ((0, 1), (0, 1), (0, 0))) for image in images]
    lines = [padded[i : i + N_COLUMNS] for i in range(0, len(padded), N_COLUMNS)]
    return np.vstack([np.hstack(line) for line in lines])


if __name__ == "__main__":
    main()
