"""Every optimizer with every option alone and every two together, every schedule with each of its
options: what both PyTorch (make.py) and the tests compute. Values that are refused are among them:
then the result is the error."""

import itertools
import math

# Values of options, whichever optimizer has them; the first one goes into pairs.
# "tensor" is a tensor with one number as a learning rate.
VALUES = {
    "lr": [0.25, "tensor", "two", 0, -1.0],
    "betas": [(0.5, 0.7), (1.0, 0.5), (0.5, -0.1)],
    "eps": [1e-3, -1.0],
    "weight_decay": [0.1, -1.0],
    "amsgrad": [True],
    "maximize": [True],
    "foreach": [True, False],
    "fused": [True, False],
    "momentum": [0.9, -0.5],
    "dampening": [0.5],
    "nesterov": [True],
    "alpha": [0.5, -1.0],
    "centered": [True],
    "rho": [0.5, -1.0, 1.5],
    "lr_decay": [0.1, -1.0],
    "initial_accumulator_value": [0.3, -1.0],
    "lambd": [1e-2],
    "t0": [2],
    "etas": [(0.4, 1.5), (1.5, 0.5)],
    "step_sizes": [(1e-3, 1.0)],
    "momentum_decay": [1e-2, -1.0],
    "decoupled_weight_decay": [True],
    "beta2_decay": [-0.5, 0.5],
    "d": [2.0, 0.1],
    "ns_steps": [2, 200],
    "ns_coefficients": [(3.0, -4.0, 2.0)],
    "adjust_lr_fn": ["match_rms_adamw", "original", "other"],
    "max_iter": [3],
    "max_eval": [2],
    "tolerance_grad": [1e-1],
    "tolerance_change": [1e-1],
    "history_size": [2],
    "line_search_fn": ["strong_wolfe", "other"],
}
_ADAM = "lr betas eps weight_decay maximize foreach"
OPTIONS = {
    "ASGD": "lr lambd alpha t0 weight_decay foreach maximize",
    "Adadelta": "lr rho eps weight_decay foreach maximize",
    "Adafactor": "lr beta2_decay d weight_decay foreach maximize",
    "Adagrad": "lr lr_decay weight_decay initial_accumulator_value eps foreach maximize fused",
    "Adam": f"{_ADAM} amsgrad fused decoupled_weight_decay",
    "AdamW": f"{_ADAM} amsgrad fused",
    "Adamax": _ADAM,
    "LBFGS": "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn",
    "Muon": "lr weight_decay momentum nesterov ns_coefficients ns_steps adjust_lr_fn",
    "NAdam": f"{_ADAM} momentum_decay decoupled_weight_decay",
    "RAdam": f"{_ADAM} decoupled_weight_decay",
    "RMSprop": "lr alpha eps weight_decay momentum centered foreach maximize",
    "Rprop": "lr etas step_sizes foreach maximize",
    "SGD": "lr momentum dampening weight_decay nesterov maximize foreach fused",
}
CYCLE, ONE = {"base_lr": 0.1, "max_lr": 1.0}, {"max_lr": 1.0}
SCHEDULES = {
    "StepLR": [{"step_size": 3}, {"step_size": 2, "gamma": 0.5}],
    "MultiStepLR": [{"milestones": [2, 2, 5]}, {"milestones": [5, 2], "gamma": 0.3}],
    "ConstantLR": [{}, {"factor": 0.1, "total_iters": 3}, {"factor": 2.0}],
    "LinearLR": [
        *({}, {"start_factor": 0.1, "end_factor": 0.5, "total_iters": 4}),
        *({"start_factor": 0.0}, {"end_factor": 1.5}),
    ],
    "ExponentialLR": [{"gamma": 0.9}, {"gamma": 1.1}],
    "PolynomialLR": [{}, {"total_iters": 4, "power": 2.0}],
    "CosineAnnealingLR": [{"T_max": 4}, {"T_max": 4, "eta_min": 0.01}],
    "CosineAnnealingWarmRestarts": [
        *({"T_0": 3}, {"T_0": 2, "T_mult": 2, "eta_min": 0.1}),
        *({"T_0": 0}, {"T_0": 1.5}, {"T_0": 2, "T_mult": 0}),
    ],
    "CyclicLR": [
        {**CYCLE, **more}
        for more in (
            *({}, {"step_size_up": 3, "step_size_down": 2, "mode": "triangular2"}),
            *({"step_size_up": 3, "mode": "exp_range", "gamma": 0.9}, {"mode": "other"}),
            *({"step_size_up": 3, "cycle_momentum": False}, {"base_lr": [0.1]}, {"max_lr": [1.0]}),
            {"base_lr": [0.1, 0.2], "step_size_up": 2, "base_momentum": 0.5, "max_momentum": 0.7},
        )
    ],
    "OneCycleLR": [
        {**ONE, **more}
        for more in (
            *({"total_steps": 9}, {"epochs": 3, "steps_per_epoch": 3, "max_lr": [1.0, 2.0]}),
            *({"total_steps": 9, "pct_start": 0.5, "anneal_strategy": "linear"}, {}),
            *({"total_steps": 9, "three_phase": True}, {"total_steps": 0}, {"total_steps": 2.5}),
            {"total_steps": 9, "div_factor": 5.0, "final_div_factor": 10.0},
            *({"epochs": 0, "steps_per_epoch": 2}, {"epochs": 2, "steps_per_epoch": -2}),
            *({"total_steps": 9, "pct_start": 1.5}, {"total_steps": 9, "anneal_strategy": "other"}),
            *({"total_steps": 9, "max_lr": [1.0]}, {"total_steps": 5}),
            {"total_steps": 9, "cycle_momentum": False},
        )
    ],
    "ReduceLROnPlateau": [
        *({}, {"mode": "max", "patience": 1}, {"factor": 0.5, "patience": 0}, {"factor": 1.0}),
        *({"patience": 1, "threshold": 0.1, "threshold_mode": "abs"}, {"min_lr": [0.1]}),
        *({"patience": 0, "cooldown": 2}, {"patience": 0, "min_lr": [0.05, 0.2]}),
        *({"patience": 0, "eps": 0.1}, {"mode": "other"}, {"threshold_mode": "other"}),
    ],
    "SWALR": [
        *({"swa_lr": 0.05}, {"swa_lr": [0.05, 0.1], "anneal_epochs": 3}, {"swa_lr": [0.1]}),
        *({"swa_lr": 0.05, "anneal_strategy": "linear", "anneal_epochs": 3},),
        *({"swa_lr": 0.05, "anneal_strategy": "other"}, {"swa_lr": 0.05, "anneal_epochs": -1}),
    ],
}
METRICS = [3.0, 2.0, 2.0, 2.05, 1.9, 1.9, 5.0, 5.0, 5.0]

# name: (optimizer or schedule, options)
CASES = {}
for _kind, _names in OPTIONS.items():
    _names = _names.split()
    CASES[_kind] = (_kind, {})
    for _name in _names:
        for _value in VALUES[_name]:
            CASES[f"{_kind} {_name}={_value}"] = (_kind, {_name: _value})
    for _a, _b in itertools.combinations(_names, 2):
        CASES[f"{_kind} {_a}, {_b}"] = (_kind, {n: VALUES[n][0] for n in (_a, _b)})
for _kind, _rows in SCHEDULES.items():
    for _i, _options in enumerate(_rows):
        for _of in "SGD", "Adam":
            CASES[f"{_kind} {_i} of {_of}"] = (_kind, {"of": _of, **_options})


def results(torch, name, device="cpu"):
    kind, options = CASES[name]
    try:
        return (scheduled if kind in SCHEDULES else stepped)(torch, kind, options, device)
    except Exception as problem:
        return {"error": [k.__name__ for k in type(problem).__mro__], "text": str(problem)}


def stepped(torch, kind, options, device):
    """Parameters and state after four steps downhill."""
    like = {"dtype": torch.float64, "device": device}
    starts = [[[0.5, -1.25], [3.0, 0.75]], *([] if kind == "Muon" else [[0.4]])]
    params = [torch.nn.Parameter(torch.tensor(start, **like)) for start in starts]
    weight = torch.tensor([[1.0, 3.0], [0.2, 5.0]], **like)
    special = {"tensor": torch.tensor(0.1, **like), "two": torch.tensor([0.1, 0.2], **like)}
    options = {k: special.get(v, v) if k == "lr" else v for k, v in options.items()}
    optimizer = getattr(torch.optim, kind)(params, **options)

    def closure():
        optimizer.zero_grad()
        loss = ((params[0] - 1) ** 2 * weight).sum()
        for p in params[1:]:
            loss = loss + (0.1 * (p - params[0].sum()) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(closure)
    ended = {"params": [p.tolist() for p in params]}
    if len(options) > 1:
        return ended
    saved = optimizer.state_dict()
    return {
        **ended,
        "state": {
            str(i): {
                k: list(v.shape) if isinstance(v, torch.Tensor) else None for k, v in s.items()
            }
            for i, s in saved["state"].items()
        },
        "group": sorted(saved["param_groups"][0]),
    }


def scheduled(torch, kind, options, device):
    """Rates and the first momentum over some steps, and the names in the state dict."""
    options = dict(options)
    of = options.pop("of")
    a, b = (torch.nn.Parameter(torch.ones(1, device=device)) for _ in range(2))
    momentum = {"momentum": 0.9} if of == "SGD" else {}
    groups = [{"params": [a]}, {"params": [b], "lr": 0.3}]
    optimizer = getattr(torch.optim, of)(groups, lr=0.7, **momentum)
    space = torch.optim.swa_utils if kind == "SWALR" else torch.optim.lr_scheduler
    schedule = getattr(space, kind)(optimizer, **options)
    rows = []
    for metric in METRICS:
        optimizer.step()
        schedule.step(*([metric] if kind == "ReduceLROnPlateau" else []))
        first = optimizer.param_groups[0]
        rates = [float(group["lr"]) for group in optimizer.param_groups]
        rows.append([*rates, float(first["momentum"] if momentum else first["betas"][0])])
    return {"rates": rows, "state": sorted(schedule.state_dict()), "last": schedule.get_last_lr()}


def near(got, want):
    """Equal but for rounding, of cells in f32 too; lists and dictionaries by their parts."""
    if isinstance(want, dict):
        return set(got) == set(want) and all(near(got[k], want[k]) for k in want)
    if isinstance(want, list):
        return len(got) == len(want) and all(map(near, got, want))
    if isinstance(want, float):
        return math.isclose(got, want, rel_tol=1e-6, abs_tol=1e-9)
    return got == want
