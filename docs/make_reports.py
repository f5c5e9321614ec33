"""Write the live reports of the site: digits.html, table.html and documents.html.

The build of the site calls `make`; ``python docs/make_reports.py FOLDER`` writes them elsewhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import protobandit as pb

DATA = Path(__file__).parents[1] / "examples" / "data"


def make(folder: Path) -> None:
    """Write the three pages to ``folder``, which is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    write_digits(folder / "digits.html")
    write_table(folder / "table.html")
    write_documents(folder / "documents.html")


def write_digits(path: Path) -> None:
    """Write the page of 20 images."""
    digits = load_digits()
    selection = pb.select(digits.data, k=20, random_state=0).certified()
    selection.report(path, images=1 - digits.images / 16, labels=digits.target)  # ink is dark


def write_table(path: Path) -> None:
    """Write the page of 8 flats, of which only complete ones are chosen."""
    flats = pd.read_csv(DATA / "flats.csv")
    complete = flats.dropna()
    preparation = pb.Preparation(categories="gower", impute="median")
    selection = pb.select(complete, flats, k=8, preparation=preparation, random_state=0).certified()
    names = [f"flat {number}" for number in complete.index]
    selection.report(path, rows=complete, target=flats, labels="district", names=names)


def write_documents(path: Path) -> None:
    """Write the page of 12 texts."""
    tickets = pd.read_csv(DATA / "tickets.csv")
    as_vectors = make_pipeline(
        TfidfVectorizer(stop_words="english", sublinear_tf=True), TruncatedSVD(40, random_state=0)
    )
    vectors = as_vectors.fit_transform(tickets["text"])
    selection = pb.select(vectors, k=12, metric="cosine", random_state=0).certified()
    selection.report(path, rows=tickets["text"].tolist(), labels=tickets["topic"])


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "_build" / "reports")
