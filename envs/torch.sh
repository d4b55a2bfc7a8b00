#!/usr/bin/env bash
# envs/torch.sh UV LOCK CHOICE: which PyTorch to install here, cpu or cuda, and on stderr why.
# CHOICE is cpu, cuda or auto. auto takes the CPU builds, a third of the size, where there is no
# NVIDIA card and PyTorch's own index answers within seconds.
set -euo pipefail
uv=$1 lock=$2 choice=$3

answers() {  # as uv would install from there; it changes nothing
  UV_HTTP_TIMEOUT=5 UV_HTTP_RETRIES=0 timeout 15 "$uv" pip install --quiet --dry-run --reinstall \
    --no-deps --torch-backend cpu "$(grep -o '^torch==[0-9.]*' "$lock")" >/dev/null 2>&1
}

case $choice in
  cpu) why="as TORCH says" ;;
  cuda) why="as TORCH says" ;;
  auto)
    if nvidia-smi -L >/dev/null 2>&1; then
      choice=cuda why="for the NVIDIA card here; TORCH=cpu: 2.4 GB"
    elif answers; then
      choice=cpu why="there is no NVIDIA card here; TORCH=cuda all the same"
    else
      choice=cuda why="PyTorch's index of CPU builds, 2.4 GB, does not answer"
    fi
    ;;
esac
case $choice in
  cpu) echo "Setting up .venv with PyTorch for processors alone, about 2.4 GB: $why." >&2 ;;
  cuda) echo "Setting up .venv with PyTorch for CUDA too, about 7 GB: $why." >&2 ;;
esac
echo "$choice"
