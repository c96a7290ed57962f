"""Launches of a training step beside PyTorch's, on paper: python launches.py [--write]

- `launches.py`: counts ours on device `cuda`, a GPU or the stand-in for one, and shows both
- `launches.py --write`: the same into `results/launches.md`
- `launches.py --record`: in an interpreter that has PyTorch, writes the operations that it runs
  into `results/launches-pytorch.json`

PyTorch has a profiler that counts, and here no GPU to count on. So its count is a bound: the
operations that reach its dispatcher in the same step, each taken for as few launches as its CUDA
form can have. A share of ours that holds beside the bound holds beside PyTorch."""

from __future__ import annotations

import argparse
import collections
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from launch_models import MODELS, phases  # noqa: E402

RECORDED = HERE / "results" / "launches-pytorch.json"
PAGE = HERE / "results" / "launches.md"
DTYPES = ("float32", "bfloat16")
BAR = 0.6

NO_LAUNCH = """view _unsafe_view t transpose split detach expand empty lift_fresh
_local_scalar_dense _record_function_enter_new _record_function_exit""".split()
# A kernel each. Of lists: all of them fit in one (30 tensors and more, MultiTensorApply.cuh); of a
# norm over channels: cuDNN's; of attention: the memory-efficient kernels', which are the fewest.
ONE = """add add_ arange embedding native_layer_norm addmm mm gelu gelu_backward _log_softmax
nll_loss_forward _log_softmax_backward_data sum cat ones_like mean div mul pow relu_ copy_ _to_copy
threshold_backward convolution native_batch_norm native_batch_norm_backward reciprocal clamp stack
linalg_vector_norm _scaled_dot_product_flash_attention_for_cpu
_scaled_dot_product_flash_attention_for_cpu_backward _foreach_mul_ _foreach_lerp_ _foreach_addcmul_
_foreach_sqrt _foreach_div_ _foreach_addcdiv_ _foreach_add_""".split()
# Gradients of rows are zeroed, then added to (Loss.cu, Embedding.cu); a norm's own and its
# weights' are two kernels (layer_norm_kernel.cu); norms of a list are parts, then their sums
# (ForeachReduceOp.cu).
TWO = """nll_loss_backward embedding_dense_backward native_layer_norm_backward
_foreach_norm""".split()
LEAST = dict.fromkeys(NO_LAUNCH, 0) | dict.fromkeys(ONE, 1) | dict.fromkeys(TWO, 2)


def least(name: str) -> int:
    """The fewest launches of an operation as `recorded` names it."""
    plain, _, detail = name.partition(" ")
    if detail == "cpu":  # counts of steps, which lie there
        return 0
    if plain == "convolution_backward":
        return int(detail)
    return LEAST[plain]


def recorded() -> dict:
    """What PyTorch runs: {model: {dtype: {phase: {operation: how often}}}}."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    def name_of(function, args):
        name = function.overloadpacket.__name__
        if name == "convolution_backward":
            return f"{name} {sum(args[-1])}"  # of the gradients that are wanted
        steps = name == "_foreach_add_" and function._overloadname == "Tensor"
        return f"{name} cpu" if steps else name

    class Recorder(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.found = collections.Counter()

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.found[name_of(function, args)] += 1
            return function(*args, **(kwargs or {}))

    def of_step(make, dtype):
        parts = phases(torch, make, "cpu", getattr(torch, dtype), foreach=True)
        found = {}
        for _ in range(2):
            for phase, run in parts.items():
                with Recorder() as recorder:
                    run()
                found[phase] = dict(sorted(recorder.found.items()))
        return found

    steps = {m: {d: of_step(make, d) for d in DTYPES} for m, make in MODELS.items()}
    return {"version": torch.__version__, "steps": steps}


def bound(step: dict) -> dict[str, int]:
    """PyTorch's launches by phase, at least."""
    return {
        phase: sum(least(name) * count for name, count in operations.items())
        for phase, operations in step.items()
    }


def ours(make, dtype: str) -> dict[str, collections.Counter]:
    """What the third step launches, by phase, as (operation, kernel)."""
    import flambeau as torch
    from flambeau.profiler import profile

    parts, found = phases(torch, make, "cuda", getattr(torch, dtype)), {}
    for _ in range(3):
        for phase, run in parts.items():
            with profile() as profiled:
                run()
            found[phase] = collections.Counter(
                (event.name, kernel.name) for event in profiled.events() for kernel in event.kernels
            )
    return found


def page(theirs: dict) -> str:
    lines = [
        "# Launches of a training step\n",
        "Forward, backward, clipping and AdamW, counted over the stand-in for CUDA; PyTorch "
        f"{theirs['version']} by the bound of `launches.py`, which is below what it launches.\n",
        "| | dtype | phase | flambeau | PyTorch, at least | ratio |",
        "|---|---|---|---:|---:|---:|",
    ]
    groups = []
    for model, make in MODELS.items():
        for dtype in DTYPES:
            mine, other = ours(make, dtype), bound(theirs["steps"][model][dtype])
            rows = {phase: (found.total(), other[phase]) for phase, found in mine.items()}
            rows["step"] = tuple(sum(column) for column in zip(*rows.values(), strict=True))
            for phase, (a, b) in rows.items():
                if a or b:
                    ratio = f"{a / b:.2f}" if b else "-"
                    lines.append(f"| {model} | {dtype} | {phase} | {a} | {b} | {ratio} |")
            largest = sum(mine.values(), collections.Counter())
            named = [f"{n} {k} of {o}" for (o, k), n in largest.most_common(5)]
            groups.append(f"- {model}, {dtype}: {', '.join(named)}")
    return "\n".join([*lines, "\nThe five largest groups of ours:\n", *groups]) + "\n"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--record", action="store_true")
    p.add_argument("--write", action="store_true")
    args = p.parse_args()
    if args.record:
        RECORDED.write_text(json.dumps(recorded(), indent=1) + "\n")
        return
    text = page(json.loads(RECORDED.read_text()))
    PAGE.write_text(text) if args.write else print(text)


if __name__ == "__main__":
    main()
