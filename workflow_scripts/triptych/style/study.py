"""The style study, as claims and page ask for it (`triptych.studies`)."""

import pandas as pd

from triptych.core.files import read_frames
from triptych.report.files import Files
from triptych.style.report.claims import CLAIMS
from triptych.style.report.claims_needs import tables_of

__all__ = ["CLAIMS", "read_tables", "tables_of"]

TITLE = "Style transfer of images and videos"
PAPER = "*Style Transfer of Images and Videos* (Shen and Wang, 2022)"


def read_tables(files: Files) -> dict[str, pd.DataFrame]:
    """The files of `Workflow.claims`, of which `tables_of` makes what claims compare."""
    return {name: read_frames(paths) for name, paths in files.items()}
