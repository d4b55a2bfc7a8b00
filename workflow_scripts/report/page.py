"""The page of a whole run, results/report.html, or of one study, results/<study>.html."""

from pathlib import Path

from triptych.core.config import read_yaml
from triptych.core.job import job
from triptych.report.files import named_files
from triptych.report.page import write_page
from triptych.studies import criteria
from triptych.style.data.missing import missing_among
from triptych.style.report.labels import network_title

with job(snakemake):
    files, params = named_files(snakemake.input), snakemake.params
    films = files.get("style_films", [])
    write_page(
        snakemake.output[0],
        files,
        studies=params.studies,
        products=params.products,
        films={film: f"The video: {network_title(film)}." for film in films},
        values={**params.config, "missing": missing_among(files.get("style_pictures", []))},
        criteria=criteria(params.config, read_yaml(Path(files["sources"][0]))),
        scale=params.scale,
        whole=params.whole,
        provenance=params.provenance,
    )
