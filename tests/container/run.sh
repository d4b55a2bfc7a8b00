#!/usr/bin/env bash
# The image builds, and the demo's first table and picture come out of it: bash tests/container/run.sh
# It builds the last commit's Dockerfile by docker or podman or, where no engine of theirs answers, as
# root by buildah on a Debian by mmdebstrap, without a daemon or a registry of images. In it Snakemake
# runs as root and as a user without a name, each in a clone of its own, without a network and with
# Docker's 64 MB of /dev/shm. It needs 16 GB below TMPDIR (default /var/tmp), and leaves nothing.
set -euo pipefail
root=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
for engine in docker podman buildah none; do
    case $engine in
        docker | podman) "$engine" info && break ;;
        buildah) [ "$(id -u)" = 0 ] && command -v buildah && command -v mmdebstrap && break ;;
    esac >/dev/null 2>&1
done
if [ $engine = none ]; then
    echo "No docker or podman answers; as root, apt-get install buildah mmdebstrap" >&2
    exit 1
fi
made=$(mktemp --directory "${TMPDIR:-/var/tmp}/triptych-container.XXXXXX")
chmod 755 "$made"
image=triptych-test-$$
container=
files=(results/tables/rl_table1.csv results/style/stylised/swirls/china.png)

own() { # COMMAND...: buildah with images in a folder of this run
    buildah --root "$made/storage" --runroot "$made/run" --storage-driver overlay "$@"
}

build() { # FOLDER
    if [ $engine != buildah ]; then
        $engine build --tag "$image" "$1"
        return
    fi
    # With the certificates that this machine trusts beyond Debian's own.
    mmdebstrap --variant=minbase bookworm "$made/debian.tar" \
        --customize-hook='copy-in /usr/local/share/ca-certificates /usr/local/share'
    container=$(own from scratch)
    own add "$container" "$made/debian.tar" /
    own commit --rm "$container" docker.io/library/debian:bookworm-slim
    rm "$made/debian.tar"
    own bud --isolation chroot --network host --pull-never --tag "$image" "$1"
}

inside() { # USER FOLDER COMMAND...: a command in the image
    local run=(--user "$1" --volume "$2:$2" --workdir "$2")
    shift 2
    if [ $engine = buildah ]; then # with chroot it lends the network and /dev/shm of its caller
        unshare --net --mount bash -euc 'mount -t tmpfs -o size=64m tmpfs /dev/shm; exec "$@"' - \
            buildah --root "$made/storage" --runroot "$made/run" --storage-driver overlay run \
            --isolation chroot "${run[@]/--workdir/--workingdir}" "$container" -- "$@"
    else
        $engine run --rm --network none --shm-size 64m "${run[@]}" "$image" "$@"
    fi
}

clean() {
    inside 0 "$made" rm -rf clone-0 clone-12345 || true # what users of the image own
    if [ $engine = buildah ]; then
        own rm --all && own rmi --all --force
    else
        $engine rmi --force "$image"
    fi || true
    rm -rf "$made"
}
trap 'clean >/dev/null 2>&1' EXIT

checks='
check() { # WHAT COMMAND...
    what="user $(id -u): $1"
    shift
    if "$@" >check.log 2>&1; then
        echo "passed: $what"
    else
        echo "FAILED: $what"
        tail -n 40 check.log
        exit 1
    fi
}
check "no network" [ -z "$(tail -n +2 /proc/net/route)" ]
check "64 MB in /dev/shm" [ "$(df --output=size /dev/shm | tail -n 1)" -le 65536 ]
check "git" [ "$(git rev-parse HEAD)" = "$1" ]
shift
for file; do
    check "$file" snakemake --cores 2 "$file"
done
check "a home that cannot be written" env HOME=/ snakemake --dry-run "$@"
'

git clone --quiet "$root" "$made/clone-0"
git clone --quiet "$made/clone-0" "$made/clone-12345"
commit=$(git -C "$made/clone-12345" rev-parse HEAD)
echo "building commit $commit by $engine"
build "$made/clone-0" >"$made/build.log" 2>&1 || { tail -n 40 "$made/build.log" >&2 && exit 1; }
echo "passed: the image builds, with PyTorch for CUDA"
for user in 0 12345; do
    [ $engine != buildah ] || container=$(own from --pull-never "localhost/$image")
    folder=$made/clone-$user
    inside 0 "$folder" chown --recursive $user .
    inside $user "$folder" sh -euc "$checks" - "$commit" "${files[@]}"
done
for file in "${files[@]}"; do
    cmp "$made/clone-0/$file" "$made/clone-12345/$file"
    echo "passed: both users' $file has the same bytes"
done
