#!/usr/bin/env bash
# build.sh PRESET [CUDA mode] [ninja targets...]: configures where needed and builds into
# build/PRESET. Asked for the preset `release`, it takes `cuda` where the CUDA mode gives a
# compiler, else `cpu`; the name of what was built last is kept in build/preset.
set -euo pipefail
cd "$(dirname "$0")/../.."
preset=${1:?usage: build.sh PRESET [CUDA mode] [targets]}
mode=${2:-auto}
shift $(($# < 2 ? $# : 2))
lib/build/setup_venv.sh
PATH=$PWD/.venv/bin:$PATH

arguments=(-DPython_EXECUTABLE="$PWD/.venv/bin/python")
if [ "$preset" = release ] || [ "$preset" = cuda ]; then
  nvcc=$(lib/build/find_nvcc.sh "$mode")
  preset=${nvcc:+cuda}
  preset=${preset:-cpu}
  [ -z "$nvcc" ] || arguments+=(-DCMAKE_CUDA_COMPILER="$nvcc")
  [ -z "${CUDA_ARCH:-}" ] || arguments+=(-DCMAKE_CUDA_ARCHITECTURES="$CUDA_ARCH")
fi
mkdir -p build
log=build/$preset.configure.log
ninja=build/$preset/build.ninja
if [ ! -e "$ninja" ] || [ CMakePresets.json -nt "$ninja" ]; then
  cmake --preset "$preset" "${arguments[@]}" >"$log" 2>&1 || { cat "$log"; exit 1; }
fi
cmake --build "build/$preset" -- "$@"
# Compiling the package's bytecode would take the first import longer than its budget.
.venv/bin/python -m compileall -q bindings/python/flambeau
echo "$preset" > build/preset
