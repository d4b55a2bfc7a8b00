"""The claims of the style-transfer paper, each fixed before the run that it judges.

What depends on a backbone (loss trends, optimizers, initialisations) is a statement about the
paper's: VGG-19 and AlexNet trained on ImageNet. Another backbone has other losses, so its runs
decide nothing; the direction that they show is reported with the substitute weights. What
depends on seconds needs the paper's architectures and a GPU, but not its weights. Statements on
videos hold for any network on any device. All but that needs float32 or TF32.
"""

import math

from triptych.report.claims import AllOf, AtLeast, AtMost, Claim, IsTrue, Need, OneOf
from triptych.report.tables import TIMES
from triptych.style.report import claims_losses as losses
from triptych.style.report import claims_speed as speed
from triptych.style.report.claims_facts import (
    CONTENT_LOSSES,
    OPTIMIZERS,
    PAPER_SIZE,
    PAPER_SIZES,
    STARTS,
)
from triptych.style.report.labels import ARCHITECTURE_LABELS
from triptych.style.report.tables import PAPER_ARCHITECTURES, PAPER_EVALUATIONS, PAPER_WIDTH

ENOUGH_EVALUATIONS = 500  # the authors' comparisons of optimizers made 500, the others 700 or 1,200
ENOUGH_IMAGES = 20
PAPER_BATCHES = 29_571  # one epoch of train2017 in batches of 4
FOUR_K = TIMES.join(map(str, speed.FOUR_K))
VGG19, ALEXNET, VGGS = "vgg19", "alexnet", ("vgg19", "vgg16")


def _precise(fact: str, substitute: str = "") -> Need:
    precise = ("float32", "tf32")
    return OneOf(f"{fact} precision", "float32 or TF32", precise, substitute=substitute)


def _experiment(
    name: str, backbones: tuple[str, ...], evaluations: int = ENOUGH_EVALUATIONS
) -> tuple[Need, ...]:
    """Needs of each claim on the runs of an experiment."""
    weights = [f"{backbone} imagenet" for backbone in backbones]
    named = " or ".join(ARCHITECTURE_LABELS[backbone] for backbone in backbones)
    what, count = f"{named} with ImageNet weights", f"{evaluations} evaluations"
    return (
        OneOf(f"{name} backbones", what, weights, substitute="other weights"),
        AtLeast(f"{name} evaluations", count, evaluations, substitute="fewer evaluations"),
        _precise(name, "lower precision"),
    )


def _whole(name: str) -> Need:
    return AtMost(f"{name} cut", "a whole loss history of every run", 0)


def _network(name: str) -> Need:
    what = f"a network of the paper's width, {PAPER_WIDTH} channels"
    return OneOf(f"{name} widths", what, (PAPER_WIDTH,))


def _trained(name: str) -> Need:
    what = f"networks trained for {PAPER_BATCHES:,} batches"
    return AtLeast(f"{name} batches", what, PAPER_BATCHES, substitute="shorter training")


def _timed(precision: str) -> tuple[Need, ...]:
    """Needs of each claim on Version 1's seconds."""
    roles = [f"{role} {architecture}" for role, architecture in PAPER_ARCHITECTURES.items()]
    return (
        OneOf("roles", "VGG-19 and AlexNet as backbones", roles),
        AtMost("timing devices", "a GPU", 0),
        _precise(precision),
    )


_OPTIMIZERS = (
    *_experiment("optimizers", VGGS),
    AllOf("optimizers run", "every optimizer at the authors' rates", OPTIMIZERS),
    IsTrue("optimizers equal", "equal evaluations of all optimizers"),
)
_COCO = OneOf("photographs", "networks trained on COCO", ("coco",), substitute="other photographs")

_ALIKE = (
    f"Between the images SSIM of luminance to the content differs by at most "
    f"{losses.ALIKE_STRUCTURE:g}, and the distance of their colours to the painting's (sliced "
    f"Wasserstein, of 1) by at most {losses.ALIKE_COLOURS:g}."
)

CLAIMS = (
    Claim(
        "style-speedup",
        f"At {', '.join(map(str, PAPER_SIZES))} pixels, against both backbones, Version 2 is at "
        f"least {speed.LOWEST_SPEEDUP} times as fast, the smallest ratio of Table I: the lower end "
        "of the 95% interval (images paired) of the ratio of seconds.",
        (
            *_timed("timing"),
            _network("timed"),
            AtLeast(
                "notebook evaluations",
                f"{PAPER_EVALUATIONS} evaluations that were all run: seconds scaled to more are "
                "no measurement",
                PAPER_EVALUATIONS,
            ),
            AtLeast("timed images", f"{ENOUGH_IMAGES} images timed at each size", ENOUGH_IMAGES),
        ),
        speed.network_is_faster,
    ),
    Claim(
        "style-4k",
        f"Every image of at least {FOUR_K} pixels that was stylised took at most "
        f"{speed.FOUR_K_SECONDS:g} s.",
        (
            AtLeast("pixels", f"an image of {FOUR_K} pixels", math.prod(speed.FOUR_K)),
            AtMost("large devices", "a GPU", 0),
            _network("large"),
            _precise("large"),
        ),
        speed.large_images_take_seconds,
    ),
    Claim(
        "style-alexnet-faster",
        f"At {PAPER_SIZE} pixels, seconds with VGG-19 over seconds with AlexNet lie between "
        f"{speed.ABOUT_FIVE[0]:g} and {speed.ABOUT_FIVE[1]:g}. The ratio hangs on the device; "
        "weights do not matter.",
        (
            *_timed("notebook"),
            AtLeast("compared images", f"{ENOUGH_IMAGES} images timed with both", ENOUGH_IMAGES),
            IsTrue("equal evaluations", "equal evaluations with both"),
        ),
        speed.alexnet_is_faster,
    ),
    Claim(
        "style-backbone-loss-trend",
        "The total loss with each backbone, smoothed by a running median over a tenth of the "
        f"evaluations, never rises more than {100 * (losses.RISE - 1):.0f}% above its lowest so "
        "far, and both final losses relative to their first differ by less than a factor of "
        f"{losses.ORDER_OF_MAGNITUDE:g}.",
        (
            *_experiment("backbones", (VGG19, ALEXNET)),
            OneOf(
                "backbones sizes",
                f"images of {PAPER_SIZE} pixels",
                (PAPER_SIZE,),
                substitute="other sizes",
            ),
            AllOf("backbones roles", "runs with both backbones", PAPER_ARCHITECTURES),
            _whole("backbones"),
        ),
        losses.backbones_share_a_trend,
    ),
    Claim(
        "style-loss-function-time",
        "Each of Huber and MSE takes less time than each of L1 and smooth L1: the 95% interval of "
        "the paired difference in mean seconds lies below 0. And the final relative losses of all "
        f"four lie within a factor of {speed.SAME_TREND:g}.",
        (
            *_experiment("losses", (VGG19,)),
            AllOf("losses kinds", "a run with each of the four losses", CONTENT_LOSSES),
            AllOf("timed losses", "seconds of each of the four losses", CONTENT_LOSSES),
            AtLeast("loss repeats", "5 repeats of the seconds", 5),
            _whole("losses"),
        ),
        speed.loss_functions_differ_in_time,
    ),
    Claim(
        "style-backbones-alike",
        f"{_ALIKE} The paper has no number; both are ours.",
        (
            *_experiment("backbones", (VGG19, ALEXNET)),
            AllOf("backbones measured", "both images measured", PAPER_ARCHITECTURES),
        ),
        losses.backbones_look_alike,
    ),
    Claim(
        "style-losses-alike",
        f"{_ALIKE} The paper has no number; both are ours.",
        (
            *_experiment("losses", (VGG19,)),
            AllOf("losses measured", "the images of the four losses measured", CONTENT_LOSSES),
        ),
        losses.losses_look_alike,
    ),
    Claim(
        "style-lbfgs-lowest",
        "At the authors' learning rates, on each VGG that was run, the final total loss of L-BFGS "
        "is below those of Adam and SGD (a run that diverged counts as above). The tuned rates are "
        "stated beside it and do not decide.",
        _OPTIMIZERS,
        losses.lbfgs_ends_lowest,
    ),
    Claim(
        "style-sgd-fails",
        "At the authors' learning rate, on each VGG that was run, SGD ends at least "
        f"{losses.FAR_ABOVE:g} times as high as L-BFGS or diverges, its loss rises at least once "
        f"to {losses.FLUCTUATION:g} times its lowest so far, and its image keeps at most half of "
        "the structure (SSIM of luminance to the content) that L-BFGS's keeps (a run that diverged "
        "has no image but its last good state, and counts as without one). Tuned rates do not "
        "decide.",
        (
            *_OPTIMIZERS,
            _whole("optimizers"),
            AllOf("optimizers measured", "both images measured", ("lbfgs", "sgd")),
        ),
        losses.sgd_fails,
    ),
    Claim(
        "style-content-init",
        "On every content image, SSIM of luminance to the content is higher when starting from the "
        "content image than from noise and from the style image. How much structure a result keeps "
        "hangs on the losses, and so on the backbone's weights.",
        (
            *_experiment("initialisations", (VGG19, ALEXNET)),
            AllOf("starts", "an image from each start, run and measured", STARTS),
        ),
        losses.content_start_keeps_structure,
    ),
    Claim(
        "style-video",
        "The frames per second of the fastest batch of several frames exceed those of one frame at "
        "a time: the lower end of the 95% interval of the ratio (repeats paired) is above 1. And "
        "the written video has the source's frames per second, frames, width and height. Any "
        "network on any device can test this.",
        (
            AtLeast("video batches", "speed at batch 1 and at a larger batch", 1),
            AtLeast("video repeats", "two repeats of the speed", 2),
            AtLeast("videos", "a video", 1),
            AtMost("unread", "every video read back", 0),
        ),
        speed.videos_are_batched_and_kept,
    ),
    Claim(
        "style-versions-differ",
        "Over pairs of content and style, Version 1's images are nearer to the style and Version "
        "2's keep more outlines: the 95% interval of the paired difference of Gram distances on a "
        "backbone that neither was made with lies below 0, and that of the correlations of edge "
        "maps with the content's above 0. Pairs that share a content or a painting are alike, "
        "which the interval allows for.",
        (
            *_experiment("paintings", (VGG19,)),
            _network("all"),
            _trained("all"),
            IsTrue(
                "judge", "a judge of style that isn't narrow", substitute="a narrow judge of style"
            ),
            AtLeast("pairs", "2 pairs of content and style", 2),
            AtLeast("pairs", "4 pairs of content and style", 4, substitute="fewer pairs"),
            _COCO,
        ),
        speed.versions_differ,
    ),
    Claim(
        "style-adam-content",
        "At the authors' learning rates, on each VGG that was run, Adam's image keeps more of the "
        "content (SSIM of luminance) and is farther from the style (Gram distance) than L-BFGS's. "
        "Where L-BFGS stopped early nothing is decided.",
        (
            *_OPTIMIZERS,
            AllOf("optimizers measured", "both images measured", ("lbfgs", "adam")),
        ),
        losses.adam_keeps_content,
    ),
    Claim(
        "style-alexnet-1024",
        "By the authors' settings AlexNet at 1024 pixels does not finish or ends at "
        f"{losses.LOST:g} times its lowest loss or more; AlexNet at 512 and VGG-19 at 1024 pixels "
        "finish below that.",
        (
            *_experiment("sizes", (VGG19, ALEXNET), PAPER_EVALUATIONS),
            _whole("sizes"),
            OneOf("sizes rates", "the authors' rates", ("authors",)),
            AllOf(
                "sizes cases",
                "AlexNet at both sizes and VGG-19 at the larger",
                ("alexnet 1024", "alexnet 512", "vgg 1024"),
            ),
        ),
        losses.alexnet_fails_when_scaled,
    ),
    Claim(
        "style-video-consistency",
        "Along the source's optical flow, frames of the network trained without a temporal term "
        f"change at most {speed.FLICKER:g} times as much as the source's own: the upper end of the "
        "95% interval of the mean ratio of warped errors over frames, which are not independent. "
        f"The paper has no number; the {speed.FLICKER:g} is ours.",
        (
            OneOf(
                "film",
                "a film of real frames (style.video.source: path)",
                ("path",),
                substitute="a generated film",
            ),
            _network("filmed"),
            _trained("filmed"),
            _precise("filmed", "lower precision"),
            AtLeast("frames", "100 frames of every video", 100, substitute="fewer frames"),
            _COCO,
        ),
        speed.videos_stay_consistent,
    ),
)
