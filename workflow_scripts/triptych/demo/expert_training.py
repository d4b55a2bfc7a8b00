"""The rule rl_train_expert's work: train by PPO, keep the best policy, measure and write it."""

from importlib.metadata import version

from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import Stop
from triptych.core.training_loop import Rhythm, TrainingLoop
from triptych.demo.experts import PathLike, write_expert, write_record
from triptych.demo.ppo import ENVIRONMENTS, HIDDEN, HORIZON, PpoSettings, Trainer


def train_expert(
    task: str,
    settings: PpoSettings,
    policy_path: PathLike,
    record_path: PathLike,
    checkpoint: Checkpoint,
    stop: Stop,
) -> None:
    """Train, keep the policy of the best evaluation, measure it on fresh episodes, write both.

    The state is kept at every evaluation and taken up again; raises Stopped after saving when
    `stop` asks for it. Neither changes the result. Raises DivergedError when weights are not
    finite or the value's error explodes; the last state stays.
    """
    trainer = Trainer(task, settings)
    advice = f"Choose another seed in the config (rl.experts.{task}.seed)."
    rhythm = Rhythm(trainer.iterations, ("iteration", "iterations"), advice=advice)
    loop = TrainingLoop(trainer, rhythm, checkpoint, lambda: stop.reason)
    loop.restore()
    loop.run(task, trainer.iterate)
    training = {
        "algorithm": "PPO (Schulman et al. 2017), the policy's mean, clipped to [-1, 1]",
        "seed": settings.seed,
        "environment_steps": trainer.iterations * ENVIRONMENTS * HORIZON,
        "hidden": [HIDDEN, HIDDEN],
        "mujoco": version("mujoco"),
        "gymnasium": version("gymnasium"),
        "torch": version("torch"),
    }
    write_expert(policy_path, trainer.kept)
    write_record(record_path, task, training, trainer.kept)
