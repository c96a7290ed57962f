"""The comparer's own tests need no PyTorch: they put flambeau in both places."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "bindings" / "python"), str(ROOT / "tests" / "ops")]
