"""A stand-in for yt-dlp: cuts a window out of a recording that a server on this machine has.

Its first argument is that server's address, the others are those of yt-dlp, of which it knows what
`triptych.audio.data.fetching` gives. A video that the server hasn't is "unavailable".
"""

import argparse
import io
import re
import sys
import urllib.error
import urllib.request

import soundfile


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    for flag in ("--no-playlist", "--no-progress", "--quiet", "--extract-audio"):
        parser.add_argument(flag, action="store_true", required=True)
    for option in ("--format", "--audio-format", "--download-sections", "--output"):
        parser.add_argument(option, required=True)
    parser.add_argument("video")
    given = parser.parse_args()
    name = given.video.removeprefix("https://www.youtube.com/watch?v=")
    window = re.fullmatch(r"\*(\d+)-(\d+)", given.download_sections)
    if window is None:
        parser.error(f"invalid --download-sections time range {given.download_sections!r}")
    try:
        with urllib.request.urlopen(f"{given.server}/{name}") as answer:
            samples, rate = soundfile.read(io.BytesIO(answer.read()))
    except urllib.error.HTTPError:
        print(f"ERROR: [youtube] {name}: Video unavailable", file=sys.stderr)
        return 1
    first, last = (int(second) * rate for second in window.groups())
    target = given.output.replace("%(ext)s", given.audio_format)
    soundfile.write(target, samples[first:last], rate)
    return 0


if __name__ == "__main__":
    sys.exit(main())
