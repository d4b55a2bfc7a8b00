"""Buffon's needle."""

NEEDLE = STUDIES["needle"]


rule needle:
    """Buffon's needle (1777): its table and figure."""
    input:
        NEEDLE.products,


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


rule needle_draw:
    """Figure 1 and Table 1."""
    input:
        "results/needle/throws.csv",
    output:
        figure1=figure("needle_figure1", "Figure 1", "estimates of pi"),
        table1=table("needle_table1", "Table 1", "estimates of pi"),
    log:
        "results/logs/needle_draw/needle_draw.log",
    benchmark:
        "results/benchmarks/needle_draw/needle_draw.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        code=code("needle_draw"),
    script:
        "../workflow_scripts/needle/draw.py"
