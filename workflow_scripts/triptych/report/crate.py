"""results/ro-crate-metadata.json: the run for machines, as a Workflow Run RO-Crate (RO-Crate 1.1).

What lies outside results/ is named with its hash and is no part of the crate.
"""

import json
import mimetypes
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from triptych.core.files import atomic_path

CRATE, RUN = "https://w3id.org/ro/crate/1.1", "https://w3id.org/ro/wfrun"
WORKFLOW = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
PROFILES = (f"{RUN}/process/0.5", f"{RUN}/workflow/0.5", WORKFLOW)
CONTEXT = [f"{CRATE}/context", "https://w3id.org/ro/terms/workflow-run/context"]


def write_crate(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], workflow: Path, licences: str
) -> None:
    """Write the record of a run, and beside it a copy of its workflow's Snakefile.

    manifest: as results/manifest.json has it. licences: of what the run made and shows.
    """
    root = Path(path).parent
    graph: list[dict[str, Any]] = []

    def add(entity: str, kind: str | list[str], /, **about: Any) -> dict[str, str]:
        graph.append({"@id": entity, "@type": kind, **about})
        return {"@id": entity}

    with atomic_path(root / workflow.name) as temporary:
        temporary.write_bytes(workflow.read_bytes())
    ends = [Path(record).stat().st_mtime for record in manifest["jobs"]]
    ended = datetime.fromtimestamp(max(ends, default=0), UTC).isoformat(timespec="seconds")
    add(
        "ro-crate-metadata.json",
        "CreativeWork",
        about={"@id": "./"},
        conformsTo=[{"@id": CRATE}, {"@id": WORKFLOW}],
    )
    language = add("#snakemake", "ComputerLanguage", name="Snakemake", url="https://snakemake.io")
    main = add(
        workflow.name,
        ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        name="Triptych",
        encodingFormat="text/plain",
        programmingLanguage=language,
        version=manifest["commit"] or "not from a repository",
    )
    files = _output_files(add, manifest["outputs"], root)
    config = json.dumps(manifest["config"], sort_keys=True)
    read = [add("#config", "PropertyValue", name="config", value=config)]
    for name, digest in manifest["sources"].items():
        read.append(add(f"#{quote(name)}", "CreativeWork", name=name, sha256=digest))
    description = f"Run at {manifest['scale']} scale, {len(manifest['jobs'])} jobs"
    run = add(
        "#run",
        "CreateAction",
        name=description,
        instrument=main,
        endTime=ended,
        object=read,
        result=files,
    )
    add(
        "./",
        "Dataset",
        name="Results of Triptych",
        description=description,
        datePublished=ended,
        license=add("#licences", "CreativeWork", name="Licences", description=licences),
        conformsTo=_profiles(add),
        mainEntity=main,
        mentions=run,
        hasPart=[main, *files],
    )
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps({"@context": CONTEXT, "@graph": graph}, indent=1) + "\n")


Add = Callable[..., dict[str, str]]
"""Adds an entity, given its id, its type and its properties; returns a reference to it."""


def _output_files(add: Add, outputs: Mapping[str, str], root: Path) -> list[dict[str, str]]:
    """Entities of a run's outputs, with media type and SHA-256."""
    return [
        add(
            quote(Path(name).relative_to(root).as_posix()),
            "File",
            name=Path(name).name,
            encodingFormat=mimetypes.guess_type(name)[0] or "application/octet-stream",
            sha256=digest,
        )
        for name, digest in outputs.items()
    ]


def _profiles(add: Add) -> list[dict[str, str]]:
    """Entities of the profiles that the crate conforms to."""
    parts = {profile: profile.split("/") for profile in PROFILES}
    return [
        add(profile, "CreativeWork", name=names[-2], version=names[-1])
        for profile, names in parts.items()
    ]
