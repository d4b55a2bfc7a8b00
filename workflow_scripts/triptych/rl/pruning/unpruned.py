"""Networks at initialisation, as a pruning criterion gets them, and what all criteria share.

Weights (never biases) are scored, and the k best kept within each group: actor, critic, encoder,
decoder, as in Algorithm 1 of Arnob et al. 2021. Other algorithms' networks are a group each.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from types import ModuleType

import torch
from torch import Tensor

from triptych.core.device import keyed_generator
from triptych.rl.networks.algorithm import Algorithm
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.networks.stacked import Parameters, apply_masks, network_of, select
from triptych.rl.pruning.keeping import count_kept, keep_count

Scores = dict[str, Tensor]
"""One score a weight, [K, in, out] by weight name; the larger, the sooner it is kept."""
BatchLoss = Callable[[], Tensor]
"""The losses [K] of one network on the batch that scores its weights."""
ScoreFunction = Callable[[Parameters, BatchLoss], Scores]
"""The scores of one network's weights."""
Counts = Callable[[Scores, int], Mapping[str, int]]
"""Weights to keep in each layer, by scores and the number to keep in all."""


def weights_of(parameters: Parameters) -> Parameters:
    """The prunable tensors: linear weights, never biases."""
    return {name: value for name, value in parameters.items() if name.endswith(".weight")}


def largest_in_groups(
    scores: Scores, groups: Iterable[Sequence[str]], percent: float
) -> Parameters:
    """Boolean masks that keep exactly round(N (1 - s)) of the N weights of each group, in each row.

    groups: names of the weights that are ranked together. percent: the sparsity.
    """
    masks: Parameters = {}
    for names in groups:
        group = {name: scores[name] for name in names}
        masks |= keep_count(group, count_kept(group, percent))
    return masks


@dataclass(frozen=True)
class Unpruned:
    """K fresh networks of one task, and the data by which a criterion may score their weights.

    parameters: [K, in, out] and [K, 1, out] by name. seeds: of the K networks, which key all draws.
    settings: the keys of `rl.pruning` with their values.
    """

    parameters: Parameters
    seeds: Sequence[int]
    task: str
    algorithm: Algorithm
    settings: Mapping[str, int]
    data: DeviceData
    _scored: dict[ScoreFunction, Scores] = field(default_factory=dict, init=False)

    @property
    def weights(self) -> Parameters:
        return weights_of(self.parameters)

    def groups(self) -> list[list[str]]:
        return list(self.algorithm.groups().values())

    def largest_by_loss(self, score: ScoreFunction, batch: str, percent: float) -> Parameters:
        """Masks of the largest scores in each group, scored by each network's own loss.

        batch: key of `rl.pruning`, the number of transitions that score. percent: the sparsity.
        With several iterations the share of weights kept decreases geometrically, each on a batch
        of its own (de Jorge et al. 2021, "Iterative SNIP"); the paper has one.
        """
        if score not in self._scored:  # one scoring serves all sparsities
            self._scored[score] = self._scores(score, batch, {}, 0)
        share, count = 1 - percent / 100, self.settings["iterations"]
        masks: Parameters = {}
        for iteration in range(count):
            scores = self._scored[score]
            if iteration:
                scores = self._scores(score, batch, masks, iteration)
            last = iteration == count - 1
            level = percent if last else 100 * (1 - share ** ((iteration + 1) / count))
            masks = largest_in_groups(scores, self.groups(), level)
        return masks

    def _scores(
        self, score: ScoreFunction, batch: str, masks: Parameters, iteration: int
    ) -> Scores:
        """Scores of the weights left by masks, on a batch and noise that no update sees."""
        draws = Draws(self.seeds, self.data, self.settings[batch], self.algorithm, purpose="prune")
        index, noise = draws.at(iteration)
        transitions = self.data.batch(index)
        pruned = apply_masks(self.parameters, masks)
        live = {name: value.detach().clone().requires_grad_() for name, value in pruned.items()}
        losses, scores = self.algorithm.losses(), Scores()
        for network in dict.fromkeys(map(network_of, live)):
            loss = partial(losses[network], live, live, transitions, noise)
            scores |= score(weights_of(select(live, network)), loss)
        # What was cut stays cut: GraSP gives what it keeps scores below zero too.
        return {
            name: value.masked_fill(~masks[name], -torch.inf) if name in masks else value
            for name, value in scores.items()
        }

    def largest_by_layer(self, scores: Scores, counts: Counts, percent: float) -> Parameters:
        """Masks of the largest scores in each layer, as many as `counts` gives each layer of a
        group."""
        masks: Parameters = {}
        for names in self.groups():
            group = {name: scores[name] for name in names}
            for name, count in counts(group, count_kept(group, percent)).items():
                masks |= keep_count({name: group[name]}, count)
        return masks

    def magnitudes(self) -> Scores:
        return {name: weight.abs() for name, weight in self.weights.items()}

    def uniform_scores(self) -> Scores:
        """Uniform random scores of every weight, keyed by task, seed and layer."""
        scores = {}
        for name, weight in self.weights.items():
            rows = [
                torch.rand(
                    weight.shape[1:],
                    generator=self._generator(weight, "random", seed, name),
                    device=weight.device,
                )
                for seed in self.seeds
            ]
            scores[name] = torch.stack(rows)
        return scores

    def shuffled_within_layers(self, masks: Parameters) -> Parameters:
        """Masks with the same counts in each layer and random places."""
        shuffled = {}
        for name, mask in masks.items():
            rows = []
            for row, seed in zip(mask, self.seeds, strict=True):
                generator = self._generator(mask, "shuffle", seed, name)
                order = torch.randperm(row.numel(), generator=generator, device=mask.device)
                rows.append(row.flatten()[order].reshape(row.shape))
            shuffled[name] = torch.stack(rows)
        return shuffled

    def _generator(self, tensor: Tensor, purpose: str, seed: int, name: str) -> torch.Generator:
        return keyed_generator(tensor.device, purpose, self.task, seed, name)


@dataclass(frozen=True)
class TrainedRow:
    """One network of a stack while it trains, as a criterion gets it whose masks change.

    weights, masks: [1, in, out] by name. groups: names of the weights ranked together. update: the
    number of updates done.
    """

    weights: Parameters
    masks: Parameters
    groups: Sequence[Sequence[str]]
    percent: float
    task: str
    seed: int
    update: int

    def draw(self, purpose: str, name: str) -> Tensor:
        """Uniform numbers [in, out] for a layer, keyed by task, seed, update and layer."""
        weight = self.weights[name][0]
        generator = keyed_generator(weight.device, purpose, self.task, self.seed, self.update, name)
        return torch.rand(weight.shape, generator=generator, device=weight.device)


def criterion(name: str) -> ModuleType:
    """The module of a criterion, by its name in configs (pruning/criteria/__init__.py)."""
    return import_module(f"triptych.rl.pruning.criteria.{name}")
