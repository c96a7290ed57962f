#!/usr/bin/env bash
# cuda_arch.sh: prints what GPUs the kernels are compiled for, as CMake's CUDA_ARCHITECTURES: what
# CUDA_ARCH names, `release` for all that a release serves; else the GPUs of this machine, and on
# one without, Hopper's code and PTX, which other GPUs' drivers compile at the first use.
set -euo pipefail

# Turing to Blackwell, and PTX for what comes after. Code of 8.0 serves 8.7, that of 10.0 10.3 and
# that of 12.0 12.1, as NVIDIA promises within a major version.
release="75-real;80-real;86-real;89-real;90-real;100-real;120"

case ${CUDA_ARCH:-} in
  release) echo "$release" ;;
  ?*) echo "$CUDA_ARCH" ;;
  *)
    here=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d '. ' |
           sed -n 's/^[0-9][0-9]*$/&-real/p' | sort -u | paste -sd ';') || here=
    echo "${here:-75-virtual;90-real}" ;;
esac
