"""Where a GPU's memory runs out, the same work is done with half as much of it at a time.

Most tests run on a CPU, where something stands in for the GPU: a model that refuses more than so
many rows at once with PyTorch's own error.
"""

import numpy as np
import pytest
import torch
import trainings as small
from two_layers import choices, images, small_backbone

from triptych.core.memory import NoRoomError
from triptych.rl.algorithms import bcq
from triptych.style.data.backbone import Backbone
from triptych.style.network import stylize
from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.perceptual import PerceptualLoss
from triptych.style.optimise.gatys import optimise


def rows_of_parameters(parameters, *_):
    return len(next(iter(parameters.values())))


# --- style ---


def test_a_style_training_ends_with_the_same_network(tmp_path, caplog):
    """All terms, the one against flicker included, whose noise is drawn for the whole batch."""
    chosen = {"batches": 6, "log_every": 1}
    expected = small.train_style(tmp_path / "whole", **chosen)
    with small.room_for(TransformationNetwork, "forward", 1):
        found = small.train_style(tmp_path / "parts", **chosen)
    assert small.halvings(caplog)[:2] == [(3, 2), (2, 1)]
    terms = ["content", "style", "total_variation", "temporal", "total"]
    np.testing.assert_allclose(found.losses[terms], expected.losses[terms], rtol=1e-4, atol=1e-6)
    photograph = torch.rand(1, 3, 20, 20, generator=torch.Generator().manual_seed(0))
    outputs = []
    for trained in (found, expected):
        network = TransformationNetwork(small.SMALL)
        network.load_state_dict(trained.checkpoints[6].weights)
        outputs.append(network(photograph))
    # Compared by what they do: biases in front of an instance norm have no gradient but noise.
    torch.testing.assert_close(outputs[0], outputs[1], rtol=0, atol=1e-4)


def test_gradients_of_parts_add_up_to_those_of_the_batch(tmp_path):
    """With a last part that is smaller, in float64: a mean of parts' means would be wrong."""
    from triptych.style.network.training import TrainingRun

    found = []
    for size in (3, 2, 1):
        torch.manual_seed(0)
        network = TransformationNetwork(small.SMALL).double()
        backbone = small.style.random_backbone().double()
        loss = PerceptualLoss(backbone, small.style.LOSSES, [small.style.painting().double()])
        run = TrainingRun(network, loss, small.style.TRAINING, small.CPU, tmp_path)
        batch = small.style.Noise().batch(range(3))[:, :, :20, :20].double() / 255
        disturbance = loss.disturbance(batch, torch.Generator().manual_seed(1))
        corners = torch.tensor([[0, 0], [3, 5], [-40, 7]])
        values = run._gradients(batch, None, corners, disturbance, size)
        found.append([values.double(), *(p.grad for p in network.parameters())])
    for parts in found[1:]:
        for one, other in zip(parts, found[0], strict=True):
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-9)


CONTENTS, PAINTINGS = images(3), images(3, seed=2)


@pytest.mark.parametrize("optimizer", ["lbfgs", "adam"])
def test_optimised_images_are_the_same_from_fewer_at_once(caplog, optimizer):
    def run():
        return optimise(
            CONTENTS, PAINTINGS, small_backbone(), choices(optimizer=optimizer), 8, seeds=[0, 1, 2]
        )

    expected = run()
    # The targets are measured one image at a time, without gradients.
    with small.room_for(Backbone, "forward", 1):
        found = run()
    assert small.halvings(caplog) == [(3, 2), (2, 1)]
    torch.testing.assert_close(found.images, expected.images, rtol=0, atol=1e-9)
    columns = ["content", "style", "total_variation", "total"]
    np.testing.assert_allclose(found.history[columns], expected.history[columns], rtol=1e-9)


def a_network():
    torch.manual_seed(3)
    return PreparedNetwork(TransformationNetwork(small.SMALL).eval().requires_grad_(False))


def test_stylised_images_are_the_same_from_fewer_at_once_and_from_tiles(monkeypatch, caplog):
    photographs = torch.rand(5, 3, 40, 36, generator=torch.Generator().manual_seed(0))
    network = a_network()
    expected = stylize.stylise(network, photographs)
    plan = stylize.Plan(False, 4, 0)
    monkeypatch.setattr(stylize, "plan_for", lambda *_: plan)
    for room, told in ((1, [(4, 2), (2, 1)]), (0, [(4, 2), (2, 1)])):
        caplog.clear()
        with small.room_for(PreparedNetwork, "__call__", room):
            found = stylize.stylise(network, photographs)
        assert small.halvings(caplog) == told
        assert ("tiles" in caplog.text) == (room == 0)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)


def test_an_image_that_does_not_fit_in_tiles_is_told(monkeypatch):
    monkeypatch.setattr(stylize, "plan_for", lambda *_: stylize.Plan(True, 1, 0))
    with (
        small.room_for(stylize, "stylise_tiled", 0, size=lambda *_, **__: 1),
        pytest.raises(NoRoomError, match=r"40x30 pixels .*even in tiles.*Make it smaller"),
    ):
        stylize.stylise(a_network(), torch.rand(3, 30, 40))


# --- a stack of runs ---


@pytest.mark.parametrize("algorithms", [("BCQ", "BC"), ("BC",)])
def test_a_stack_ends_with_the_same_networks_and_scores(tmp_path, caplog, algorithms):
    expected = small.train_stack(tmp_path / "whole", algorithms=algorithms)
    with small.room_for(bcq, "vae_loss", 2, size=rows_of_parameters):
        found = small.train_stack(tmp_path / "parts", algorithms=algorithms)
    assert small.halvings(caplog) == [(3, 2)]
    for name, value in expected.arrays.items():
        np.testing.assert_allclose(found.arrays[name], value, rtol=0, atol=2e-5)
    np.testing.assert_allclose(
        found.losses.filter(like="_loss").astype(float),
        expected.losses.filter(like="_loss").astype(float),
        rtol=1e-3,
    )
    assert small.saved(tmp_path / "parts")["portion"] == 2


def test_a_stack_without_room_for_a_run_says_what_to_do(tmp_path, capsys):
    with small.room_for(bcq, "vae_loss", 0, size=rows_of_parameters):
        said = small.failed_job(tmp_path, capsys, lambda: small.train_stack(tmp_path))
    assert "doesn't hold one of the runs" in said and "Lower rl.runs_per_job" in said


# --- a GPU's own limit ---


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_whose_memory_is_limited_trains_to_the_same(tmp_path, caplog):
    """With 60% of what the tensors of a whole batch take, some hundreds of megabytes."""

    class Large:
        training = range(16)

        def batch(self, indices):
            generator = torch.Generator().manual_seed(0)
            crops = torch.randint(0, 256, (16, 3, 192, 192), generator=generator, dtype=torch.uint8)
            return crops[list(indices)]

    gpu = torch.device("cuda")
    chosen = {"batches": 4, "batch": 16, "size": 192, "log_every": 1, "crops": Large()}
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    expected = small.train_style(tmp_path / "whole", device=gpu, **chosen)
    peak, total = torch.cuda.max_memory_allocated(), torch.cuda.mem_get_info()[1]
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.6 * peak / total)
    try:
        found = small.train_style(tmp_path / "parts", device=gpu, **chosen)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert small.halvings(caplog)
    terms = ["content", "style", "total_variation", "temporal", "total"]
    np.testing.assert_allclose(found.losses[terms], expected.losses[terms], rtol=1e-2)
