"""Scale on paper: what a step, memory and failures cost on up to 16,384 GPUs, by formulas.

- `scale.py`: the fit of what was measured here, the figures of others beside the model's, and the
  tables to 16,384 GPUs; fails where the model is further from a figure than it says
- `scale.py --write`: the same into `results/scale.md`, with `results/scale.svg` beside it
- `scale.py --measure FILE`: measures two processes on this machine for the fit"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from scaling import chart, measured, outlook, published, report  # noqa: E402

RESULTS = HERE / "results"
MEASURED = RESULTS / "amd-epyc-zen-3-collectives.json"


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def measure(path: Path, name: str, seconds: float, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "found.json"
        found = measured.measure(Path(__file__), kept, seconds, rounds)
    said = {"processor": name, "date": str(datetime.date.today()), "backend": "gloo"}
    path.write_text(json.dumps(said | found, indent=1) + "\n")


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--measured", type=Path, default=MEASURED, help="what --measure has written")
    p.add_argument("--measure", type=Path, metavar="FILE")
    p.add_argument("--processor", default=processor(), help="its name in what --measure writes")
    p.add_argument("--write", action="store_true")
    p.add_argument("--seconds", type=float, default=measured.SECONDS, help="of each row in a round")
    p.add_argument("--rounds", type=int, default=measured.ROUNDS)
    p.add_argument("--rank", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.rank:
        measured.as_rank(args.rank, args.seconds, args.rounds)
        return 0
    if args.measure:
        if not args.measure.parent.is_dir():
            p.error(f"--measure {args.measure}: there is no folder {args.measure.parent}")
        measure(args.measure, args.processor, args.seconds, args.rounds)
        return 0
    figures = published.figures()
    page = report.page(json.loads(args.measured.read_text()), figures)
    if args.write:
        (RESULTS / "scale.md").write_text(page)
        (RESULTS / "scale.svg").write_text(chart.svg(outlook.panels()))
    else:
        print(page)
    faults = report.check(figures)
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
