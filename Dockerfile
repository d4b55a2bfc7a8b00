# Everything that the workflow imports, in one image, for machines without conda:
#
#   docker build --tag triptych .
#   apptainer build triptych.sif docker-daemon://triptych:latest
#   snakemake --cores 8 --software-deployment-method apptainer
#
# docs/elsewhere.md says more: GPUs, what was tried.
FROM debian:bookworm-slim

RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git python3.11 python3.11-venv \
 && rm -rf /var/lib/apt/lists/*

COPY requirements.lock /opt/triptych/

# uv comes in the version of the lock, and installs nothing whose hash the lock doesn't hold. It trusts
# the certificates of the image, as pip does: a base image may add a company's.
ENV VIRTUAL_ENV=/opt/triptych/venv PATH=/opt/triptych/venv/bin:/usr/bin:/bin
RUN python3.11 -m venv "$VIRTUAL_ENV" \
 && pip install --no-cache-dir "$(grep -o '^uv==[0-9.]*' /opt/triptych/requirements.lock)" \
 && UV_SYSTEM_CERTS=1 uv pip sync --no-cache --compile-bytecode --require-hashes /opt/triptych/requirements.lock

# For a user without a name: docker run --user "$(id -u)". Clusters may give such a user the home /, so
# its cache can be written too. XDG_CACHE_HOME isn't set: by apptainer, which lends the machine's /tmp,
# all users would have one cache.
ENV HOME=/tmp USER=triptych
RUN mkdir --mode 1777 /.cache

# The checkout is mounted, not copied: code and results stay outside the image. --ipc=host lends the
# host's /dev/shm, by which audio training reads ahead; Docker's own 64 MB are too small for that.
#   docker run --rm --gpus all --ipc=host --user "$(id -u):$(id -g)" --volume "$PWD:$PWD" --workdir "$PWD" triptych snakemake --cores 8
CMD ["snakemake", "--help"]
