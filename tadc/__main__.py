"""`python -m tadc`."""

import sys

from tadc.cli import main

sys.exit(main())
