"""Prune, train and score a stack of runs, resuming where an interrupted attempt stopped."""

from dataclasses import replace

import pandas as pd
import torch

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_device, choose_precision
from triptych.core.files import write_csv
from triptych.core.job import job, settings_from
from triptych.core.provenance import fingerprint
from triptych.core.stopping import StopRequest, scheduler_limit
from triptych.rl.acting.evaluation import EvaluationSettings
from triptych.rl.networks.algorithm import Widths, algorithm_class
from triptych.rl.networks.sampling import DeviceData
from triptych.rl.pruning.stack import prune_stack
from triptych.rl.tasks.task import task_from
from triptych.rl.tasks.transitions import read_horizon, read_transitions
from triptych.rl.training.curves import draw_curves
from triptych.rl.training.learner import StepSettings, sparse_runs
from triptych.rl.training.train import TrainingSettings, acting_settings, train, write_policies

with job(snakemake):
    params, output, training = snakemake.params, snakemake.output, snakemake.params.training
    rows, device = pd.DataFrame(params.runs), choose_device(params.device)
    task = task_from(**params.task)
    algorithms = tuple(
        settings_from(algorithm_class(name), table) for name, table in params.algorithms.items()
    )
    transitions = read_transitions(snakemake.input.transitions, params.max_transitions)
    pruned = prune_stack(
        rows,
        snakemake.wildcards.networks,
        settings_from(Widths, params.widths),
        algorithms[0],
        params.pruning,
        task=task,
        transitions=transitions,
    )
    sparse = sparse_runs(rows, pruned.masks, algorithms[0].update_order(), device)
    precision = choose_precision(
        training["precision"],
        device,
        "unscaled",
        wrong=lambda _: None if device.type == "cuda" else "runs of several jobs are compared",
    )
    settings = TrainingSettings(
        algorithms=algorithms,
        steps=settings_from(StepSettings, training),
        evaluation=settings_from(
            EvaluationSettings,
            params.evaluation,
            task=task,
            horizon=read_horizon(snakemake.input.transitions),
        ),
        updates=training["updates"],
        evaluate_every=params.evaluation["every"],
        checkpoint_every=snakemake.resources.checkpoint_every,
        precision=precision,
        sparse=() if precision == "bf16" else sparse,
    )

    def write_histories(scores: pd.DataFrame, losses: pd.DataFrame) -> None:
        """Write both tables and the curves, which grow while the training runs."""
        if params.max_transitions:
            scores = scores.assign(trained_on=params.max_transitions)
        write_csv(scores, output.scores)
        write_csv(losses, output.losses)
        draw_curves(scores, output.curves)

    decided = {"training": {**training, "precision": precision}, "sparse": settings.sparse}
    trained = train(
        pruned,
        DeviceData(transitions, device, torch.float32),
        settings,
        Checkpoint(
            params.checkpoint, fingerprint({**dict(params.items()), **decided}, snakemake.input)
        ),
        StopRequest(scheduler_limit(snakemake.resources.get("runtime"))),
        write_histories,
    )
    pruned = replace(pruned, masks=trained.masks or pruned.masks)
    pruned.write(output.masks, output.layers, output.inputs, output.sizes)
    write_policies(output.policies, trained.arrays, params.runs, acting_settings(settings))
