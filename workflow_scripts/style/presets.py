"""Beyond the paper: its text, its code, and tuned settings.

Version 1 with the choices of the paper's text, with those of its authors' notebook, and with tuned
ones. Their losses are different functions, and so are not compared.
"""

from matplotlib.figure import Figure

from triptych.core.job import job
from triptych.report.palette import spoken, write_figure
from triptych.style.report.labels import PRESET_LOOKS
from triptych.style.report.panels import Experiment, picture_figure, saying_missing
from triptych.style.report.runs import Row, in_order


@saying_missing
def figure(shown: Experiment) -> Figure:
    def title(run: Row) -> str:
        # Runs of other experiments that are shown here have names of their own.
        return f"Preset {run['run']}" if run["run"] == run["preset"] else spoken(run["run"])

    return picture_figure([shown.row(in_order(shown.runs, "preset", PRESET_LOOKS), title)])


if __name__ == "__main__":
    with job(snakemake):
        shown = Experiment.read(snakemake.input, snakemake.params.scale)
        write_figure(figure(shown), shown.long, snakemake.output)
