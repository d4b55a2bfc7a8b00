"""Lessons: photographs in a painting's colours, Version 1's pictures, learning from them."""

import dataclasses
from pathlib import Path

import pytest
import style_training_job as job
import torch
from stops import Never, StopAfter
from test_style_training import SMALL, run, settings

from triptych.core.checkpoint import Checkpoint
from triptych.core.errors import InputError
from triptych.core.stopping import Stopped
from triptych.style.backbones.backbone import load_backbone
from triptych.style.colours import by_lightness
from triptych.style.feedforward.lessons import LessonSettings, Painter, chosen, paint_lessons
from triptych.style.feedforward.perceptual import PerceptualLoss
from triptych.style.feedforward.selection import held_out_losses
from triptych.style.feedforward.training import initial_network
from triptych.style.feedforward.training_data import Lessons, batch_styles, load_batch

CPU = torch.device("cpu")
BACKBONE = Path(__file__).parents[2] / "resources/style/narrow_vgg.safetensors"
LESSONS = LessonSettings(
    pictures=2,
    held_out=1,
    scales=(4.0, 1.0),
    evaluations=3,
    content_weight=0.2,
    batch=2,
    precision="float32",
    seed=0,
)


def grey(lightness):
    return lightness.expand(3, *lightness.shape[-2:]).contiguous()


# Colours


def test_a_lightness_has_the_colour_of_the_paintings_same_place_in_the_order():
    ramp = torch.linspace(0, 1, 6400).view(80, 80)
    dark, light = torch.tensor([0.1, 0.0, 0.3]), torch.tensor([0.9, 0.8, 0.2])
    painting = torch.where(ramp < 0.5, dark[:, None, None], light[:, None, None])
    painting = painting[:, torch.randperm(80, generator=torch.Generator().manual_seed(1))]
    result = by_lightness(grey(ramp), painting)
    low, high = result[:, ramp < 0.45], result[:, ramp > 0.55]
    torch.testing.assert_close(low, dark[:, None].expand_as(low))
    torch.testing.assert_close(high, light[:, None].expand_as(high))


def test_a_grey_ramp_as_painting_only_stretches_the_photograph():
    ramp = torch.linspace(0, 1, 40_000).view(200, 200)
    photograph = grey(0.3 + 0.4 * ramp)
    result = by_lightness(photograph, grey(ramp))
    expected = ((ramp - 0.01) / 0.98).clamp(0, 1)
    assert (result - expected).abs().max() < 1 / 64


def test_what_is_nearly_flat_is_stretched_four_times_at_most():
    ramp = torch.linspace(0, 1, 40_000).view(200, 200)
    result = by_lightness(grey(0.5 + 0.01 * ramp), grey(ramp))
    assert result.max() - result.min() < 4 * 0.01 + 1 / 64
    flat = by_lightness(grey(torch.full((20, 20), 0.5)), grey(ramp))
    assert torch.equal(flat, flat[:, :1, :1].expand_as(flat))


# Version 1's pictures


def painted(folder, stop, photographs=3, **changes):
    images = torch.randint(
        256, (photographs, 3, 64, 64), generator=torch.Generator().manual_seed(4)
    ).byte()
    painting = torch.rand(3, 96, 80, generator=torch.Generator().manual_seed(5))
    backbone = load_backbone(BACKBONE, pooling="average")
    asked = dataclasses.replace(LESSONS, **changes)
    painter = Painter(images, painting, 96, backbone, asked, CPU)
    return paint_lessons(painter, Checkpoint(folder, "x"), stop)


@pytest.mark.parametrize("looks", [1, 4, 9])
def test_painting_that_is_stopped_goes_on_to_an_unbroken_ones_bytes(tmp_path, looks):
    unbroken = painted(tmp_path / "unbroken", Never())
    assert unbroken.shape == (3, 3, 64, 64)
    with pytest.raises(Stopped):
        painted(tmp_path / "broken", StopAfter(looks))
    assert torch.equal(painted(tmp_path / "broken", Never()), unbroken)


def test_pictures_do_not_depend_on_what_is_painted_beside_them(tmp_path):
    together = painted(tmp_path / "two", Never()).int()
    alone = painted(tmp_path / "one", Never(), batch=1).int()
    assert (together - alone).abs().float().mean() < 0.5


def test_crops_are_chosen_for_each_painting_and_those_held_out_come_last():
    crops = job.Noise()
    wanted = dataclasses.replace(LESSONS, pictures=len(crops.training), held_out=2)
    numbers = chosen(crops, "mosaic", wanted)
    assert sorted(numbers[:-2]) == list(crops.training)
    assert set(numbers[-2:]) <= set(crops.held_out)
    assert chosen(crops, "mosaic", wanted) == numbers
    assert chosen(crops, "waves", wanted) != numbers
    assert chosen(crops, "mosaic", dataclasses.replace(wanted, pictures=10**6)) == numbers


# Learning


class Pictures:
    """What `change` makes of crops, in another order."""

    def __init__(self, crops, sources, held_out, change=lambda images: images):
        count = len(sources)
        self.training, self.held_out = range(count - held_out), range(count - held_out, count)
        self.sources, self._crops, self._change = [str(each) for each in sources], crops, change

    def batch(self, indices):
        return self._change(self._crops.batch(int(self.sources[each]) for each in indices))


def inverted(images):
    return 255 - images


def test_lessons_are_pairs_and_each_is_of_its_style():
    crops = job.Noise()
    first = Pictures(crops, [5, 3, 1, 0], 1)
    second = Pictures(crops, [2, 4, 7, 6], 1, inverted)
    lessons = Lessons(crops, [first, second])
    assert (lessons.training, lessons.held_out) == (range(6), range(6, 8))
    pairs = lessons.batch([0, 3, 7])
    assert torch.equal(pairs[:, :3], crops.batch([5, 4, 6]))
    assert torch.equal(pairs[0, 3:], crops.batch([5])[0])
    assert torch.equal(pairs[1:, 3:], inverted(crops.batch([4, 6])))
    with pytest.raises(InputError, match="as many of each"):
        Lessons(crops, [first, Pictures(crops, [1, 2], 1)])


def test_a_batch_cuts_and_flips_photographs_and_pictures_alike_and_knows_their_styles():
    crops = job.Noise()
    count = len(crops.training)
    lessons = Lessons(
        crops, [Pictures(crops, range(count), 0), Pictures(crops, range(count), 0, inverted)]
    )
    chosen_settings = settings(batches=4, batch=6)
    seen = set()
    for number in range(4):
        batch = load_batch(lessons, chosen_settings, number)
        styles = batch_styles(2, chosen_settings, number, len(lessons.training))
        for pair, style in zip(batch, styles.tolist(), strict=True):
            assert torch.equal(pair[3:], inverted(pair[:3]) if style else pair[:3])
            seen.add(style)
    assert seen == {0, 1}


def test_lessons_whose_pictures_are_the_photographs_teach_what_photographs_teach(tmp_path):
    crops = job.Noise()
    lessons = Lessons(crops, [Pictures(crops, range(len(crops.training)), 0)])
    plain = run(tmp_path / "plain", crops=crops).checkpoints[4]
    taught = run(tmp_path / "taught", crops=lessons).checkpoints[4]
    for name, value in plain.weights.items():
        assert torch.equal(taught.weights[name], value)
    assert torch.equal(taught.sample, plain.sample)
    other = Lessons(crops, [Pictures(crops, range(len(crops.training)), 0, inverted)])
    differently = run(tmp_path / "other", crops=other).checkpoints[4].weights
    assert not torch.equal(differently["conv1.conv2d.weight"], plain.weights["conv1.conv2d.weight"])


def test_held_out_lessons_are_scored_by_their_own_style_and_picture():
    crops = job.Noise()
    paintings = [job.painting(), 1 - job.painting()]
    loss = PerceptualLoss(job.random_backbone(), job.LOSSES, paintings)
    network = initial_network(dataclasses.replace(SMALL, styles=2), 0).eval()
    lessons = Lessons(
        crops, [Pictures(crops, [0, 4, 5], 2), Pictures(crops, [1, 6, 7], 2, inverted)]
    )
    scored = held_out_losses(network, loss, lessons, 3, "float32", CPU)
    expected = {"content": [], "style": []}
    for style, numbers in enumerate(([4, 5], [6, 7])):
        for number in numbers:
            photograph = crops.batch([number])
            picture = inverted(photograph) if style else photograph
            styles = torch.tensor([style])
            with torch.no_grad():
                stylised = network.of_each(styles)(photograph / 255)
                terms = loss.terms(picture / 255, stylised, styles)
            for name, values in expected.items():
                values.append(float(terms[name]))
    for name, values in expected.items():
        assert scored[name] == pytest.approx(sum(values) / 4, rel=1e-4)
