#!/usr/bin/env bash
# build.sh PRESET [CUDA mode] [ninja targets...]: configures where needed and builds into
# build/PRESET. Asked for the preset `release`, it takes `cuda` where the CUDA mode gives a
# compiler, else `cpu`; `demo` is the same, but a first build has only this machine's instruction
# set until a release is asked for. The name of what was built last is kept in build/preset.
set -euo pipefail
cd "$(dirname "$0")/../.."
preset=${1:?usage: build.sh PRESET [CUDA mode] [targets]}
mode=${2:-auto}
shift $(($# < 2 ? $# : 2))
if [ ! -e build/preset ]; then  # before anything is compiled
  command -v python3 >/dev/null || {
    echo "flambeau needs python3; README.md has the line that installs all" >&2
    exit 1
  }
  python3 lib/build/doctor.py build
fi
lib/build/setup_venv.sh
PATH=$PWD/.venv/bin:$PATH

arguments=(-DPython_EXECUTABLE="$PWD/.venv/bin/python")
native=OFF
[ "$preset" != demo ] || native=ON preset=release
if [ "$preset" = release ] || [ "$preset" = cuda ]; then
  nvcc=$(lib/build/find_nvcc.sh "$mode")
  preset=${nvcc:+cuda}
  preset=${preset:-cpu}
  if [ -n "$nvcc" ]; then
    arch=$(lib/build/cuda_arch.sh "$nvcc")
    arguments+=(-DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_ARCHITECTURES="$arch")
  fi
fi
mkdir -p build
log=build/$preset.configure.log
ninja=build/$preset/build.ninja
stale=
if [ ! -e "$ninja" ] || [ CMakePresets.json -nt "$ninja" ]; then stale=1; fi
cached() {  # what the variable $1 was when this preset was configured
  sed -n "s/^$1:[A-Z]*=//p" "build/$preset/CMakeCache.txt" 2>/dev/null || true
}
[ "$(cached CMAKE_CUDA_ARCHITECTURES)" = "${arch:-}" ] || stale=1
if [ -e "$ninja" ] && [ "$(cached CMAKE_CUDA_COMPILER)" != "${nvcc:-}" ]; then
  stale=1 arguments+=(--fresh)  # what CMake found out belongs to the other compiler
fi
if [ -n "${FLAM_WERROR:-}" ]; then  # else it is the compiler's version that says
  [ "$(cached FLAM_WERROR)" = "$FLAM_WERROR" ] || stale=1
  arguments+=(-DFLAM_WERROR="$FLAM_WERROR")
fi
case $preset in
  cpu | cuda)
    was=$(cached FLAM_NATIVE_ISA)
    [ "$native$was" != ONOFF ] || native=OFF
    [ "$native$was" != OFFON ] || stale=1
    arguments+=(-DFLAM_NATIVE_ISA=$native) ;;
esac
if [ -n "$stale" ]; then
  cmake --preset "$preset" "${arguments[@]}" >"$log" 2>&1 || { cat "$log"; exit 1; }
fi
cmake --build "build/$preset" -- "$@"
# Compiling the package's bytecode would take the first import longer than its budget.
.venv/bin/python -m compileall -q bindings/python/flambeau
echo "$preset" > build/preset
