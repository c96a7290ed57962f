#!/usr/bin/env bash
# find_nvcc.sh auto|system|wheels|off: prints the nvcc to build with, or nothing for a library
# without CUDA. `auto` builds CUDA only where there is an NVIDIA driver; `wheels` installs NVIDIA's
# pinned wheels into .venv.
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=${1:?usage: find_nvcc.sh auto|system|wheels|off}

has_driver() {
  [ -e /proc/driver/nvidia/version ] || [ -e /dev/nvidiactl ] || command -v nvidia-smi >/dev/null
}

system_nvcc() {  # 12.8 or newer
  local nvcc version
  for nvcc in "$(command -v nvcc || true)" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc"; do
    [ -x "$nvcc" ] || continue
    version=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    read -r major minor <<<"$version"
    if ((major > 12 || (major == 12 && minor >= 8))); then
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

case $mode in
  off) ;;
  wheels) wheels_nvcc ;;
  system)
    if ! system_nvcc; then
      echo "CUDA=system: no nvcc 12.8 or newer on PATH or in /usr/local/cuda" >&2
      exit 1
    fi ;;
  auto) if has_driver; then system_nvcc || wheels_nvcc; fi ;;
  *) echo "CUDA=$mode is none of auto, system, wheels, off" >&2; exit 1 ;;
esac
