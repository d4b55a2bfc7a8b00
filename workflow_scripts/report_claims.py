"""results/claims.csv: a verdict on each claim of the paper, with the figures behind it."""

from triptych.core.job import job
from triptych.report import claims_rl, claims_rl_networks
from triptych.report.claims import write_claims
from triptych.report.scores import read_frames, run_scores

with job(snakemake):
    evaluations = read_frames(snakemake.input.scores)
    runs = run_scores(evaluations, snakemake.params.last_evaluations)
    conditions = claims_rl.conditions(
        evaluations,
        read_frames(snakemake.input.trained_layers),
        read_frames(snakemake.input.datasets),
    )
    layers = read_frames(snakemake.input.layers)
    sizes = read_frames(snakemake.input.sizes)
    latency = read_frames(snakemake.input.latency)
    verdicts = [
        claims_rl.bc_keeps_score(runs, conditions),
        claims_rl.bcq_keeps_score_but_on_hopper(runs, conditions),
        claims_rl_networks.last_layer_keeps_most(layers),
        claims_rl_networks.memory_shrinks_four_times(sizes, layers),
        claims_rl_networks.sparse_inference_is_faster(latency, layers),
    ]
    write_claims(verdicts, snakemake.params.scale, snakemake.output[0])
