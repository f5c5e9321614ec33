"""Store files of `selection.json` as this version writes them; run once before a release.

    python tests/store_selections.py

They stay in tests/fixtures/selections/, so that every later version has to read them. Together they
have a value for every field, which tests/result/test_serialization.py checks.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import protobandit as pb

FOLDER = Path(__file__).parent / "fixtures" / "selections"


def selections() -> dict[str, pb.Selection]:
    """Return one small selection of each kind."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(12, 2)).round(2)
    frame = pd.DataFrame({"size": rows[:, 0], "colour": [*"rgb"] * 4})
    vectors = pd.DataFrame({"id": range(12), "v": list(rows)})
    stream = pb.Stream(iter(random.normal(size=(6, 500, 2)).astype(np.float32)))
    proven = pb.select(rows.astype(np.float32), k=3, method="protobandit", random_state=0)
    return {
        "certificate": proven.certified(),
        "budget": pb.select(
            rows,
            method="lazygreedy",
            constraints=pb.Constraints(costs=np.arange(1.0, 13.0), budget=9.0),
        ),
        "classes": pb.select(rows, k=2, by=[*"ab"] * 6, random_state=0),
        "constraints": pb.select(
            rows,
            k=3,
            method="lazygreedy",
            constraints=pb.Constraints(fixed=[5], min_distance=0.1),
        ),
        "coefficients": pb.select(rows, k=3, method="protodash"),
        "criticisms": pb.select(rows, k=3, method=pb.methods.MMDCritic(n_criticisms=2)),
        "curve": pb.select(rows, k="auto", method="lazygreedy"),
        "left-out": pb.select(vectors, k=2, random_state=0),
        "preparation": pb.select(
            frame,
            k=2,
            preparation=pb.Preparation(standardize=True, categories="one-hot"),
            random_state=0,
        ),
        "stream": pb.select(rows.astype(np.float32), stream, k=2, method="protobandit"),
        "words": pb.select(["Bär", "Käfer", "虫", "ant", "a long word"], k=2, random_state=0),
    }


def main() -> None:
    for name, selection in selections().items():
        path = FOLDER / f"{pb.__version__}-{name}.json"
        path.write_text(f"{selection.to_json()}\n", encoding="utf-8", newline="\n")
    # `save` also stores what new rows are compared with.
    rows = np.random.default_rng(1).normal(size=(60, 2)).round(2)
    pb.select(rows[:12], rows, k=2, method="lazygreedy").save(
        FOLDER / f"{pb.__version__}-reference.json"
    )


if __name__ == "__main__":
    main()
