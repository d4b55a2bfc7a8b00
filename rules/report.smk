"""A name for each product; claims and the page, from the tidy files of all studies."""

from snakemake.logging import logger

from triptych.planning import results_of_elsewhere

for _name, _product in PRODUCTS.items():

    rule:
        name:
            _name
        input:
            **_product["inputs"],
        output:
            _product["files"],
        log:
            f"results/logs/{_name}/{_name}.log",
        benchmark:
            f"results/benchmarks/{_name}/{_name}.tsv"
        priority: _product["priority"]
        conda:
            f"../envs/{_product['env']}.yaml"
        threads: _product["threads"]
        resources:
            **_product["resources"],
        params:
            **_product["params"],
            scale=SCALE,
            code=code(_name),
        script:
            "../workflow_scripts/{params.script}"

    getattr(rules, _name).rule.docstring = _product["params"]["title"]


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


for _name in STUDIES:

    rule:
        name:
            f"{_name}_claims"
        input:
            unpack(claims_input(_name)),
            sources=shipped("resources/sources.yaml"),
            stated=stated(_name),
        output:
            f"results/claims/{_name}.csv",
        log:
            f"results/logs/{_name}_claims/{_name}_claims.log",
        benchmark:
            f"results/benchmarks/{_name}_claims/{_name}_claims.tsv"
        conda:
            "../envs/report.yaml"
        resources:
            **cluster(),
        params:
            config={name: config[name] for name in ("device", _name)},
            scale=SCALE,
            provenance=module_param("results/provenance"),
            script=f"{_name}/claims.py",
            code=code(f"{_name}_claims"),
        script:
            "../workflow_scripts/{params.script}"

    getattr(rules, f"{_name}_claims").rule.docstring = (
        f"Verdicts on claims: results/claims/{_name}.csv."
    )


rule report_claims:
    """Verdicts on the papers' claims: results/claims.csv."""
    input:
        expand("results/claims/{study}.csv", study=STUDIES),
    output:
        report(
            "results/claims.csv",
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


# The page that shows everything, and the page of each study alone.
for _page, _studies in {
    "report": [*STUDIES],
    **{name: [name] for name in STUDIES},
}.items():

    rule:
        name:
            f"{_page}_page"
        input:
            **page_input(_studies),
        output:
            f"results/{_page}.html",
        log:
            f"results/logs/{_page}_page/{_page}_page.log",
        benchmark:
            f"results/benchmarks/{_page}_page/{_page}_page.tsv"
        conda:
            "../envs/report.yaml"
        resources:
            **cluster(),
        params:
            scale=SCALE,
            config={name: config[name] for name in ("device", *_studies)},
            studies={name: STUDIES[name].facts() for name in _studies},
            products={
                name: (product["params"]["title"], product["params"]["caption"])
                for name, product in PRODUCTS.items()
            },
            whole=len(_studies) == len(STUDIES),
            provenance=module_param("results/provenance"),
            code=code("report_page"),
        script:
            "../workflow_scripts/report/page.py"

    getattr(rules, f"{_page}_page").rule.docstring = (
        f"The page that shows {NAMES.get(_page, 'everything')}: results/{_page}.html."
    )


rule report_manifest:
    """What the run made, and from what: results/manifest.json, for `triptych verify`."""
    input:
        page="results/report.html",
        claims="results/claims.csv",
        products=[file for name in STUDIES for file in products_of(name)],
        others=[module_input(files) for files in ON_PAGE.values()],
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
