"""What jobs ask a scheduler for: minutes, megabytes, GPUs; counted from what they do.

Locally nothing of this is enforced, unless you give a limit such as --resources mem_mb=16000. The
formulas are simple and generous: a job that asks for too much waits, one that asks for too little
is stopped, resumes from its checkpoint, and asks for more at its next attempt.
"""

from triptych.audio.data_sizes import WAVCAPS, clips_of, text_size


# Rules that need the network. Compute nodes often have none, so a cluster isn't asked: they run
# where snakemake does.
localrules:
    rl_download,
    style_download_coco,
    style_download_weights,
    style_download_painting,
    audio_download,
    audio_download_wavcaps,
    audio_download_passt,
    audio_fetch_audiocaps,
    audio_text_model,
    audio_caption,


# Further attempts of the rules that download or train: two, or the profile's `retries`. On a
# cluster's node there are none: Snakemake starts itself again there, with --retries 0, which a
# number in a rule overrides; the next attempt would run inside the time limit of this one, and
# believe that it had its own.
RETRIES = 0
if workflow.is_main_process:
    RETRIES = max(2, getattr(workflow.execution_settings, "retries", 0))

GPU = 1 if config["device"] == "cuda" else 0
AUDIO_NODES, AUDIO_DEVICES = (
    AUDIO["stages"]["common"][each] for each in ("nodes", "devices")
)
AUDIO_GPUS = GPU * AUDIO_NODES * AUDIO_DEVICES


def audio_tasks():
    """What a training asks SLURM for: GPUs, and where it has several processes, a task for each.

    With `mpi`, Snakemake runs the script once, outside any job step, and the script calls srun.
    Gres count on each node. Snakemake's plugin takes no tasks_per_node below two.
    """
    if AUDIO_NODES * AUDIO_DEVICES == 1:
        return {"gpu": AUDIO_GPUS}
    on_each = {"tasks_per_node": AUDIO_DEVICES}
    one = {"tasks": AUDIO_NODES, "tasks_per_gpu": 0}
    return {
        "mpi": True,
        "nodes": AUDIO_NODES,
        **({"gpu": AUDIO_GPUS} if AUDIO_NODES == 1 else {}),
        **({"gres": f"gpu:{AUDIO_DEVICES}"} if AUDIO_NODES > 1 and GPU else {}),
        **(on_each if AUDIO_DEVICES > 1 else one),
    }


# Operations a second that a slow one sustains. An A40 did 25e12 of PaSST's in half precision; two
# cores of the demo's machine did 1e11 of the stacked networks'.
GPU_SPEED = {"float32": 1e13, "tf32": 2e13, "bf16": 2.5e13, "fp16": 2.5e13}
# The slowest that auto stands for on a GPU of 2020 or later.
GPU_SPEED["auto"] = GPU_SPEED["tf32"]
CORE_SPEED = 2e10
LONGEST = 5760  # minutes; four days, about as long as clusters let a job run
DOWNLOAD_SPEED = 5e6  # bytes a second
BASE = 3000 + 3000 * GPU  # megabytes of PyTorch, and of CUDA's libraries


def megabytes(needed):
    """`mem_mb` of a rule: a number, or a function of its wildcards; more at each new attempt."""

    def mem_mb(wildcards, attempt):
        return round(needed(wildcards) if callable(needed) else needed) * attempt

    return mem_mb


def minutes(needed):
    """`runtime` of a rule: a number, or a function of its wildcards; more at each new attempt."""

    def runtime(wildcards, attempt):
        one = needed(wildcards) if callable(needed) else needed
        return min(round(one) * attempt, LONGEST)

    return runtime


def computing(operations, precision="float32", threads=1, gpus=GPU):
    """Minutes for so many operations: twice what a slow processor takes, and 30 for all else."""
    speed = GPU_SPEED[precision] * gpus if gpus else CORE_SPEED * threads
    return 30 + 2 * operations / speed / 60


def activations(floats):
    """Megabytes of so many float32, where they are in the job's own memory and not in a GPU's."""
    return 0 if GPU else 4e-6 * floats


# Offline RL ------------------------------------------------------------------------------------


def rl_weights(widths):
    """Weights of one run's networks: actor, two critics, VAE; 25 inputs are HalfCheetah's."""
    actor, critic = (
        25 * w[0] + w[0] * w[1] for w in (widths["actor"], widths["critic"])
    )
    return actor + 2 * critic + 2 * (25 * widths["vae"] + widths["vae"] ** 2)


def rl_megabytes(wildcards):
    """Weights, targets, gradients and two moments of Adam of every run, and a copy to be saved."""
    return BASE + 40e-6 * rl_weights(rl_widths(wildcards)) * len(rl_runs(wildcards))


def rl_measured_megabytes(wildcards):
    """The same for the measured runs of a task, one task after the other."""
    weights = rl_weights(RL["widths"][RL["measure"]["widths"]])
    return BASE + 40e-6 * weights * max(map(len, RL_MEASURED))


def rl_minutes(wildcards):
    """Training: forward, backward, and forward for each target. Scoring: MuJoCo on one core."""
    runs, training, evaluation = (
        len(rl_runs(wildcards)),
        RL["training"],
        RL["evaluation"],
    )
    passes = 3 + RL["bcq"]["target_samples"]
    learnt = runs * training["updates"] * training["batch"] * passes
    steps = 1000 * runs * len(RL["sweep"]["algorithms"]) * evaluation["episodes"]
    steps *= training["updates"] // evaluation["every"]
    acted = steps * evaluation["candidates"]
    operations = 2 * rl_weights(rl_widths(wildcards)) * (learnt + acted)
    return computing(operations, training["precision"]) + steps / 5000 / 60


def rl_download_minutes(wildcards):
    return 30 + d4rl_file("size")(wildcards) / DOWNLOAD_SPEED / 60


# Style transfer --------------------------------------------------------------------------------

# Of the full VGG networks; the demo's narrow ones need less.
VGG_OPERATIONS = 2.5e6  # a pixel: forward and backward to the image
VGG_FLOATS = 2000  # a pixel: kept for the way back


def style_optimize_megabytes(wildcards):
    """At least one image. On a CPU a quarter of it is filled with as many as fit."""
    largest = max(row["size"] for row in style_rows(wildcards)) ** 2
    return max(8000, BASE + activations(VGG_FLOATS * largest))


def style_optimize_minutes(wildcards):
    rows = style_rows(wildcards)
    pixels = sum(row["evaluations"] * row["size"] ** 2 for row in rows)
    return computing(VGG_OPERATIONS * pixels, "float32")


def style_train_pixels():
    schedule = STYLE["training"]["schedule"]
    return schedule["batch"] * schedule["size"] ** 2


def style_train_megabytes(wildcards):
    """A batch, twice: the temporal term looks at it again."""
    return BASE + activations(2 * VGG_FLOATS * style_train_pixels())


def style_train_minutes(wildcards):
    schedule = STYLE["training"]["schedule"]
    operations = 2 * VGG_OPERATIONS * schedule["batches"] * style_train_pixels()
    return computing(operations, schedule["precision"])


def style_large_pixels():
    """Pixels of the largest photograph that is stylised."""
    sizes = [each.get("size", [1024, 1024]) for each in STYLE["contents"].values()]
    return max(height * width for height, width in sizes)


def style_video_megabytes(wildcards):
    film = STYLE["video"]["film"]
    pixels = STYLE["video"]["batch"] * film["height"] * film["width"]
    return BASE + activations(150 * pixels)


def style_time_megabytes(wildcards):
    timing = STYLE["timing"]
    return BASE + activations(VGG_FLOATS * timing["batch"] * max(timing["sizes"]) ** 2)


def style_time_minutes(wildcards):
    """Version 1 with two backbones at every size, and with every content loss."""
    timing, losses = STYLE["timing"], STYLE["timing"]["losses"]
    pixels = 2 * timing["photographs"] * sum(size**2 for size in timing["sizes"])
    one = losses["repeats"] * 4 * losses["evaluations"] * losses["size"] ** 2
    return computing(VGG_OPERATIONS * (pixels * timing["evaluations"] + one))


# Audio retrieval -------------------------------------------------------------------------------

WAVCAPS_BYTES = 2.3e6  # a recording
CAPTION_TOKENS = 30


def audio_clip_count(name):
    """Clips of a split of Clotho or of a whole data set, as far as that is known beforehand."""
    dataset = name if name in ("audiocaps", "wavcaps") else "clotho"
    parts = clips_of(AUDIO, dataset)
    kept = parts if dataset != "clotho" else [part for part in parts if part == name]
    return sum(parts[part].count for part in kept)


def audio_pairs(stage, corpus):
    """Pairs of a clip and a caption in an epoch."""
    splits = AUDIO["corpora"][corpus]["splits"]
    clotho = 5 * sum(audio_clip_count(split) for split in splits)
    if stage != "pretraining":
        return clotho
    return clotho + audio_clip_count("audiocaps") + audio_clip_count("wavcaps")


def audio_tokens(model):
    """Patches of a clip that a training step looks at, over all its segments."""
    grid = (128, 100 * model["segment_seconds"])
    kept = [
        1 + (g - 16) // s - p
        for g, s, p in zip(grid, model["stride"], model["patchout"])
    ]
    longest = AUDIO["stages"]["common"]["longest_seconds"]
    if AUDIO_SOURCES["clotho"] == "synthesised":
        longest = min(longest, AUDIO["synthesis"]["seconds"][1])
    return kept[0] * kept[1] * -(-longest // model["segment_seconds"])


def audio_text_size(wildcards):
    return text_size(AUDIO, wildcards.pair.split("-")[1])


def audio_megabytes(wildcards):
    """16 bytes a weight for training it, 4 for a copy to be saved; 40 floats a unit and layer kept.

    Besides, 1.5 GB for each process that reads sound.
    """
    model, text = audio_model(wildcards), audio_text_size(wildcards)
    common = AUDIO["stages"]["common"]
    weights = 12 * (model["depth"] * model["dim"] ** 2 + text.layers * text.hidden**2)
    kept = audio_tokens(model) * model["depth"] * model["dim"]
    kept += CAPTION_TOKENS * text.layers * text.hidden
    at_once = common["chunk"] or common["batch"]
    return (
        1000
        + BASE
        + 1500 * common["workers"] * AUDIO_DEVICES
        + 20e-6 * (weights + text.hidden * text.vocabulary) * AUDIO_DEVICES
        + activations(40 * kept * at_once)
    )


def audio_minutes(stage):
    """Minutes of a stage: 6 operations a weight and token in every epoch of every run."""
    rows = audio_of(
        {"pretraining": "pretrained", "finetuning": "finetuned"}.get(stage, "distilled")
    )

    def needed(wildcards):
        model, text = audio_model(wildcards), audio_text_size(wildcards)
        settings = AUDIO_STAGES[stage]
        pair = 72 * model["depth"] * model["dim"] ** 2 * audio_tokens(model)
        pair += 72 * text.layers * text.hidden**2 * CAPTION_TOKENS
        pairs = audio_pairs(stage, wildcards.corpus) * settings["epochs"]
        operations = len(rows(wildcards)) * pairs * pair
        return computing(operations, settings["precision"], AUDIO_THREADS, AUDIO_GPUS)

    return needed


def audio_shard_minutes(wildcards):
    """Five clips a second: half a minute of sound each, read, resampled and written."""
    names = {"clotho": ["development", "validation", "evaluation"]}
    clips = sum(
        audio_clip_count(name)
        for name in names.get(wildcards.dataset, [wildcards.dataset])
    )
    return 30 + clips / 5 / 60


def audio_wavcaps_minutes(wildcards):
    return 30 + WAVCAPS[wildcards.part].count * WAVCAPS_BYTES / DOWNLOAD_SPEED / 60


def audio_download_minutes(wildcards):
    """A file whose size nobody published counts as 10 GB."""
    return 30 + (audio_file("size")(wildcards) or 1e10) / DOWNLOAD_SPEED / 60
