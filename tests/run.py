"""`make test` after the build: runs every suite, two at a time, shows the output of those that
fail, and ends with each runner's own closing line. A suite that cannot run here is named with its
reason; one that hangs is cut off, of pytest with where it was.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import suites
from suites import ROOT, Suite

DEADLINE = 1500  # seconds: four times what the longest suite takes
START = time.monotonic()


def table(build) -> list[Suite]:
    python = sys.executable
    library = {"FLAMBEAU_LIBRARY": str(build / "libflambeau.so.0")}
    return [
        Suite("lint", [python, "tests/lint/lint.py"]),
        Suite("generated files", [python, "bindings/generate", "--check"]),
        suites.cuda12(build),
        suites.inner_loops(build),
        suites.machine_code(build),
        suites.pytest("headers and generator", ["tests/headers", "tests/generate", "tests/lint"]),
        suites.pytest("archives, wheel, crates", ["tests/build"]),
        *suites.of_library(build, ("cpu", "sim", "standin")),
        *suites.instruction_sets(build),
        suites.pytest("scale on paper", ["tests/bench"], env=library, needs=("cffi", "scipy")),
        suites.pytest("comparer", ["tests/torch"], env=library, needs=("cffi", "scipy")),
        Suite("reference site", [str(ROOT / "lib/build/docs.sh")]),
    ]


def report(outcome: suites.Outcome) -> suites.Outcome:
    if outcome.status == "failed":
        print(f"\n==== {outcome.suite.name} ====\n{outcome.output}", flush=True)
    minutes = (time.monotonic() - START) / 60
    took = f"{outcome.seconds:6.0f} s, {minutes:5.1f} min in all"
    print(f"{outcome.status:8} {took}  {outcome.suite.name}", flush=True)
    return outcome


def run(suite: Suite) -> suites.Outcome:
    outcome = suites.run(suite, DEADLINE)
    return report(replace(outcome, status="failed") if outcome.cut else outcome)


def main() -> int:
    build = ROOT / "build" / (ROOT / "build" / "preset").read_text().strip()
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(run, table(build)))
    print("\n" + "\n".join(f"{o.status:8} {o.suite.name:22} {o.closing}" for o in outcomes))
    count = {s: sum(o.status == s for o in outcomes) for s in ("passed", "failed", "not run")}
    print(
        f"\n{count['passed']} suites passed, {count['failed']} failed, {count['not run']} not run"
    )
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
