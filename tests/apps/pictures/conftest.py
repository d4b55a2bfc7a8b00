"""Networks and films of the style study's tests serve those of its commands."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "style"))
