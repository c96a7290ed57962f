#!/usr/bin/env bash
# find_nvcc.sh auto|system|wheels|wheels12|off: prints the nvcc to build with, or nothing for a
# library without CUDA: that of the system, or of NVIDIA's wheels of CUDA 13 or 12, which are pinned
# and go into .venv. `auto` is what `choose` prints: off where there is no NVIDIA driver, else what
# this driver serves.
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=${1:?usage: find_nvcc.sh auto|system|wheels|wheels12|off|choose}

has_driver() {
  [ -e /proc/driver/nvidia/version ] || [ -e /dev/nvidiactl ] || command -v nvidia-smi >/dev/null
}

served() {  # the newest major version of CUDA that the driver serves; 99 where it does not say
  python3 -c 'import ctypes as c
version = c.c_int()
c.CDLL("libcuda.so.1").cuDriverGetVersion(c.byref(version))
print(version.value // 1000)' 2>/dev/null || echo 99
}

has_cub() {  # beside this nvcc
  local include
  include=$(dirname "$(readlink -f "$1")")/../include
  [ -e "$include/cccl/cub/cub.cuh" ] || [ -e "$include/cub/cub.cuh" ]
}

system_nvcc() {  # 12.8 or newer, no newer than what the driver serves, and with CUB
  local nvcc version major minor limit=$(served)
  for nvcc in "$(command -v nvcc || true)" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc"; do
    [ -x "$nvcc" ] || continue
    version=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    read -r major minor <<<"${version:-0 0}"
    if ((major <= limit && (major > 12 || (major == 12 && minor >= 8)))) && has_cub "$nvcc"; then
      readlink -f "$nvcc"
      return
    fi
  done
  return 1
}

wheels_nvcc() {
  local lock=lib/build/cuda.lock site root stamp
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  root=$site/nvidia/cu13
  stamp=$root/.installed-$(sha256sum "$lock" | cut -c1-16)
  if [ ! -e "$stamp" ]; then
    echo "installing CUDA 13.0 from NVIDIA's wheels" >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r "$lock" >&2
    ln -sfn lib "$root/lib64"  # where nvcc.profile looks
    touch "$stamp"
  fi
  echo "$root/bin/nvcc"
}

choose() {
  if ! has_driver; then echo off
  elif system_nvcc >/dev/null; then echo system
  elif (($(served) < 13)); then echo wheels12
  else echo wheels; fi
}

case $mode in
  off) ;;
  choose) choose ;;
  auto) exec lib/build/find_nvcc.sh "$(choose)" ;;
  wheels) wheels_nvcc ;;
  wheels12) exec lib/build/toolkit12.sh ;;
  system)
    if ! system_nvcc; then
      echo "CUDA=system: no nvcc >= 12.8 with CUB for this driver on PATH or in /usr/local/cuda" >&2
      exit 1
    fi ;;
  *) echo "CUDA=$mode is none of auto, system, wheels, wheels12, off" >&2; exit 1 ;;
esac
