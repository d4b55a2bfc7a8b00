"""Where a GPU's memory runs out, the same work is done with half as much of it at a time.

On a CPU; a model that refuses more than so many rows at once stands in for the GPU.
"""

import numpy as np
import torch
import trainings as small
from two_layers import choices, images, small_backbone

from triptych.rl.algorithms import bcq
from triptych.style.data.backbone import Backbone
from triptych.style.network import stylize
from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.network import TransformationNetwork
from triptych.style.optimise.gatys import optimise

# --- style ---


def test_a_style_training_ends_with_the_same_network(tmp_path, caplog):
    chosen = {"batches": 6, "log_every": 1}
    expected = small.train_style(tmp_path / "whole", **chosen)
    with small.room_for(TransformationNetwork, "forward", 1):
        found = small.train_style(tmp_path / "parts", **chosen)
    assert small.halvings(caplog)[:2] == [(3, 2), (2, 1)]
    terms = ["content", "style", "total_variation", "total"]
    np.testing.assert_allclose(found.losses[terms], expected.losses[terms], rtol=1e-4, atol=1e-6)
    photograph = torch.rand(1, 3, 20, 20, generator=torch.Generator().manual_seed(0))
    outputs = []
    for trained in (found, expected):
        network = TransformationNetwork(small.SMALL)
        network.load_state_dict(trained.checkpoints[6].weights)
        outputs.append(network(photograph))
    # Compared by what they do: biases in front of an instance norm have no gradient but noise.
    torch.testing.assert_close(outputs[0], outputs[1], rtol=0, atol=1e-3)


CONTENTS, PAINTINGS = images(3), images(3, seed=2)


def test_optimised_images_are_the_same_from_fewer_at_once(caplog):
    def run():
        return optimise(CONTENTS, PAINTINGS, small_backbone(), choices(), 8)

    expected = run()
    # The targets are measured one image at a time, without gradients.
    with small.room_for(Backbone, "forward", 1):
        found = run()
    assert small.halvings(caplog) == [(3, 2), (2, 1)]
    torch.testing.assert_close(found.images, expected.images, rtol=0, atol=1e-9)
    columns = ["content", "style", "total_variation", "total"]
    np.testing.assert_allclose(found.history[columns], expected.history[columns], rtol=1e-9)


def test_stylised_images_are_the_same_from_fewer_at_once(monkeypatch, caplog):
    photographs = torch.rand(5, 3, 40, 36, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(3)
    network = PreparedNetwork(TransformationNetwork(small.SMALL).eval().requires_grad_(False))
    expected = stylize.stylise(network, photographs)
    monkeypatch.setattr(stylize, "images_at_once", lambda *_: 4)
    with small.room_for(PreparedNetwork, "__call__", 1):
        found = stylize.stylise(network, photographs)
    assert small.halvings(caplog) == [(4, 2), (2, 1)]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)


# --- a stack of runs ---


def test_a_stack_without_room_says_what_to_do(tmp_path, capsys):
    with small.room_for(
        bcq, "vae_loss", 2, size=lambda parameters, *_: len(next(iter(parameters.values())))
    ):
        said = small.failed_job(tmp_path, capsys, lambda: small.train_stack(tmp_path))
    assert "doesn't hold 3 runs" in said and "Lower rl.runs_per_job" in said
