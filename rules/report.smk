"""A name for each product; claims and the page, from the tidy files of all studies."""

from snakemake.logging import logger

from triptych.planning import results_of_elsewhere
from triptych.studies import page_input

TEMPLATE_NAMES = ["page.html.j2", "table.html.j2", "style.css"]


for _name, _product in PRODUCTS.items():
    _first, *_others = _product["files"]
    _shown = not _first.endswith(
        ".html"
    )  # Snakemake's own report shows no parts of pages

    rule:
        name:
            _name
        input:
            **_product["inputs"],
        output:
            (
                report(
                    _first,
                    category=NAMES[_name.split("_")[0]],
                    labels=_product["labels"],
                )
                if _shown
                else _first
            ),
            *_others,
        log:
            f"results/logs/{_name}/{_name}.log",
        benchmark:
            f"results/benchmarks/{_name}/{_name}.tsv"
        priority: _product["priority"]
        conda:
            "../envs/report.yaml"
        resources:
            **cluster(),
        params:
            **_product["params"],
            scale=SCALE,
            code=code(_name),
        script:
            "../workflow_scripts/{params.script}"

    getattr(rules, _name).rule.docstring = _product["params"]["title"]


# What is drawn together with others is a target all the same.
for _name, (_title, _files) in TARGETS.items():
    if not rules.has(_name):

        rule:
            name:
                _name
            input:
                _files,

        getattr(rules, _name).rule.docstring = _title


rule report_inputs:
    """Ask for each file that a target downloads, before anything trains: results/inputs."""
    output:
        "results/inputs/{asked}.csv",
    log:
        "results/logs/report_inputs/{asked}.log",
    benchmark:
        "results/benchmarks/report_inputs/{asked}.tsv"
    wildcard_constraints:
        asked="|".join(ASKED),
    priority: 100
    localrule: True
    conda:
        "../envs/download.yaml"
    params:
        downloads=lambda w: ASKED[w.asked],
        lacked=lacked,
        contact=config.get("style", {}).get("contact"),
        code=code("report_inputs"),
    script:
        "../workflow_scripts/report/inputs.py"


rule report_study_claims:
    """Verdicts on one paper's claims."""
    input:
        unpack(
            lambda w: {n: module_input(f) for n, f in STUDIES[w.study].claims.items()}
        ),
        sources=shipped("resources/sources.yaml"),
        stated=lambda w: stated(w.study),
    output:
        "results/claims/{study}.csv",
    log:
        "results/logs/report_study_claims/{study}.log",
    benchmark:
        "results/benchmarks/report_study_claims/{study}.tsv"
    wildcard_constraints:
        study="|".join(STUDIES),
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        config=lambda w: {name: config[name] for name in ("device", w.study)},
        scale=SCALE,
        provenance=module_param("results/provenance"),
        code=code(
            "report_study_claims",
            methods=lambda w: [
                f"triptych.{w.study}.{name}" for name in ("study", "workflow")
            ],
        ),
    script:
        "../workflow_scripts/report/study_claims.py"


rule report_claims:
    """Verdicts on the papers' claims: results/claims.csv."""
    input:
        expand("results/claims/{study}.csv", study=STUDIES),
    output:
        report(
            "results/claims.csv",
            caption="../resources/captions/report_claims.rst",
            category="Claims",
            labels={"product": "Claims", "shows": "verdict on each"},
        ),
    log:
        "results/logs/report_claims/report_claims.log",
    benchmark:
        "results/benchmarks/report_claims/report_claims.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        code=code("report_claims"),
    script:
        "../workflow_scripts/report/claims.py"


RESULTS = Path(prefix()) / "results"  # refuses replace_prefix before any job
if workflow.is_main_process and (_said := results_of_elsewhere(RESULTS)):
    logger.warning(_said)


rule report_page:
    """The page that shows everything: results/report.html."""
    input:
        **{n: module_input(files) for n, files in page_input(STUDIES).items()},
        claims="results/claims.csv",
        stated=[file for name in STUDIES for file in stated(name)],
        colophon=shipped("docs/colophon.md"),
        templates=[shipped(f"{TEMPLATES}/{name}") for name in TEMPLATE_NAMES],
    output:
        "results/report.html",
    log:
        "results/logs/report_page/report_page.log",
    benchmark:
        "results/benchmarks/report_page/report_page.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        studies={
            name: (study.facts(), study.page[1]) for name, study in STUDIES.items()
        },
        provenance=module_param("results/provenance"),
        code=code("report_page"),
    script:
        "../workflow_scripts/report/page.py"


rule report_manifest:
    """What the run made, and from what: results/manifest.json, for `triptych verify`."""
    input:
        page="results/report.html",
        claims="results/claims.csv",
        products=[file for study in STUDIES.values() for file in study.products],
    output:
        "results/manifest.json",
    log:
        "results/logs/report_manifest/report_manifest.log",
    benchmark:
        "results/benchmarks/report_manifest/report_manifest.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(minutes=80),
    params:
        provenance=module_param("results/provenance"),
        config=config,
        scale=SCALE,
        code=code("report_manifest"),
    script:
        "../workflow_scripts/report/manifest.py"
