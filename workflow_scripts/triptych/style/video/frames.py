"""Frames of a film as RGB, upright and in one shape, by FFmpeg's filters.

Colours of films that don't tell their matrix are read as mpv reads them: as BT.709 from 1280 pixels
of width or 577 lines on, else as BT.601. Other players go by the lines alone.
"""

import itertools
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from av.filter import Graph
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange

from triptych.style.video.info import VideoInfo, unreadable
from triptych.style.video.packets import decoded_frames, open_video, orientation, picture_streams

UNSPECIFIED = 2
"""The number of ITU-T H.273 for a colour matrix that a film doesn't tell."""

STANDARD_WIDTH, STANDARD_LINES = 1279, 576
"""Size of a frame of standard definition, at most."""


Kind = tuple[str, bool, bool, bool, bool]
"""Matrix of a frame's colours, whether it is grey in limited range, and its `orientation`."""


def read_frames(info: VideoInfo) -> Iterator[tuple[np.ndarray, int]]:
    """Frames uint8 [H, W, 3] RGB, upright, each with its number in `info.starts`.

    A frame that cannot be decoded is left out. One of another shape, as where a recorded call is
    turned, is fitted into the film's, with black beside it. Raises InputError when none can.
    """
    number = -1
    graphs: dict[Kind, Graph] = {}
    with open_video(info.path) as container:
        for frame in decoded_frames(container):
            stamp = frame.pts if frame.pts is not None else frame.dts
            number = _matched(info.stamps, stamp, number + 1)
            if not graphs:
                context = picture_streams(container)[0].codec_context
                aspect = context.sample_aspect_ratio or Fraction(1)
            if (kind := (*_colours(frame), *orientation(frame))) not in graphs:
                graphs[kind] = _graph(frame, kind, info, aspect)
            graphs[kind].push(frame)
            shown = graphs[kind].pull()
            assert isinstance(shown, VideoFrame)
            yield shown.to_ndarray(), number
    if number < 0:
        raise unreadable(info.path, info.frames_stated)


def _graph(frame: VideoFrame, kind: Kind, info: VideoInfo, aspect: Fraction) -> Graph:
    """FFmpeg's filters between frames of a kind and upright RGB of the film's size.

    aspect: of a pixel of the first frame, by which others are fitted
    """
    matrix, limited_grey, turned, across, down = kind
    width, height = (info.height, info.width) if turned else (info.width, info.height)
    smaller = f"min({width}*{aspect}/(iw*sar),{height}/ih)"
    graph = Graph()
    nodes = [
        graph.add_buffer(
            width=frame.width, height=frame.height, format=frame.format, time_base=info.time_base
        ),
        graph.add(
            "scale",
            w=f"max(1,round(iw*sar/({aspect})*{smaller}))",
            h=f"max(1,round(ih*{smaller}))",
            eval="frame",
            flags="bilinear",
            interl="-1",  # each field has its own colours
            in_color_matrix=matrix,
        ),
        graph.add("format", "rgb24"),
        graph.add("pad", f"{width}:{height}:-1:-1:eval=frame"),
    ]
    if limited_grey:  # FFmpeg takes the full range for all of one channel
        nodes.append(graph.add("lutrgb", **dict.fromkeys("rgb", "round((val-16)*255/219)")))
    turns = {"transpose": turned, "hflip": across, "vflip": down}
    nodes += [graph.add(name) for name, wanted in turns.items() if wanted]
    graph.link_nodes(*nodes, graph.add("buffersink")).configure()
    return graph


def _colours(frame: VideoFrame) -> tuple[str, bool]:
    """FFmpeg's name of a frame's colour matrix, and whether it is grey in limited range."""
    large = frame.width > STANDARD_WIDTH or frame.height > STANDARD_LINES
    untagged = frame.colorspace == UNSPECIFIED and not frame.format.is_rgb
    limited = frame.color_range == ColorRange.MPEG
    grey = frame.format.name.startswith(("gray", "ya"))
    return "bt709" if untagged and large else "auto", grey and limited


def read_batches(info: VideoInfo, batch: int) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Frames uint8 [n, H, W, 3] RGB with their numbers, n = `batch` but for the last."""
    frames = read_frames(info)
    while taken := list(itertools.islice(frames, batch)):
        yield np.stack([frame for frame, _ in taken]), [number for _, number in taken]


def _matched(stamps: Sequence[int], stamp: int | None, earliest: int) -> int:
    """The frame, not before `earliest`, whose time stamp is nearest to `stamp`."""
    if stamp is None or earliest >= len(stamps):
        return earliest
    after = bisect_left(stamps, stamp, lo=earliest)
    if after == earliest:
        return earliest
    if after == len(stamps) or stamp - stamps[after - 1] < stamps[after] - stamp:
        return after - 1
    return after
