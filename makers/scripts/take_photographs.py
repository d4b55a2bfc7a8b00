"""Take the photographs out of Debian packages, each downloaded by apt and checked."""

import io
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from makers.archives import images_within
from triptych.core.errors import InputError
from triptych.core.files import sha256_of
from triptych.core.job import job

with job(snakemake), tempfile.TemporaryDirectory() as folder:
    output, params = Path(snakemake.output[0]), snakemake.params
    output.mkdir(parents=True, exist_ok=True)
    for package, wanted in params.packages.items():
        subprocess.run(["apt-get", "download", package], cwd=folder, check=True)
        name = package.partition("=")[0]
        (archive,) = Path(folder).glob(f"{name}_*.deb")
        if sha256_of(archive) != wanted["sha256"]:
            raise InputError(f"{package} is not the one with SHA-256 {wanted['sha256']}")
        unpacked = Path(folder) / name
        subprocess.run(["dpkg", "-x", archive, unpacked], check=True)
        for file in sorted({each for form in wanted["files"] for each in unpacked.rglob(form)}):
            for number, data in enumerate(images_within(file.read_bytes())):
                image = Image.open(io.BytesIO(data)).convert("RGB")
                if min(image.size) >= 256:  # icons are smaller
                    image.thumbnail((params.largest, params.largest))
                    image.save(output / f"{name}_{file.stem}_{number}.jpg", quality=92)
