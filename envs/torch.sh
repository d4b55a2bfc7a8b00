#!/usr/bin/env bash
# envs/torch.sh UV LOCK CHOICE: which PyTorch to install here, cpu or cuda, and on stderr why.
# CHOICE is cpu, cuda or auto. auto takes the CPU builds, a third of the size, where there is no
# NVIDIA card whose driver runs the locked CUDA and PyTorch's own index answers within seconds.
set -euo pipefail
uv=$1 lock=$2 choice=$3

answers() {  # as uv would install from there; it changes nothing
  UV_HTTP_TIMEOUT=5 UV_HTTP_RETRIES=0 timeout 15 "$uv" pip install --quiet --dry-run --reinstall \
    --no-deps --torch-backend cpu "$(grep -o '^torch==[0-9.]*' "$lock")" >/dev/null 2>&1
}

doctor=$(dirname "$0")/../workflow_scripts/triptych/apps/doctor.py
needed=$(sed -n 's/^DRIVER = //p' "$doctor")  # the oldest driver for CUDA 13, which the lock has
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1) || driver=
old="the NVIDIA driver here is $driver, and the locked PyTorch needs $needed or later: update it, or
see \"An older driver\" in docs/scales.md"

case $choice in
  cpu) why="as TORCH says" ;;
  cuda)
    why="as TORCH says"
    if [ -n "$driver" ] && [ "${driver%%.*}" -lt $needed ]; then
      echo "Nothing was downloaded: $old." >&2
      exit 1
    fi
    ;;
  auto)
    none="there is no NVIDIA card here; TORCH=cuda all the same"
    if [ -n "$driver" ] && [ "${driver%%.*}" -lt $needed ]; then
      none=$old
    fi
    if [ -n "$driver" ] && [ "$none" != "$old" ]; then
      choice=cuda why="for the NVIDIA card here; TORCH=cpu: 2.4 GB"
    elif answers; then
      choice=cpu why=$none
    else
      choice=cuda why="PyTorch's index of CPU builds, 2.4 GB, does not answer"
      [ "$none" != "$old" ] || why="$why; it will not run on a GPU: $old"
    fi
    ;;
esac
case $choice in
  cpu) echo "Setting up .venv with PyTorch for processors alone, about 2.4 GB: $why." >&2 ;;
  cuda) echo "Setting up .venv with PyTorch for CUDA too, about 7 GB: $why." >&2 ;;
esac
echo "$choice"
