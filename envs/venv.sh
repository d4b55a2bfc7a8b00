#!/usr/bin/env bash
# envs/venv.sh PYTHON: a .venv for this folder, to be filled from the lock. One that make made here
# and that works stays, and is brought up to date; one that moved is made anew; one that is not
# make's, or that a process uses, is left alone, and why is said.
set -euo pipefail
python=$1
cd -P . # as make, Python and /proc name this folder

stop() {
  printf '%s\n' "$@" >&2
  exit 1
}

case $PWD in *[[:space:]\'\"\(\)\&\;\<\>\|\$\`\\*?[\]\#~\!{}:]*)
  stop "Snakemake gives the path of .venv to a shell as it is, and this folder's name has a" \
    "space, a colon or a quote in it: $PWD" \
    "Clone into a folder whose path has none, and run make there." ;;
esac
if [ -L .venv ]; then
  stop ".venv is a link to $(readlink .venv), an environment of another folder: it runs that folder's" \
    "code, and make would change it for all who use it. Remove the link (rm .venv), and run make again."
fi
if [ -e .venv ] && [ ! -e .venv/ready ]; then
  stop "There is a .venv that make did not make, or did not finish, and it will not be cleared." \
    "Rename or delete it, and run make again."
fi
# What a process has mapped; its command line may name another path to it.
users=$(grep -lsF "$PWD/.venv/" /proc/[0-9]*/maps | cut -d/ -f3 | paste -sd' ') || true
if [ -n "$users" ]; then
  stop "Running processes use .venv, which is to be changed for another requirements.lock: $users" \
    "Wait for them, or stop them, and run make again; another branch is best tried in a worktree."
fi
if [ -e .venv ] && [ -n "$(ls .snakemake/locks 2>/dev/null)" ]; then
  stop "A workflow runs in this folder, perhaps on another machine, and .venv is to be changed for" \
    "another requirements.lock. Wait for it; where none runs: .venv/bin/snakemake --unlock --cores 1"
fi
if .venv/bin/python -c '' 2>/dev/null && [ "$(cat .venv/ready)" = "$PWD" ]; then
  exit
fi
command -v "$python" >/dev/null ||
  stop "Triptych needs Python 3.11, 3.12 or 3.13, and there is no $python here." \
    "Install it, or say where it is: make PYTHON=/path/to/python3.11"
rm -rf .venv
mkdir .venv
echo unfinished >.venv/ready
"$python" -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check "$(grep -o '^uv==[0-9.]*' requirements.lock)"
