"""List the files that a run downloads: host, bytes and licence."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tabulate import tabulate


def downloads_page(studies: Mapping[str, Any], sources: Mapping[str, Any]) -> str:
    """Files that a run downloads: host, bytes and licence as resources/sources.yaml states them.

    studies: each study's Workflow. A text model is listed in sources.yaml by its name, an archive
    in parts by its repository: its last part stands for all.
    """
    entries = {k: v for study in studies.values() for k, v in study.downloads.items()}
    if studies["audio"].published:
        entries |= studies["audio"].published_downloads
    if not entries:
        return "This config downloads nothing."
    groups = [*sources.values(), *sources["audio"].values()]
    groups = [group for group in groups if "files" in group]
    rows, megabytes = [], 0.0
    for name, entry in entries.items():
        model, _, part = name.partition(", ")
        listed = [group for group in groups if model in group["files"]]
        at = [group for group in listed if group["files"][model].get("url") == entry["url"]]
        hub = [group for group in groups if f"/{group.get('repository')}/" in entry["url"]]
        group: Mapping[str, Any] = next(iter([*at, *(listed if part else hub)]), {"files": {}})
        known = {**group, **group["files"].get(model, {})}
        size = known.get("size") if not part or part.endswith(".safetensors") else None
        megabytes += (size or 0) / 1e6
        shown = name if at or part else f"{name} and other parts"
        host, licence = urlsplit(entry["url"]).hostname, known.get("licence")
        rows.append([shown, host, f"{size:,}" if size else None, licence])
    head = ("file", "host", "bytes", "licence")
    table = tabulate(rows, head, "plain", missingval="not stated", disable_numparse=True)
    unknown = sum(row[2] is None for row in rows)
    return f"{table}\n\n{len(rows)} files, {megabytes / 1e3:.3g} GB and {unknown} of unstated size."
