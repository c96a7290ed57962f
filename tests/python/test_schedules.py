"""Learning-rate schedules beside PyTorch's: 200 rates equal to the last bit, for the Python classes
and for the library's own (tests/golden/schedules.json: torch.optim 2.15)."""

import itertools
import json
import math
import pathlib
import warnings

import flambeau as torch
import pytest

from tests.harness.gen import api

GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "schedules.json").read_text())
L = torch.optim.lr_scheduler


def make_optimizer(**options):
    a, b = (torch.nn.Parameter(torch.ones(1, dtype=torch.float64)) for _ in range(2))
    return torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.3}], lr=0.7, **options)


def build(name, args, optimizer):
    if name == "LambdaLR":
        return L.LambdaLR(optimizer, lambda e: 0.95**e + 0.01)
    if name == "MultiplicativeLR":
        return L.MultiplicativeLR(optimizer, lambda e: 0.99 + 0.001 * (e % 7))
    if name == "SequentialLR":
        parts = [
            L.LinearLR(optimizer, 0.1, total_iters=20),
            L.CosineAnnealingLR(optimizer, 80),
            L.ExponentialLR(optimizer, 0.97),
        ]
        return L.SequentialLR(optimizer, parts, [20, 100])
    if name == "ChainedScheduler":
        parts = [L.ConstantLR(optimizer, 0.1, total_iters=20), L.ExponentialLR(optimizer, 0.97)]
        return L.ChainedScheduler(parts)
    if name == "SWALR":
        return torch.optim.swa_utils.SWALR(optimizer, 0.05, anneal_epochs=33)
    return getattr(L, name.partition(":")[0])(optimizer, **args)


def metric(k):
    return math.sin(k * 0.31) + k * 0.001


def advance(name, optimizer, schedule, value=1.0):
    """One step; a value that stays is a metric that never gets better."""
    optimizer.step()
    schedule.step(value) if name == "ReduceLROnPlateau" else schedule.step()


@pytest.mark.parametrize("name", GOLDEN)
def test_rates_are_torchs_to_the_last_bit(name):
    want = GOLDEN[name]
    optimizer = make_optimizer(**({"momentum": 0.9} if want["momentum"] else {}))
    if ":" in name or name in ("CyclicLR", "OneCycleLR"):
        optimizer = make_optimizer(momentum=0.9)
    schedule = build(name, want["args"], optimizer)
    rates, momenta = [], []
    for k in range(len(want["rates"])):
        rates.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        if k + 1 < len(want["rates"]):
            advance(name, optimizer, schedule, metric(k))
    assert rates == want["rates"]
    if want["momentum"]:
        assert momenta == want["momentum"]
    assert [g["lr"] for g in optimizer.param_groups] == want["last"]
    assert schedule.get_last_lr() == want["last"]
    if want["state"]:
        assert set(schedule.state_dict()) >= set(want["state"])


@pytest.mark.parametrize("name", GOLDEN)
def test_a_state_dict_resumes(name):
    want = GOLDEN[name]
    optimizers = [make_optimizer(momentum=0.9) for _ in range(2)]
    first, second = (build(name, want["args"], o) for o in optimizers)
    for k in range(50):
        advance(name, optimizers[0], first, metric(k))
    second.load_state_dict(first.state_dict())
    optimizers[1].load_state_dict(optimizers[0].state_dict())
    for k in range(50, 100):
        for optimizer, schedule in zip(optimizers, (first, second)):
            advance(name, optimizer, schedule, metric(k))
        a, b = ([(g["lr"], g["momentum"]) for g in o.param_groups] for o in optimizers)
        assert a == b


# ---- the library's own schedules


def library_schedule(name, args, optimizer):
    """The library's schedule for a golden row; None where its options differ by group."""
    if name.startswith("CyclicLR"):
        exponential = name == "CyclicLR:exp"
        steps = (13, 0) if exponential else (args["step_size_up"], args["step_size_down"])
        more = (args["gamma"], False) if exponential else ()
        given = args["base_lr"], args["max_lr"], *map(float, steps), args["mode"], *more
        return api.cyclic_lr_new(optimizer, *given)
    if name == "OneCycleLR":
        return api.one_cycle_lr_new(
            optimizer, args["max_lr"], args["total_steps"], three_phase=True
        )
    if name == "SequentialLR":
        parts = [
            api.linear_lr_new(optimizer, 0.1, 1.0, 20),
            api.cosine_annealing_lr_new(optimizer, 80),
            api.exponential_lr_new(optimizer, 0.97),
        ]
        made = api.sequential_lr_new(parts[0])
        api.scheduler_append(made, parts[1], 20)
        api.scheduler_append(made, parts[2], 100)
        return made
    if name == "ChainedScheduler":
        made = api.chained_lr_new(api.constant_lr_new(optimizer, 0.1, 20))
        api.scheduler_append(made, api.exponential_lr_new(optimizer, 0.97))
        return made
    makers = {
        "StepLR": api.step_lr_new,
        "MultiStepLR": api.multi_step_lr_new,
        "ConstantLR": api.constant_lr_new,
        "LinearLR": api.linear_lr_new,
        "ExponentialLR": api.exponential_lr_new,
        "PolynomialLR": api.polynomial_lr_new,
        "CosineAnnealingLR": api.cosine_annealing_lr_new,
        "CosineAnnealingWarmRestarts": api.cosine_annealing_warm_restarts_new,
        "ReduceLROnPlateau": api.reduce_lr_on_plateau_new,
    }
    return makers[name](optimizer, **{k.lower(): v for k, v in args.items()})


IN_PYTHON = {"LambdaLR", "MultiplicativeLR", "OneCycleLR:linear", "SWALR"}  # functions; per group


@pytest.mark.parametrize("name", [n for n in GOLDEN if n not in IN_PYTHON])
def test_the_librarys_rates_are_torchs_to_the_last_bit(name):
    want = GOLDEN[name]
    params = [torch.nn.Parameter(torch.ones(1)) for _ in range(2)]
    optimizer = api.sgd_new(params[:1], 0.7, 0.9)
    api.optimizer_add_group(optimizer, params[1:], 0.3)
    schedule = library_schedule(name, want["args"], optimizer)
    rates, momenta = [], []
    for k in range(len(want["rates"])):
        rates.append(api.optimizer_lr(optimizer))
        momenta.append(api.optimizer_option(optimizer, "momentum"))
        if k == 77:  # a state that goes away and comes back changes nothing
            saved = api.scheduler_state_dict(schedule)
            api.scheduler_load_state_dict(schedule, saved)
        if k + 1 == len(want["rates"]):
            break
        if name == "ReduceLROnPlateau":
            api.scheduler_step_metric(schedule, metric(k))
        else:
            api.scheduler_step(schedule)
    assert rates == want["rates"]
    if want["momentum"]:
        assert momenta == want["momentum"]
    assert [api.optimizer_lr(optimizer, g) for g in range(2)] == want["last"]
    assert [api.scheduler_last_lr(schedule, g) for g in range(2)] == want["last"]
    assert math.isnan(api.scheduler_last_lr(schedule, 2))


def test_what_the_library_refuses():
    optimizer = api.rmsprop_new([torch.nn.Parameter(torch.ones(1))])
    other = api.adam_new([torch.nn.Parameter(torch.ones(1))])
    without_momentum = api.adagrad_new([torch.nn.Parameter(torch.ones(1))])
    plateau, half = api.reduce_lr_on_plateau_new(optimizer), api.exponential_lr_new(optimizer, 0.5)
    chained, second = api.chained_lr_new(half), api.exponential_lr_new(other, 0.5)
    restarts = api.cosine_annealing_warm_restarts_new(optimizer, 4)
    saved = api.scheduler_state_dict(half)
    bad = [
        (lambda: api.step_lr_new(optimizer, 0), "step_size must be at least 1"),
        (lambda: api.linear_lr_new(optimizer, 0.0), "greater than 0 and at most 1"),
        (lambda: api.one_cycle_lr_new(optimizer, 1.0, 0), "positive integer total_steps"),
        (lambda: api.reduce_lr_on_plateau_new(optimizer, factor=1.0), "Factor should be < 1.0"),
        (lambda: api.cyclic_lr_new(without_momentum, 0.1, 1), "must support momentum or beta1"),
        (lambda: api.scheduler_step(plateau), "steps by a metric"),
        (lambda: api.scheduler_append(chained, second), "belong to one optimizer"),
        (lambda: api.scheduler_load_state_dict(restarts, saved), 'no "T_cur"'),
        (lambda: api.optimizer_set_option(optimizer, "rho", 1.0), 'RMSprop has no option "rho"'),
        (lambda: api.optimizer_set_option(optimizer, "alpha", -1.0), "Invalid alpha value: -1"),
    ]
    for call, text in bad:
        with pytest.raises((RuntimeError, ValueError), match=text):
            call()


# ---- attributes, warnings, errors


def test_a_step_before_the_optimizers_warns():
    schedule = L.StepLR(make_optimizer(), 1)
    with pytest.warns(UserWarning, match="before `optimizer.step\\(\\)`"):
        schedule.step()


def test_a_step_that_is_not_the_one_of_before_warns():
    """The schedule cannot see whether it is called; one that was there before it is the program's
    own."""
    for early in True, False:
        optimizer = make_optimizer()
        own = lambda step=optimizer.step: step()
        if early:
            optimizer.step = own
        schedule = L.StepLR(optimizer, 1)
        optimizer.step = own
        optimizer.step()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            schedule.step(), schedule.step()
        assert len(told) == (not early)
        assert early or "`optimizer.step()` has been overridden" in str(told[0].message)
        assert not any("step" in key for key in schedule.state_dict() if "optimizer" in key)


def test_get_lr_outside_a_step_warns():
    schedule = L.ExponentialLR(make_optimizer(), 0.5)
    with pytest.warns(UserWarning, match="please use `get_last_lr\\(\\)`"):
        schedule.get_lr()


def test_steps_to_an_epoch():
    optimizer = make_optimizer()
    schedule = L.StepLR(optimizer, 3, 0.5)
    optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter"):
        schedule.step(7)
    assert schedule.get_last_lr() == [0.7 * 0.25, 0.3 * 0.25]
    restarts = L.CosineAnnealingWarmRestarts(make_optimizer(), 4)
    restarts.step(5.5)
    assert restarts.T_cur == 1.5 and restarts.last_epoch == 5


def test_the_first_schedule_fixes_the_initial_rate():
    optimizer = make_optimizer()
    L.LinearLR(optimizer, 0.5)
    assert L.ExponentialLR(optimizer, 0.9).base_lrs == [0.7, 0.3]


def test_resuming_needs_initial_lr():
    with pytest.raises(KeyError, match="initial_lr.*param_groups\\[0\\]"):
        L.ExponentialLR(make_optimizer(), 0.9, last_epoch=3)


def test_a_rate_in_a_tensor_changes_in_place():
    rate = torch.tensor(0.5)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=rate)
    schedule = L.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step()
    assert rate.item() == 0.25 and schedule.get_last_lr()[0] is not rate


def test_a_callable_objects_attributes_are_saved():
    class Warm:
        length = 4

        def __call__(self, epoch):
            return min(1.0, (epoch + 1) / self.length)

    warm = Warm()
    warm.length = 8
    saved = L.LambdaLR(make_optimizer(), warm).state_dict()
    assert saved["lr_lambdas"] == [{"length": 8}] * 2
    other = L.LambdaLR(make_optimizer(), Warm())
    other.load_state_dict(saved)
    assert other.lr_lambdas[0].length == 8 and "lr_lambdas" in saved


BAD = [
    (lambda o: L.ConstantLR(o, 1.5), ValueError, "between 0 and 1"),
    (lambda o: L.LambdaLR(o, [abs]), ValueError, "Expected 2 lr_lambdas, but got 1"),
    (lambda o: L.MultiplicativeLR(o, 3), TypeError, "should be a function, but got int"),
    (lambda o: L.CosineAnnealingWarmRestarts(o, 0), ValueError, "positive integer T_0, but got 0"),
    (lambda o: L.OneCycleLR(o, 1.0), ValueError, "either total_steps OR"),
    (lambda o: L.OneCycleLR(o, 1.0, 0), ValueError, "positive integer total_steps, but got 0"),
    (lambda o: L.OneCycleLR(o, [1.0], 9), ValueError, "max_lr must have the same length"),
    (lambda o: L.CyclicLR(o, 0.1, 1.0, mode="up"), ValueError, "mode is invalid"),
    (lambda o: L.ReduceLROnPlateau(o, "best"), ValueError, "mode best is unknown!"),
    (lambda o: L.ReduceLROnPlateau(o, min_lr=[1]), ValueError, "expected 2 min_lrs, got 1"),
    (lambda o: L.SequentialLR(o, [L.StepLR(o, 1)], [3]), ValueError, "one more than the number"),
    (
        lambda o: L.ChainedScheduler([L.ReduceLROnPlateau(o)]),
        ValueError,
        "does not support `ReduceLROnPlateau`",
    ),
    (lambda o: L.StepLR(3, 1), TypeError, "int is not an Optimizer"),
]


@pytest.mark.parametrize("call, kind, text", BAD)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call(make_optimizer())


def test_one_cycle_ends():
    optimizer = make_optimizer(momentum=0.9)
    schedule = L.OneCycleLR(optimizer, 1.0, 3)
    for _ in range(3):
        optimizer.step()
        schedule.step()
    with pytest.raises(ValueError, match="Tried to step 4 times"):
        schedule.step()


# ---- groups that come later, and values of 0

LATER = {  # the schedule, and how many steps go over all groups
    "StepLR": (lambda o: L.StepLR(o, 2, 0.5), 6),
    "MultiStepLR": (lambda o: L.MultiStepLR(o, [3, 4, 4], 0.5), 6),
    "ConstantLR": (lambda o: L.ConstantLR(o, 0.25, 4), 6),
    "LinearLR": (lambda o: L.LinearLR(o, 0.25, total_iters=4), 6),
    "ExponentialLR": (lambda o: L.ExponentialLR(o, 0.5), 6),
    "PolynomialLR": (lambda o: L.PolynomialLR(o, 8, 2.0), 6),
    "CosineAnnealingLR": (lambda o: L.CosineAnnealingLR(o, 4), 2),
    "ChainedScheduler": (
        lambda o: L.ChainedScheduler([L.StepLR(o, 2), L.ExponentialLR(o, 0.5)]),
        6,
    ),
    "SequentialLR": (
        lambda o: L.SequentialLR(o, [L.ConstantLR(o, 0.5), L.ExponentialLR(o, 0.5)], [5]),
        2,
    ),
    "ReduceLROnPlateau": (lambda o: L.ReduceLROnPlateau(o, factor=0.5, patience=0), 6),
    "LambdaLR": (lambda o: L.LambdaLR(o, lambda e: 0.5**e), 0),
    "MultiplicativeLR": (lambda o: L.MultiplicativeLR(o, lambda e: 0.5), 0),
    "CosineAnnealingWarmRestarts": (lambda o: L.CosineAnnealingWarmRestarts(o, 4), 0),
    "CyclicLR": (lambda o: L.CyclicLR(o, 0.1, 1.0, 3), 0),
    "OneCycleLR": (lambda o: L.OneCycleLR(o, 1.0, 9), 0),
    "SWALR": (lambda o: torch.optim.swa_utils.SWALR(o, 0.05), 0),
}


def test_every_schedule_meets_a_later_group():
    here = {name.partition(":")[0] for name in GOLDEN}
    assert here <= set(LATER)


@pytest.mark.parametrize("name", LATER)
def test_a_group_that_comes_later(name):
    """What scales the present rate scales that of every group; what needs the first rate has
    none."""
    make, steps = LATER[name]
    optimizer = make_optimizer(momentum=0.9)
    schedule = make(optimizer)
    for _ in range(2):
        advance(name, optimizer, schedule)
    late = torch.nn.Parameter(torch.ones(1, dtype=torch.float64))
    optimizer.add_param_group({"params": [late], "lr": 0.125})
    before = [group["lr"] for group in optimizer.param_groups]
    changed = 0
    for _ in range(steps):
        advance(name, optimizer, schedule)
        now = [group["lr"] for group in optimizer.param_groups]
        assert now[2] == pytest.approx(0.125 * now[0] / before[0], rel=1e-12)
        assert len(schedule.get_last_lr()) == 3
        changed += now[2] != 0.125
    assert changed or steps < 6
    if steps < 6:
        with pytest.raises((ValueError, KeyError)):
            advance(name, optimizer, schedule)


@pytest.mark.parametrize("name", ["StepLR", "ExponentialLR", "PolynomialLR", "CosineAnnealingLR"])
def test_closed_forms_know_no_later_group(name):
    optimizer = make_optimizer()
    schedule = LATER[name][0](optimizer)
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})
    optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter"), pytest.raises(ValueError):
        schedule.step(3)


FORMS = {
    "step": 2, "multi_step": 3, "constant": 2, "linear": 3, "exponential": 1, "polynomial": 2,
    "cosine": 2, "cyclic": 4, "anneal_cosine": 3, "anneal_linear": 3,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_formula_is_finite_or_an_error(form):
    """Every value 0, 1, 2 and -1, at every epoch."""
    finite = 0
    for values in itertools.product([0.0, 1.0, 2.0, -1.0], repeat=FORMS[form]):
        for epoch, closed, initial in itertools.product(range(5), (0, 1), (0, 1)):
            try:
                rate = api.schedule_rate(form, 0.7, 0.3, epoch, values, closed, initial)
            except ValueError as problem:
                assert "divides by 0 at this epoch" in str(problem)
            else:
                assert math.isfinite(rate), (values, epoch, closed, initial)
                finite += 1
    assert finite
    assert set(FORMS) | {"unspecified"} == {str(n) for n in api._E_flam_schedule}


ZEROS = [  # the schedule, the step that divides by 0
    (lambda o: L.StepLR(o, 0), 1),
    (lambda o: L.StepLR(o, 1, 0.0), None),
    (lambda o: L.MultiStepLR(o, [0, 1, 1], 0.0), None),
    (lambda o: L.ConstantLR(o, 0.0, 3), 3),
    (lambda o: L.ConstantLR(o, 0.0, 0), None),
    (lambda o: L.ConstantLR(o, 1.0, 1), None),
    (lambda o: L.LinearLR(o, total_iters=0), None),
    (lambda o: L.LinearLR(o, 1.0, 0.0, 1), None),
    (lambda o: L.ExponentialLR(o, 0.0), None),
    (lambda o: L.PolynomialLR(o, 0), None),
    (lambda o: L.PolynomialLR(o, 1, 0.0), None),
    (lambda o: L.PolynomialLR(o, 2, -1.0), 2),
    (lambda o: L.CosineAnnealingLR(o, 0), 1),
    (lambda o: L.CosineAnnealingLR(o, 1), None),
    (lambda o: L.CosineAnnealingWarmRestarts(o, 1), None),
    (lambda o: L.CyclicLR(o, 0.1, 1.0, 0, 1), 0),
    (lambda o: L.CyclicLR(o, 0.1, 1.0, 0, 0), 0),
    (lambda o: L.CyclicLR(o, 0.1, 1.0, 1, 0), None),
    (lambda o: L.OneCycleLR(o, 1.0, 1, pct_start=1.0), 0),
    (lambda o: torch.optim.swa_utils.SWALR(o, 0.0, 0), None),
]


@pytest.mark.parametrize("make, fails", ZEROS)
def test_values_of_0_and_1_give_rates_or_pythons_error(make, fails):
    optimizer, made = make_optimizer(momentum=0.9), []
    for step in range(6):
        if step == fails:
            with pytest.raises(ZeroDivisionError):
                advance("", optimizer, made[0]) if made else make(optimizer)
            return
        if made:
            advance("", optimizer, made[0])
        else:
            made.append(make(optimizer))
        assert all(math.isfinite(group["lr"]) for group in optimizer.param_groups)


def test_a_warm_up_of_no_epochs_has_no_closed_form():
    optimizer = make_optimizer()
    schedule = L.LinearLR(optimizer, 0.5, total_iters=0)
    assert schedule.get_last_lr() == [0.35, 0.15]  # as PyTorch leaves it
    optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter"), pytest.raises(ZeroDivisionError):
        schedule.step(3)


def test_a_library_schedule_fails_where_its_formula_does():
    optimizer = api.sgd_new([torch.nn.Parameter(torch.ones(1))], 0.5)
    schedule = api.constant_lr_new(optimizer, 0.0, 2)
    api.scheduler_step(schedule)
    with pytest.raises(ValueError, match="divides by 0 at this epoch"):
        api.scheduler_step(schedule)
    assert api.optimizer_lr(optimizer) == 0
