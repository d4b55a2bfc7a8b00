"""results/claims.csv: a verdict on each claim of the papers, with the figures behind it."""

from triptych.audio.report.claims import AudioScores
from triptych.audio.report.claims_data import AudioData
from triptych.audio.report.claims_verdicts import audio_verdicts
from triptych.audio.report.rows import AudioStudy, read_rows
from triptych.core.job import job
from triptych.present.verdicts import write_claims
from triptych.rl.report import claims as claims_rl
from triptych.rl.report import claims_networks as claims_rl_networks
from triptych.rl.report.scores import read_frames, run_scores
from triptych.style.report import claims as claims_style
from triptych.style.report import claims_speed as claims_style_speed
from triptych.style.report.tables_beyond import read_variants

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    runs, history = read_frames(given.style_runs), read_frames(given.style_history)
    timing, quality = read_frames(given.style_timing), read_frames(given.style_quality)
    architectures, stylised = params.style_architectures, read_frames(given.style_stylised_runs)
    timed = stylised[stylised["painting"] == params.style_timed]
    style = [
        claims_style_speed.network_is_faster(timing, architectures, timed),
        claims_style_speed.large_images_take_seconds(stylised),
        claims_style_speed.alexnet_is_faster(timing, architectures),
        claims_style.backbones_share_a_trend(runs, history),
        claims_style_speed.loss_functions_differ_in_time(
            read_frames(given.style_loss_timing), runs, history
        ),
        claims_style.lbfgs_ends_lowest(runs),
        claims_style.sgd_fails(runs, history, quality),
        claims_style.content_start_keeps_structure(runs, quality),
        claims_style_speed.videos_are_batched_and_kept(
            read_variants(given.style_speed), read_variants(given.style_properties)
        ),
    ]
    audio = audio_verdicts(
        AudioScores.read(
            read_rows(given.audio_queries),
            read_rows(given.audio_history),
            read_rows(given.audio_ensembles),
            AudioStudy.read(**params.audio_study),
            AudioData.read(
                counts=read_rows(given.audio_counts),
                manifest=read_rows(given.audio_manifest),
                captions=read_rows(given.audio_captions),
                variations=read_rows(given.audio_variations),
                usage=read_rows(given.audio_usage),
                **params.audio_trained,
            ),
        )
    )
    evaluations = read_frames(given.scores)
    scored = run_scores(evaluations, params.last_evaluations)
    datasets, layers = read_frames(given.datasets), read_frames(given.layers)
    conditions = claims_rl.conditions(
        evaluations, read_frames(given.trained_layers), datasets, params.rl_precision
    )
    rl = [
        claims_rl.bc_keeps_score(scored, conditions),
        claims_rl.bcq_keeps_score_but_on_hopper(scored, conditions),
        claims_rl_networks.last_layer_keeps_most(layers, datasets),
        claims_rl_networks.memory_shrinks_four_times(read_frames(given.sizes), layers),
        claims_rl_networks.sparse_inference_is_faster(read_frames(given.latency), layers),
    ]
    write_claims([*style, *audio, *rl], params.scale, snakemake.output[0])
