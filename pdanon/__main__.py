"""``python -m pdanon``: the command line."""

import sys

from pdanon.cli import main

if __name__ == "__main__":
    sys.exit(main())
