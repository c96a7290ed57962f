#!/usr/bin/env bash
# toolkit12.sh: lays out a toolkit for CUDA 12.9 in .venv and prints its nvcc. NVIDIA's wheels of
# 12.9 hold what a driver judges by, assembler and runtime, but no nvcc: before them stands 13.0's
# front end, whose PTX is declared to be of CUDA 12's last version. What is newer is refused next.
set -euo pipefail
cd "$(dirname "$0")/../.."
# Whatever changes makes another compiler, for CMake and for ccache.
id=$(cat lib/build/{cuda.lock,cuda12.lock,toolkit12.sh} | sha256sum | cut -c1-16)
nvidia=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia
root=$nvidia/cuda12-$id
if [ ! -e "$root" ]; then
  lib/build/find_nvcc.sh wheels >/dev/null
  echo "installing CUDA 12.9 from NVIDIA's wheels" >&2
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
    -r lib/build/cuda12.lock >&2
  new=$(mktemp -d "$nvidia/new12.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  mkdir -p "$new"/{bin,nvvm/bin}
  cp "$nvidia"/cu13/bin/nvcc{,.profile} "$new/bin"  # it looks for the others beside itself
  ln -s "$nvidia"/{cu13/bin/{bin2c,crt,cudafe++,fatbinary,nvlink},cuda_nvcc/bin/ptxas} "$new/bin"
  ln -s "$nvidia"/cu13/nvvm/libdevice "$new/nvvm"
  cp -rs "$nvidia"/cuda_runtime/{include,lib} "$new"
  ln -s "$nvidia"/cu13/include/{crt,fatbinary_section.h} "$new/include"
  ln -s "$nvidia"/cuda_cccl/include "$new/include/cccl"  # CUB's of the older headers
  ln -s lib "$new/lib64"
  cat >"$new/nvvm/bin/cicc" <<END
#!/usr/bin/env bash
set -e
"$nvidia/cu13/nvvm/bin/cicc" "\$@"
while ((\$# > 1)); do
  [ "\$1" != -o ] || sed -i 's/^\.version 9\.[0-9]*\$/.version 8.8/' "\$2"
  shift
done
END
  chmod 755 "$new" "$new/nvvm/bin/cicc"
  mv -T "$new" "$root" || [ -e "$root" ]  # another build may have been first
fi
echo "$root/bin/nvcc"
