"""TargetCrops: photographs in a painting's colours, Version 1's pictures, learning from them."""

import dataclasses
from pathlib import Path

import pytest
import style_training_job as job
import torch
from stops import Never, StopAfter
from test_style_training import SMALL, run, settings

from triptych.core.errors import InputError
from triptych.core.stopping import Stopped
from triptych.style.data.backbone import load_backbone
from triptych.style.data.colours import by_lightness
from triptych.style.network.perceptual import PerceptualLoss
from triptych.style.network.training import initial_network
from triptych.style.network.training_data import TargetCrops, batch_styles, load_batch
from triptych.style.network.training_files import validation_losses
from triptych.style.network.version1_targets import (
    TargetSettings,
    chosen_crops,
    paint_targets,
)

CPU = torch.device("cpu")
BACKBONE = Path(__file__).parents[2] / "resources/style/narrow_vgg.safetensors"
PICTURES = TargetSettings(
    pictures=2,
    validation=1,
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


# Version 1's pictures


def painted(folder, stop, photographs=3, **changes):
    images = torch.randint(
        256, (photographs, 3, 64, 64), generator=torch.Generator().manual_seed(4)
    ).byte()
    painting = torch.rand(3, 96, 80, generator=torch.Generator().manual_seed(5))
    backbone = load_backbone(BACKBONE, pooling="average")
    asked = dataclasses.replace(PICTURES, **changes)
    return paint_targets(images, painting, 96, backbone, asked, CPU, folder, "x", stop)


@pytest.mark.parametrize("looks", [1, 4, 9])
def test_painting_that_is_stopped_goes_on_to_an_unbroken_ones_bytes(tmp_path, looks):
    unbroken = painted(tmp_path / "unbroken", Never())
    assert unbroken.shape == (3, 3, 64, 64)
    with pytest.raises(Stopped):
        painted(tmp_path / "broken", StopAfter(looks))
    assert torch.equal(painted(tmp_path / "broken", Never()), unbroken)


def test_crops_are_chosen_for_each_painting_and_those_held_out_come_last():
    crops = job.Noise()
    wanted = dataclasses.replace(PICTURES, pictures=len(crops.training), validation=2)
    numbers = chosen_crops(crops, "mosaic", wanted)
    assert sorted(numbers[:-2]) == list(crops.training)
    assert set(numbers[-2:]) <= set(crops.validation)
    assert chosen_crops(crops, "mosaic", wanted) == numbers
    assert chosen_crops(crops, "waves", wanted) != numbers
    assert chosen_crops(crops, "mosaic", dataclasses.replace(wanted, pictures=10**6)) == numbers


# Learning


class Pictures:
    """What `change` makes of crops, in another order."""

    def __init__(self, crops, sources, validation, change=lambda images: images):
        count = len(sources)
        self.training, self.validation = range(count - validation), range(count - validation, count)
        self.sources, self._crops, self._change = [str(each) for each in sources], crops, change

    def batch(self, indices):
        return self._change(self._crops.batch(int(self.sources[each]) for each in indices))


def inverted(images):
    return 255 - images


def test_lessons_are_pairs_and_each_is_of_its_style():
    crops = job.Noise()
    first = Pictures(crops, [5, 3, 1, 0], 1)
    second = Pictures(crops, [2, 4, 7, 6], 1, inverted)
    lessons = TargetCrops(crops, [first, second])
    assert (lessons.training, lessons.validation) == (range(6), range(6, 8))
    pairs = lessons.batch([0, 3, 7])
    assert torch.equal(pairs[:, :3], crops.batch([5, 4, 6]))
    assert torch.equal(pairs[0, 3:], crops.batch([5])[0])
    assert torch.equal(pairs[1:, 3:], inverted(crops.batch([4, 6])))
    with pytest.raises(InputError, match="as many of each"):
        TargetCrops(crops, [first, Pictures(crops, [1, 2], 1)])


def test_a_batch_cuts_and_flips_photographs_and_pictures_alike_and_knows_their_styles():
    crops = job.Noise()
    count = len(crops.training)
    lessons = TargetCrops(
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
    lessons = TargetCrops(crops, [Pictures(crops, range(len(crops.training)), 0)])
    plain = run(tmp_path / "plain", crops=crops).checkpoints[4]
    taught = run(tmp_path / "taught", crops=lessons).checkpoints[4]
    for name, value in plain.weights.items():
        assert torch.equal(taught.weights[name], value)
    assert torch.equal(taught.sample, plain.sample)
    other = TargetCrops(crops, [Pictures(crops, range(len(crops.training)), 0, inverted)])
    differently = run(tmp_path / "other", crops=other).checkpoints[4].weights
    assert not torch.equal(differently["conv1.conv2d.weight"], plain.weights["conv1.conv2d.weight"])


def test_held_out_lessons_are_scored_by_their_own_style_and_picture():
    crops = job.Noise()
    paintings = [job.painting(), 1 - job.painting()]
    loss = PerceptualLoss(job.random_backbone(), job.LOSSES, paintings)
    network = initial_network(dataclasses.replace(SMALL, styles=2), 0).eval()
    lessons = TargetCrops(
        crops, [Pictures(crops, [0, 4, 5], 2), Pictures(crops, [1, 6, 7], 2, inverted)]
    )
    scored = validation_losses(network, loss, lessons, 3, "float32", CPU)
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
