"""Prune, train and score a stack of runs, resuming where an interrupted attempt stopped."""

from dataclasses import replace

import pandas as pd

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_device, choose_precision
from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.core.provenance import fingerprint
from triptych.core.stopping import StopRequest, scheduler_limit
from triptych.rl.acting.evaluation import EvaluationSettings
from triptych.rl.acting.stored_policy import write_policies
from triptych.rl.algorithms.registry import ALGORITHMS, Widths
from triptych.rl.pruning.stack import prune_stack
from triptych.rl.tasks.task import task_from
from triptych.rl.training.learner import StepSettings
from triptych.rl.training.mixed_learner import slower_than_sparse, sparse_runs
from triptych.rl.training.train import TrainingSettings, policies_of, train_stack

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    rows, device = pd.DataFrame(params.runs), choose_device(params.device)
    task = task_from(**params.task)
    widths, networks = Widths.from_table(params.widths), snakemake.wildcards.networks
    algorithms = [ALGORITHMS[n].from_table(table) for n, table in params.algorithms.items()]
    pruned = prune_stack(rows, networks, widths, algorithms[0], params.pruning, task, params.first)
    kept_alone = sparse_runs(rows, pruned.masks, algorithms[0].learning, device)
    precision = choose_precision(
        params.training["precision"],
        device,
        "unscaled",
        wrong=lambda _: slower_than_sparse(kept_alone.values(), len(rows)),
    )
    sparse = () if precision == "bf16" else tuple(kept_alone)
    computed = {"training": {**params.training, "precision": precision}, "sparse": sparse}
    given = {**dict(params.items()), **computed}
    steps = StepSettings(
        **{name: params.training[name] for name in ("batch", "learning_rate", "schedule", "tau")}
    )
    training = TrainingSettings(
        updates=params.training["updates"],
        evaluate_every=params.evaluation["every"],
        checkpoint_every=params.training["checkpoint_every"],
        precision=precision,
        algorithms=tuple(algorithms),
        sparse=sparse,
    )
    evaluation = EvaluationSettings(
        **{name: value for name, value in params.evaluation.items() if name != "every"}, task=task
    )
    trained = train_stack(
        rows,
        snakemake.input.transitions,
        pruned.masks,
        widths,
        steps,
        training,
        evaluation,
        device,
        Checkpoint(params.checkpoint, fingerprint(given, snakemake.input)),
        StopRequest(scheduler_limit(snakemake.resources.get("runtime"))),
        pruned.scope,
        params.first,
    )
    pruned = replace(pruned, masks=trained.masks or pruned.masks)
    pruned.write(output.masks, output.layers, output.inputs, output.sizes)
    scores = trained.scores.assign(trained_on=params.first) if params.first else trained.scores
    for table, path in ((scores, output.scores), (trained.losses, output.losses)):
        write_csv(table, path)
    write_policies(output.policies, policies_of(rows, trained, training, evaluation))
