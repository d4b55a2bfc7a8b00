"""Augmented Random Search: how the experts were found.

ARS V2-t of Mania, Guy and Recht (2018), "Simple random search of static linear policies is
competitive for reinforcement learning", Algorithm 1. All 2N perturbed episodes of an iteration run
in lock-step, and both episodes of a pair start in the same state.

What follows is ours. Some seeds never learn to walk, and others forget it again, partly because
each new observation moves the standardisation under the weights. So several seeds run on trial,
and the best of them goes on from its best weights with the standardisation that belonged to them,
another step size, and a return to the best weights whenever half of their return is lost.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from triptych.core.stopping import Stopped, StopRequest
from triptych.rl.experts import LinearPolicy, PathLike, measure_expert, roll_out, write_expert
from triptych.rl.locomotion import Array, Locomotion, normalised_score

if TYPE_CHECKING:
    from triptych.core.checkpoint import Checkpoint

logger = logging.getLogger(__name__)

FIRST_TRAINING_SEED = 1_000_000_000
FIRST_SELECTION_SEED = 2_000_000_000


@dataclass(frozen=True)
class ArsSettings:
    """Settings of the search, with the symbols of the paper's Algorithm 1.

    Each of `seeds` runs for `trial_iterations`; the one with the best evaluation goes on until it
    has made `iterations`. The policy kept is the best of all evaluations, which happen every
    `evaluate_every` iterations over `evaluation_episodes` episodes, always with the same starts.
    """

    seeds: tuple[int, ...]
    trial_iterations: int
    iterations: int
    directions: int  # N, sampled in each iteration
    top: int  # b, used in the update
    step_size: float  # alpha, during the trial
    step_size_after: float  # and after it
    noise: float  # nu, standard deviation of the exploration, during the trial
    noise_after: float  # and after it
    survival_bonus: float  # subtracted from every reward while training (the paper's Section 4.2)
    evaluate_every: int
    evaluation_episodes: int

    def __post_init__(self) -> None:
        if not self.seeds:
            raise ValueError("seeds is empty: give at least one seed")
        if not 1 <= self.top <= self.directions:
            raise ValueError(f"top is {self.top}: expected 1 to directions, {self.directions}")
        if not 1 <= self.evaluate_every <= self.trial_iterations <= self.iterations:
            raise ValueError(
                "expected 1 <= evaluate_every <= trial_iterations <= iterations, got "
                f"{self.evaluate_every}, {self.trial_iterations}, {self.iterations}"
            )


@dataclass
class RunningMoments:
    """Mean and standard deviation of all observations seen so far, one a coordinate."""

    count: int
    total: Array
    total_of_squares: Array

    @classmethod
    def of_size(cls, size: int) -> "RunningMoments":
        return cls(0, np.zeros(size), np.zeros(size))

    def add(self, observations: Array) -> None:
        """Take in observations [E, S]."""
        self.count += len(observations)
        self.total += observations.sum(axis=0)
        self.total_of_squares += np.square(observations).sum(axis=0)

    def mean(self) -> Array:
        return self.total / max(self.count, 1)

    def scale(self) -> Array:
        """Standard deviation; 1 where a coordinate has not varied."""
        if self.count == 0:
            return np.ones_like(self.total)
        variance = self.total_of_squares / self.count - np.square(self.mean())
        deviation = np.sqrt(np.maximum(variance, 0.0))
        return np.where(deviation < 1e-7, 1.0, deviation)


@dataclass
class Search:
    """One seed's search: where it stands and the best policy that it has found."""

    task: str
    settings: ArsSettings
    seed: int
    weights: Array
    moments: RunningMoments
    iteration: int = 0
    environment_steps: int = 0
    refining: bool = False
    best_return: float = -np.inf
    best_policy: LinearPolicy | None = None
    curve: list[tuple[int, float]] = field(default_factory=list)

    @classmethod
    def start(cls, task: str, settings: ArsSettings, seed: int) -> "Search":
        """A search at its first iteration, all weights zero."""
        sizes = Locomotion(task, 1)
        weights = np.zeros((sizes.action_size, sizes.observation_size))
        moments = RunningMoments.of_size(sizes.observation_size)
        return cls(task, settings, seed, weights, moments)

    def state(self) -> dict[str, Any]:
        """All that `from_state` needs to go on, as plain numbers and lists."""
        best = self.best_policy
        return {
            "seed": self.seed,
            "weights": self.weights.tolist(),
            "count": self.moments.count,
            "total": self.moments.total.tolist(),
            "total_of_squares": self.moments.total_of_squares.tolist(),
            "iteration": self.iteration,
            "environment_steps": self.environment_steps,
            "refining": self.refining,
            "best_return": self.best_return,
            "best_policy": None
            if best is None
            else [part.tolist() for part in vars(best).values()],
            "curve": [list(point) for point in self.curve],
        }

    @classmethod
    def from_state(cls, task: str, settings: ArsSettings, state: dict[str, Any]) -> "Search":
        """The search that `state` was taken of."""
        best = state["best_policy"]
        return cls(
            task,
            settings,
            state["seed"],
            np.array(state["weights"]),
            RunningMoments(
                state["count"], np.array(state["total"]), np.array(state["total_of_squares"])
            ),
            state["iteration"],
            state["environment_steps"],
            state["refining"],
            state["best_return"],
            None if best is None else LinearPolicy(*(np.array(part) for part in best)),
            [(int(iteration), float(value)) for iteration, value in state["curve"]],
        )

    def run(self, until: int, after_evaluation: Callable[[], None] = lambda: None) -> None:
        """Go on to iteration `until`, evaluating on the way."""
        perturbed = Locomotion(self.task, 2 * self.settings.directions)
        evaluation = Locomotion(self.task, self.settings.evaluation_episodes)
        while self.iteration < until:
            self._iterate(perturbed)
            if self.iteration % self.settings.evaluate_every == 0:
                self._evaluate(evaluation)
                after_evaluation()

    def refine(self, until: int, after_evaluation: Callable[[], None] = lambda: None) -> None:
        """Go on from the best policy to iteration `until`, its standardisation held."""
        if not self.refining:
            self.refining = True
            self.weights = self.kept_policy().weights.copy()
        self.run(until, after_evaluation)

    def kept_policy(self) -> LinearPolicy:
        """The policy with the best evaluation so far."""
        if self.best_policy is None:
            raise RuntimeError(f"seed {self.seed} of {self.task}: no evaluation gave a number")
        return self.best_policy

    def _standardisation(self) -> tuple[Array, Array]:
        """Mean and scale of all observations so far or, while refining, the best policy's."""
        if self.refining:
            return self.kept_policy().observation_mean, self.kept_policy().observation_scale
        return self.moments.mean(), self.moments.scale()

    def _iterate(self, environment: Locomotion) -> None:
        settings = self.settings
        directions = settings.directions
        # Drawn anew from the iteration's number, so that a search can go on from its state alone.
        generator = np.random.default_rng([self.seed, self.iteration])
        deltas = generator.standard_normal((directions, *self.weights.shape))
        noise = settings.noise_after if self.refining else settings.noise
        candidates = np.concatenate([self.weights + noise * deltas, self.weights - noise * deltas])
        mean, scale = self._standardisation()

        def act(observations: Array) -> Array:
            standardised = (observations - mean) / scale
            actions = np.matmul(candidates, standardised[:, :, None])[:, :, 0]
            return np.asarray(np.clip(actions, -1.0, 1.0))

        first = FIRST_TRAINING_SEED + self.iteration * directions
        starts = list(range(first, first + directions))
        returns, lengths = roll_out(environment, act, starts + starts, self.moments.add)
        rewards = returns - settings.survival_bonus * lengths
        step_size = settings.step_size_after if self.refining else settings.step_size
        self.weights = self.weights + step_size * update_direction(
            deltas, rewards[:directions], rewards[directions:], settings.top
        )
        self.environment_steps += int(lengths.sum())
        self.iteration += 1

    def _evaluate(self, environment: Locomotion) -> None:
        policy = LinearPolicy(self.weights.copy(), *self._standardisation())
        seeds = range(FIRST_SELECTION_SEED, FIRST_SELECTION_SEED + environment.episodes)
        returns, lengths = roll_out(environment, policy, seeds)
        mean_return = float(returns.mean())
        self.environment_steps += int(lengths.sum())
        self.curve.append((self.iteration, mean_return))
        if mean_return > self.best_return:
            self.best_return, self.best_policy = mean_return, policy
        elif self.refining and mean_return < 0.5 * self.best_return:
            # The gait is lost, and finding it again would take longer than going back.
            self.weights = self.kept_policy().weights.copy()
        logger.info(
            "%s seed %d iteration %d: return %.0f (normalised %.1f; best %.1f), %.2fM steps",
            self.task,
            self.seed,
            self.iteration,
            mean_return,
            normalised_score(self.task, mean_return),
            normalised_score(self.task, self.best_return),
            self.environment_steps / 1e6,
        )


def update_direction(deltas: Array, plus: Array, minus: Array, top: int) -> Array:
    """The update of ARS, without the step size (Algorithm 1, lines 6 and 7).

    `deltas` [N, A, S]; `plus` and `minus` [N] are the rewards of the episodes at either side.
    Only the `top` directions with the largest max(plus, minus) count, and their sum is divided by
    the standard deviation of their 2 `top` rewards.
    """
    chosen = np.argsort(-np.maximum(plus, minus), kind="stable")[:top]
    spread = np.concatenate([plus[chosen], minus[chosen]]).std()
    if spread == 0.0:
        return np.zeros_like(deltas[0])
    differences = plus[chosen] - minus[chosen]
    total: Array = np.tensordot(differences, deltas[chosen], axes=1)
    return total / (top * spread)


def train_expert(
    task: str,
    settings: ArsSettings,
    path: PathLike,
    checkpoint: "Checkpoint | None" = None,
    stop: StopRequest | None = None,
) -> None:
    """Search with every seed, go on with the best, measure its policy and write it to `path`.

    With a `checkpoint` the state is kept after each evaluation and taken up again; with `stop` a
    wish to stop is granted there, by raising Stopped. Neither changes the result.
    """
    stored = checkpoint.load() if checkpoint is not None else None
    states = {state["seed"]: state for state in stored["searches"]} if stored else {}
    searches: list[Search] = []

    def keep() -> None:
        if checkpoint is not None:
            checkpoint.save({"searches": [search.state() for search in searches]})
        if stop is not None and stop.reason is not None:
            raise Stopped(stop.reason)

    for seed in settings.seeds:
        if seed in states:
            searches.append(Search.from_state(task, settings, states[seed]))
        else:
            searches.append(Search.start(task, settings, seed))
        searches[-1].run(settings.trial_iterations, keep)
    best = max(searches, key=lambda search: trial_return(search))
    best.refine(settings.iterations, keep)
    policy = best.kept_policy()
    measured = measure_expert(task, policy)
    logger.info("%s: %s", task, measured)
    training = {
        "algorithm": "ARS V2-t (Mania, Guy and Recht, 2018), actions clipped to [-1, 1]",
        "settings": asdict(settings),
        "seed_continued": best.seed,
        "environment_steps": sum(search.environment_steps for search in searches),
        "best_iteration": max(best.curve, key=lambda point: point[1])[0],
        "trial_returns": {str(search.seed): round(trial_return(search), 1) for search in searches},
        "mujoco": version("mujoco"),
        "gymnasium": version("gymnasium"),
    }
    write_expert(path, task, policy, measured, training)


def trial_return(search: Search) -> float:
    """The best evaluation within the trial: what the seeds are compared by."""
    trial = search.settings.trial_iterations
    return max(value for iteration, value in search.curve if iteration <= trial)
