"""``python -m protobandit``."""

from protobandit._cli import main

if __name__ == "__main__":
    main()
