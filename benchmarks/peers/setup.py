"""Make an environment for each rival, from pinned requirements.

    python benchmarks/peers/setup.py DIR [NAME ...]

DIR/NAME is then the environment of requirements/NAME.txt, and ``--peers DIR`` of the benchmarks
finds it. Rivals stay out of the environment of this package: their needs differ, and so do their
licences (kmedoids is under the GPL).
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "requirements"


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, *names = sys.argv[1:]
    for name in names or sorted(path.stem for path in REQUIREMENTS.glob("*.txt")):
        make(Path(folder) / name, REQUIREMENTS / f"{name}.txt")


def make(home: Path, requirements: Path) -> None:
    venv.create(home, with_pip=True)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run(
        [scripts / "python", "-m", "pip", "install", "--quiet", "-r", requirements], check=True
    )
    print(f"{home} holds {requirements.read_text().split()[0]}")


if __name__ == "__main__":
    main()
