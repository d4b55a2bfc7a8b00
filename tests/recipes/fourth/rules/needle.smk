"""Buffon's needle."""

NEEDLE = STUDIES["needle"]


rule needle:
    """Buffon's needle (1777): its table and figure."""
    input:
        products("needle"),


rule needle_throw:
    """Throw needles from every seed."""
    output:
        "results/needle/throws.csv",
    log:
        "results/logs/needle_throw/needle_throw.log",
    benchmark:
        "results/benchmarks/needle_throw/needle_throw.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        needle=NEEDLE.config,
        code=code("needle_throw"),
    script:
        "../workflow_scripts/needle/throw.py"


figure("needle_figure1", throws="results/needle/throws.csv")
table("needle_table1", throws="results/needle/throws.csv")
summary("needle_summary", table1="results/tables/needle_table1.csv")
