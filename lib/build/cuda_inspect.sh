#!/usr/bin/env bash
# cuda_inspect.sh: prints the folder of NVIDIA's cuobjdump and nvdisasm, which read compiled
# kernels. They are pinned wheels in .venv whichever toolkit compiled, so that a kernel reads the
# same everywhere; only the tests of machine code want them.
set -euo pipefail
cd "$(dirname "$0")/../.."
lock=lib/build/inspect.lock
root=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cu13
stamp=$root/.inspect-$(sha256sum "$lock" | cut -c1-16)
if [ ! -e "$stamp" ]; then
  echo "installing cuobjdump and nvdisasm from NVIDIA's wheels" >&2
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r "$lock" >&2
  touch "$stamp"
fi
echo "$root/bin"
