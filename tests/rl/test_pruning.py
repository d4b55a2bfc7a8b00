"""Scores against finite differences and explicit Hessians; masks by exact counts."""

import numpy as np
import pytest
import torch
from stacks import CPU, runs

from triptych.core.errors import InputError
from triptych.rl.algorithms.bcq import Bcq, vae_loss
from triptych.rl.methods import CRITERIA
from triptych.rl.networks.algorithm import Widths
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.pruning.criteria import magnitude as criterion_file
from triptych.rl.pruning.criteria import snip
from triptych.rl.pruning.criteria.grasp import gradient_signal_preservation
from triptych.rl.pruning.criteria.snip import connection_sensitivity
from triptych.rl.pruning.keeping import count_kept, keep_count
from triptych.rl.pruning.stack import layer_table, prune, read_masks, write_masks

ONCE = {"snip_batch": 10, "grasp_batch": 20, "iterations": 1}
PRUNING = {"default": ONCE, "twice": ONCE | {"iterations": 2}}
TINY = Widths((4, 3), (4, 3), 3)


def keep_largest(scores, sparsity):
    return keep_count(scores, count_kept(scores, sparsity))


@pytest.fixture
def tiny_vae(transitions, bcq_settings):
    """Weights of a small VAE in float64 and its loss as a function of nothing."""
    parameters = {
        name: value.double().requires_grad_()
        for name, value in Bcq.initialise(TINY, 11, 3, [0]).items()
        if name.startswith("vae.")
    }
    data = DeviceData(transitions, CPU, torch.float64)
    index, noise = Draws([0], data, 20, bcq_settings).at(0)
    weights = {name: value for name, value in parameters.items() if name.endswith(".weight")}
    return weights, lambda: vae_loss(parameters, parameters, data.batch(index), noise)


def soft(networks, percent):
    return {name: torch.sigmoid(value) for name, value in networks.weights.items()}


def integers(networks, percent):
    return {name: mask.long() for name, mask in snip.masks(networks, percent).items()}


def one_missing(networks, percent):
    return dict(list(snip.masks(networks, percent).items())[1:])


def of_one_network(networks, percent):
    return {name: mask[:1] for name, mask in snip.masks(networks, percent).items()}


def density_for_sparsity(networks, percent):
    return snip.masks(networks, 100 - percent)


def one_more(networks, percent):
    masks = snip.masks(networks, percent)
    next(iter(masks.values()))[0].fill_(True)
    return masks


def over_all_networks(networks, percent):
    return keep_largest(networks.magnitudes(), percent)


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        (soft, r"torch\.float32 of shape .*expected a tensor of torch\.bool"),
        (integers, r"torch\.int64 of shape"),
        (one_missing, r"the mask of actor\.l1\.weight is NoneType"),
        (of_one_network, r"of shape \(1, .*expected .*of shape \(2, "),
        (density_for_sparsity, r"at 90% its masks keep \d+ of \d+ weights; expected \d+"),
        (one_more, r"at 90% its masks keep"),
        (over_all_networks, ""),
    ],
)
def test_masks_of_a_criterion_that_break_its_promise_are_refused_by_its_file(
    transitions, bcq_settings, monkeypatch, masks, message
):
    monkeypatch.setattr(criterion_file, "masks", masks)
    data = DeviceData(transitions, CPU, torch.float32)
    table, run = runs(("magnitude", 90, 0), ("magnitude", 90, 1)), (TINY, PRUNING, data)
    if not message:
        prune(table, *run, bcq_settings)
        return
    file = r"workflow_scripts/triptych/rl/pruning/criteria/magnitude\.py"
    with pytest.raises(InputError, match=rf"^{file}: .*{message}"):
        prune(table, *run, bcq_settings)


def test_snip_score_is_the_change_of_loss_when_a_connection_is_scaled(tiny_vae):
    weights, loss = tiny_vae
    scores = connection_sensitivity(weights, loss)
    step = 1e-6
    for name, weight in weights.items():
        flat, score = weight.data.view(-1), scores[name].view(-1)
        for q in range(0, flat.numel(), 5):
            kept = flat[q].item()
            flat[q] = kept * (1 + step)
            up = loss().item()
            flat[q] = kept * (1 - step)
            down = loss().item()
            flat[q] = kept
            assert abs((up - down) / (2 * step)) == pytest.approx(score[q].item(), abs=1e-8)


def test_grasp_score_is_minus_theta_hessian_gradient_turned_round(tiny_vae):
    weights, loss = tiny_vae
    scores = gradient_signal_preservation(weights, loss)
    names, shapes = list(weights), [weight.shape for weight in weights.values()]
    sizes = [weight.numel() for weight in weights.values()]
    gradients = torch.autograd.grad(loss().sum(), list(weights.values()), create_graph=True)
    g = torch.cat([gradient.flatten() for gradient in gradients])
    hessian = torch.stack(
        [
            torch.cat(
                [
                    part.flatten()
                    for part in torch.autograd.grad(
                        element, list(weights.values()), retain_graph=True
                    )
                ]
            )
            for element in g
        ]
    )
    theta = torch.cat([weight.flatten() for weight in weights.values()])
    removed_first = -theta * (hessian @ g)  # Eq. 4
    expected = dict(zip(names, (-removed_first).split(sizes), strict=True))
    for name, shape in zip(names, shapes, strict=True):
        torch.testing.assert_close(scores[name], expected[name].reshape(shape).detach())


@pytest.mark.parametrize("sparsity", [0, 37, 95])
def test_of_equal_scores_the_earlier_are_kept_as_by_a_stable_sort(sparsity):
    score = torch.randint(4, (5, 23, 17), generator=torch.Generator().manual_seed(2)).float()
    mask = keep_largest({"w": score}, sparsity)["w"].flatten(1).numpy()
    kept = round(23 * 17 * (1 - sparsity / 100))
    for row, values in zip(mask, score.flatten(1).numpy(), strict=True):
        first = np.argsort(-values, kind="stable")[:kept]
        assert set(np.flatnonzero(row)) == set(first)


@pytest.mark.parametrize("method", [n for n in CRITERIA if n != "trained_magnitude"])
def test_every_method_keeps_the_same_number_in_each_group(
    method, narrow, transitions, bcq_settings
):
    data = DeviceData(transitions, CPU, torch.float32)
    rows = runs((method, 80, 0), (method, 80, 1), ("dense", 0, 1))
    _, masks = prune(rows, narrow, PRUNING, data, bcq_settings)
    assert list(Bcq.groups()) == ["actor", "critic", "encoder", "decoder"]
    for names in Bcq.groups().values():
        total = sum(masks[name][0].numel() for name in names)
        for k, share in ((0, 0.2), (1, 0.2), (2, 1.0)):
            assert sum(int(masks[name][k].sum()) for name in names) == round(total * share)


@pytest.mark.parametrize("method", CRITERIA)
def test_a_mask_depends_on_its_row_and_not_on_the_stack(method, narrow, transitions, bcq_settings):
    data = DeviceData(transitions, CPU, torch.float64)
    stacked = runs(("snip", 50, 0), (method, 90, 3), ("dense", 0, 0), (method, 90, 4))
    parameters, masks = prune(stacked, narrow, PRUNING, data, bcq_settings)
    own = runs((method, 90, 3))
    alone_parameters, alone = prune(own, narrow, PRUNING, data, bcq_settings)
    for name, mask in alone.items():
        assert torch.equal(mask[0], masks[name][1])
        assert torch.equal(alone_parameters[name][0], parameters[name][1])


def test_two_iterations_score_again_what_the_first_has_left(narrow, transitions, bcq_settings):
    """SNIP at 75% in two steps, by hand: half of each part of the VAE, then half of these."""
    data = DeviceData(transitions, CPU, torch.float32)
    rows = runs(("snip", 75, 0), ("snip", 75, 0), ("grasp", 75, 0), ("snip", 50, 0))
    rows["pruning"] = ["default", "twice", "twice", "default"]
    fresh, masks = prune(rows, narrow, PRUNING, data, bcq_settings)
    encoder = [f"vae.{layer}.weight" for layer in ("e1", "e2", "mean", "log_std")]
    decoder = [f"vae.{layer}.weight" for layer in ("d1", "d2", "d3")]
    draws = Draws([0], data, 10, bcq_settings, "prune")
    kept = {name: np.ones(value.shape[1:], bool) for name, value in fresh.items()}
    for step, share in enumerate((0.5, 0.25)):
        index, noise = draws.at(step)
        live = {name: value[:1] * torch.tensor(kept[name]) for name, value in fresh.items()}
        live = {name: value.requires_grad_() for name, value in live.items()}
        vae_loss(live, live, data.batch(index), noise).sum().backward()
        for names in (encoder, decoder):
            scores = {n: (live[n] * live[n].grad)[0].abs().detach().numpy() for n in names}
            together = np.concatenate([scores[name].ravel() for name in names])
            least = np.sort(together)[::-1][round(share * together.size) - 1]
            kept |= {name: kept[name] & (scores[name] >= least) for name in names}
    for name in encoder + decoder:
        assert np.array_equal(masks[name][1], kept[name])
        assert not (masks[name][1] & ~masks[name][3]).any()  # 50% is the first step's mask
    assert any(not torch.equal(masks[name][0], masks[name][1]) for name in decoder)
    grasp = [masks[name][2] for name in decoder]
    assert sum(int(mask.sum()) for mask in grasp) == round(0.25 * sum(m.numel() for m in grasp))


def test_the_batch_that_scores_is_no_batch_of_the_training(transitions, bcq_settings):
    data = DeviceData(transitions, CPU, torch.float32)
    pruned, trained = (Draws([0], data, 100, bcq_settings, each) for each in ("prune", "train"))
    (index, noise), (first, drawn) = pruned.at(0), trained.at(0)
    assert not torch.equal(index, first)
    assert not torch.equal(noise["actor"], drawn["actor"])


def test_an_emptied_layer_is_reported_and_logged(caplog, narrow):
    masks = {
        name: np.ones(value.shape, bool)
        for name, value in Bcq.initialise(narrow, 11, 3, [0]).items()
        if name.endswith(".weight")
    }
    masks["actor.l2.weight"][:] = False
    table = layer_table(runs(("snip", 95, 0)), masks, Bcq.groups())
    actor = table[table["network"] == "actor"]
    assert actor.set_index("layer")["emptied"].to_dict() == {"l1": False, "l2": True, "l3": False}
    assert actor["kept"].tolist() == [168, 0, 30]
    assert "actor l2" in caplog.text


def test_masks_survive_their_file(tmp_path, narrow, transitions, bcq_settings):
    rows, data = runs(("snip", 95, 0), ("dense", 0, 0)), DeviceData(transitions, CPU, torch.float32)
    _, masks = prune(rows, narrow, PRUNING, data, bcq_settings)
    arrays = {name: mask.numpy() for name, mask in masks.items()}
    write_masks(tmp_path / "m.safetensors", arrays)
    read = read_masks(tmp_path / "m.safetensors", Bcq.layer_shapes(narrow, 11, 3))
    assert read.keys() == arrays.keys()
    assert all(np.array_equal(read[name], arrays[name]) for name in arrays)
    with pytest.raises(ValueError, match="no mask for"):
        read_masks(tmp_path / "m.safetensors", Bcq.layer_shapes(TINY, 11, 3))
