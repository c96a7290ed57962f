#!/usr/bin/env bash
# wheel.sh FOLDER: the wheel of what was built last. Its objects are only linked again; auditwheel
# checks that every symbol is in glibc 2.28 and nothing foreign is needed, and gives it its name.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${1:?usage: wheel.sh FOLDER}
PATH=$PWD/.venv/bin:$PATH
plain=build/wheels
lock=lib/build/wheel.lock
stamp=.venv/.wheel-$(sha256sum "$lock" | cut -c1-16)
if [ ! -e "$stamp" ]; then
  python -m pip install --quiet --disable-pip-version-check --no-deps -r "$lock"
  touch "$stamp"
fi
rm -rf "$plain" build/wheel
preset=$(cat build/preset)
cmake --build "build/$preset" --target flambeau flambeau_python flambeau_wheel >"$plain.log" ||
  { cat "$plain.log"; exit 1; }
export FLAM_BUILT=$PWD/build/$preset
python -m build --wheel --no-isolation --skip-dependency-check --outdir "$plain" . >"$plain.log" ||
  { cat "$plain.log"; exit 1; }
# The extension names the library by soname; the package opens it first.
auditwheel --verbose repair --only-plat --plat manylinux_2_28_x86_64 --exclude libflambeau.so.0 \
  --wheel-dir "$folder" "$plain"/*.whl >"$plain.log" 2>&1 || { cat "$plain.log"; exit 1; }
ls -l "$folder"/*manylinux*.whl
