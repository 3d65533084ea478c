"""python -m saltus: the command line."""

import sys

from saltus.cli import main

if __name__ == "__main__":
    sys.exit(main())
