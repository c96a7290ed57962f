"""`make dist`: the library's sources as a tar file for those who build in C, without the generator
and with what it writes, so that CMake, a compiler and two libraries of headers are all that is
needed. The same checkout gives the same bytes.

    python lib/build/dist.py FOLDER
"""

from __future__ import annotations

import gzip
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAKEN = re.compile(
    r"CMakeLists\.txt|CHANGELOG\.md|LICENSE|(include|lib|examples/c|examples/data)/.*"
)
GENERATED = "lib/capi/gen", "lib/nn/gen", "lib/ops/gen"
README = """# flambeau {version}, the library in C

    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release
    cmake --build build
    cmake --install build

It needs CMake 3.24, gcc 12 or newer, and the headers of Eigen and nlohmann/json (apt packages
libeigen3-dev and nlohmann-json3-dev, or -DFLAM_EIGEN=/path/to/include/eigen3 and
-DFLAM_JSON=/path/to/include). -DFLAM_CUDA=ON compiles the CUDA side, with nvcc 12.8 or newer.
Programs are in examples/c; include/flambeau documents every function.
"""


def git(*command: str) -> str:
    """Of this checkout, also where it belongs to another user, as in a container's volume."""
    # A folder that is named is trusted; `-c safe.directory` counts from git 2.38 on only.
    named = ["git", f"--git-dir={ROOT / '.git'}", f"--work-tree={ROOT}"]
    return subprocess.run(
        [*named, *command], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def version() -> str:
    text = (ROOT / "include/flambeau/common.h").read_text()
    return ".".join(
        re.search(rf"FLAM_VERSION_{p} (\d+)", text)[1] for p in ("MAJOR", "MINOR", "PATCH")
    )


def files() -> dict[str, bytes]:
    """What the archive holds, by path."""
    named = [n for n in git("ls-files").splitlines() if TAKEN.fullmatch(n)]
    named += [
        str(p.relative_to(ROOT)) for f in GENERATED for p in (ROOT / f).iterdir() if p.is_file()
    ]
    held = {n: (ROOT / n).read_bytes() for n in named if (ROOT / n).exists()}
    return {**held, "README.md": README.format(version=version()).encode()}


def write(folder: pathlib.Path) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    name = f"libflambeau-{version()}"
    when = int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))
    path = folder / f"{name}.tar.gz"
    with open(path, "wb") as f, gzip.GzipFile("", "wb", fileobj=f, mtime=when) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for member, data in sorted(files().items()):
                entry = tarfile.TarInfo(f"{name}/{member}")
                entry.size, entry.mtime = len(data), when
                entry.mode = 0o755 if member.endswith(".sh") else 0o644
                archive.addfile(entry, io.BytesIO(data))
    return path


if __name__ == "__main__":
    subprocess.run([sys.executable, ROOT / "bindings/generate", "--if-changed"], check=True)
    print(write(pathlib.Path(sys.argv[1])))
