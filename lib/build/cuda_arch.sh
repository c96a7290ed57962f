#!/usr/bin/env bash
# cuda_arch.sh NVCC: prints what GPUs the kernels are compiled for, as CMake's CUDA_ARCHITECTURES:
# what CUDA_ARCH names, `release` for all that a release serves; else the GPUs of this machine as
# far as NVCC knows them, and where there is none, Hopper's code and PTX, which other GPUs' drivers
# compile at the first use.
set -euo pipefail
nvcc=${1:?usage: cuda_arch.sh NVCC}

# Turing to Blackwell, and PTX for what comes after. Code of 8.0 serves 8.7, that of 10.0 10.3 and
# that of 12.0 12.1, as NVIDIA promises within a major version.
release="75-real;80-real;86-real;89-real;90-real;100-real;120"

# Of each GPU, "90" for 9.0, the newest code that runs on it: of its major version and not newer
# than it is. The last of them is there as PTX, too, for newer GPUs.
for_gpus() {
  local known gpu code best
  known=$("$nvcc" --list-gpu-code 2>/dev/null | sed -n 's/^sm_\([0-9]*\)$/\1/p' | sort -n)
  while read -r gpu; do
    best=
    for code in $known; do
      if ((code / 10 == gpu / 10 && code <= gpu)); then best=$code; fi
    done
    [ -z "$best" ] || echo "$best"
  done | sort -nu | sed '$!s/$/-real/' | paste -sd ';'
}

case ${CUDA_ARCH:-} in
  release) echo "$release" ;;
  ?*) echo "$CUDA_ARCH" ;;
  *)
    here=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d '. ' |
           sed -n '/^[0-9][0-9]*$/p' | for_gpus) || here=
    echo "${here:-75-virtual;90-real}" ;;
esac
