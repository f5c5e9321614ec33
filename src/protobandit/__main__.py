"""``python -m protobandit``, and ``protobandit``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still loading ends it like any later one."""
    try:
        from protobandit.interfaces.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit("protobandit: Interrupted; nothing was written.")
    run()


if __name__ == "__main__":
    main()
