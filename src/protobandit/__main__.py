"""Entry point of ``protobandit`` and ``python -m protobandit``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still loading is one line too."""
    try:
        from protobandit.interfaces.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit("protobandit: Interrupted; nothing was written.")
    run()


if __name__ == "__main__":
    main()
