"""`make bench`: runs every benchmark that was built. One with a script of its name beside its
source is run by that script, which prints NumPy's and PyTorch's times beside ours where it finds
them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests" / "bench"


def main() -> int:
    build = ROOT / "build" / (ROOT / "build" / "preset").read_text().strip()
    env = os.environ | {"FLAMBEAU_LIBRARY": str(build / "libflambeau.so.0")}
    failed = []
    for program in sorted((build / "bench").glob("bench_*")):
        name = program.name.removeprefix("bench_")
        script = next(iter(BENCH.rglob(f"{name}.py")), None)
        command = [sys.executable, str(script), str(program)] if script else [str(program)]
        print(f"\n== {name}", flush=True)
        if subprocess.run(command, cwd=ROOT, env=env).returncode:
            failed.append(name)
    for script in [BENCH / "models.py", *sorted(BENCH.glob("*_bench.py"))]:
        print(f"\n== {script.stem}", flush=True)
        if subprocess.run([sys.executable, str(script)], cwd=ROOT, env=env).returncode:
            failed.append(script.stem)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
