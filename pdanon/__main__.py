"""``python -m pdanon``: the command line."""

import sys

from pdanon.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
