"""`python -m ctxmode` is the command `context-mode`."""

import sys

from ctxmode.cli import main

sys.exit(main())
