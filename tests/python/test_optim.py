"""Optimizers beside PyTorch's: parameters after some and after twice as many steps, state dicts in
its format, both from stored numbers (tests/golden/optimizers.json: torch.optim 2.15 in float64)."""

import copy
import inspect
import json
import pathlib
import pickle
import warnings

import flambeau as torch
import pytest

from tests.golden import stepping

GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "optimizers.json").read_text())
NAMES = [f"{row['name']}{i}" for i, row in enumerate(GOLDEN)]
ELEMENTWISE = [row for row in GOLDEN if row["name"] != "LBFGS"]


def tensors(found):
    """Tensors from the stored form."""
    if isinstance(found, dict) and set(found) == {"dtype", "value"}:
        return torch.tensor(found["value"], dtype=getattr(torch, found["dtype"]))
    if isinstance(found, dict):
        return {int(k) if k.isdigit() else k: tensors(v) for k, v in found.items()}
    return [tensors(v) for v in found] if isinstance(found, list) else found


STEPPING = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "stepping.json").read_text())


@pytest.mark.parametrize("name", stepping.CASES)
def test_every_option_does_what_torchs_does(name, device):
    """Trajectories, state, groups, rates; what is refused has torch's type of error."""
    want, got = STEPPING[name], stepping.results(torch, name, device)
    if "error" in want:
        assert want["error"][0] in got["error"]
        return
    if name.startswith("LBFGS") and "state" in want:
        # Room for a loop, which the library keeps elsewhere; numbers that torch keeps as tensors.
        left_out = dict.fromkeys(("al", "H_diag", "t"))
        want["state"]["0"] = {**want["state"]["0"], **left_out}
        got["state"]["0"] = {**got["state"]["0"], **left_out}
    assert stepping.near(got, want)


def test_every_optimizer_and_option_is_stepped():
    for name, options in stepping.OPTIONS.items():
        given = set(inspect.signature(getattr(torch.optim, name).__init__).parameters)
        assert given - {"self", "params", "capturable", "differentiable"} >= set(options.split())
    kinds = {n for n in torch.optim.__all__ if isinstance(getattr(torch.optim, n), type)}
    assert kinds - {"Optimizer", "SparseAdam"} == set(stepping.OPTIONS)


class Problem:
    """Two parameters, and a loss that couples them."""

    def __init__(self, row, device="cpu", **options):
        f64 = torch.float64
        start = [[[0.5, -1.25], [3.0, 0.75]], [0.4]]
        self.params = [torch.nn.Parameter(torch.tensor(s, dtype=f64, device=device)) for s in start]
        self.target = torch.tensor([[1.0, 2.0], [-0.5, 0.25]], dtype=f64, device=device)
        self.weight = torch.tensor([[1.0, 3.0], [0.2, 5.0]], dtype=f64, device=device)
        kind = getattr(torch.optim, row["name"])
        self.optimizer = kind(self.params, **{**row["args"], **options})

    def closure(self):
        self.optimizer.zero_grad()
        a, b = self.params
        loss = ((a - self.target) ** 2 * self.weight).sum() + (0.1 * (b - a.sum()) ** 2).sum()
        loss.backward()
        return loss

    def run(self, steps):
        for _ in range(steps):
            self.optimizer.step(self.closure)
        return [p.tolist() for p in self.params]


def near(got, want, tolerance=1e-13):
    if isinstance(want, list):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            near(g, w, tolerance)
    else:
        assert got == pytest.approx(want, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("row", GOLDEN, ids=NAMES)
def test_parameters_are_torchs(row, device):
    problem = Problem(row, device)
    near(problem.run(row["steps"]), row["middle"])
    near(problem.run(row["steps"]), row["end"])


@pytest.mark.parametrize("row", GOLDEN, ids=NAMES)
def test_torchs_state_dict_loads(row, device):
    problem = Problem(row, device)
    with torch.no_grad():
        for p, value in zip(problem.params, row["middle"]):
            p.copy_(torch.tensor(value, dtype=torch.float64))
    problem.optimizer.load_state_dict(tensors(row["state"]))
    near(problem.run(row["steps"]), row["end"])


def same_form(got, want, name):
    """The same keys and kinds, and near values; lists of numbers may be numbers or tensors."""
    if isinstance(want, dict) and "dtype" not in want:
        assert {str(k) for k in got} == set(want) - {"al"}, name
        for k in got:
            same_form(got[k], want[str(k)], f"{name}.{k}")
    elif isinstance(want, dict):
        value = got.tolist() if isinstance(got, torch.Tensor) else got
        near(value, want["value"], 1e-6 if want["dtype"] == "float32" else 1e-12)
    elif isinstance(want, list) and name.startswith("state."):
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            same_form(g, w, f"{name}.{i}")
    elif isinstance(want, float):
        near(float(got), want, 1e-12)
    else:
        assert (list(got) if isinstance(got, tuple) else got) == want, name


@pytest.mark.parametrize("row", GOLDEN, ids=NAMES)
def test_state_dicts_have_torchs_form(row):
    problem = Problem(row)
    problem.run(row["steps"])
    got = problem.optimizer.state_dict()
    same_form(got["state"], row["state"]["state"], "state")
    groups = row["state"]["param_groups"]
    assert [list(g) for g in got["param_groups"]] == [list(g) for g in groups]
    for g, w in zip(got["param_groups"], groups):
        same_form(g, w, "group")


@pytest.mark.parametrize("row", GOLDEN, ids=NAMES)
@pytest.mark.parametrize("how", ["deepcopy", "pickle", "state_dict"])
def test_a_copy_goes_on_alike(row, how):
    problem, other = Problem(row), Problem(row)
    problem.run(5)
    if how == "state_dict":
        saved = problem.optimizer.state_dict()
        with torch.no_grad():
            for p, q in zip(other.params, problem.params):
                p.copy_(q)
        other.optimizer.load_state_dict(saved)
    else:
        clone = copy.deepcopy if how == "deepcopy" else lambda x: pickle.loads(pickle.dumps(x))
        other.optimizer = clone(problem.optimizer)
        other.params = other.optimizer.param_groups[0]["params"]
    assert problem.run(3) == other.run(3)


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row["name"])
def test_layout_makes_no_difference(row):
    def run(transposed):
        values = torch.arange(6, dtype=torch.float64).reshape(2, 3) / 7
        start = values.t() if transposed else values.t().contiguous()
        p = torch.nn.Parameter(start)
        optimizer = getattr(torch.optim, row["name"])([p], **row["args"])
        for _ in range(3):
            optimizer.zero_grad()
            (p**3).sum().backward()
            p.grad = p.grad.t().contiguous().t()
            optimizer.step()
        return p.tolist()

    assert run(True) == run(False)


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row["name"])
def test_half_types_and_float32_follow_float64(row, device):
    def run(dtype):
        p = torch.nn.Parameter(torch.tensor([0.5, -1.0, 2.0], dtype=dtype, device=device))
        optimizer = getattr(torch.optim, row["name"])([p], **row["args"])
        for k in range(4):
            p.grad = torch.tensor([0.5, -0.25, 1.0], dtype=dtype, device=device) * (1 - k / 2)
            optimizer.step()
        assert p.dtype == dtype
        return p.double().tolist()

    want = run(torch.float64)
    near(run(torch.float32), want, 1e-5)
    near(run(torch.bfloat16), want, 5e-2)


def test_writing_parameters_counts_as_an_in_place_write():
    p = torch.nn.Parameter(torch.ones(2))
    loss = (p * p).sum()
    p.grad = torch.ones(2)
    torch.optim.RMSprop([p]).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation|in.place"):
        loss.backward()


BAD = [
    ("RMSprop", dict(lr=-1e-2), "Invalid learning rate: -0.01"),
    ("RMSprop", dict(momentum=-1.0), "Invalid momentum value: -1.0"),
    ("Adagrad", dict(lr_decay=-0.5), "Invalid lr_decay value: -0.5"),
    ("Adadelta", dict(rho=1.1), "Invalid rho value: 1.1"),
    ("Adamax", dict(betas=(0.0, 1.0)), "Invalid beta parameter at index 1: 1.0"),
    ("NAdam", dict(momentum_decay=-0.2), "Invalid momentum_decay value: -0.2"),
    ("RAdam", dict(weight_decay=-1), "Invalid weight_decay value: -1"),
    ("ASGD", dict(weight_decay=-0.5), "Invalid weight_decay value: -0.5"),
    ("Rprop", dict(etas=(1.0, 0.5)), "Invalid eta values: 1.0, 0.5"),
    ("SGD", dict(nesterov=True), "Nesterov momentum requires a momentum and zero dampening"),
    ("Adam", dict(betas=(1.0, 0.0)), "Invalid beta parameter at index 0: 1.0"),
    ("LBFGS", dict(lr=-1), "Invalid learning rate: -1"),
]


@pytest.mark.parametrize("name, options, text", BAD)
def test_options_out_of_range(name, options, text):
    with pytest.raises(ValueError) as problem:
        getattr(torch.optim, name)([torch.nn.Parameter(torch.ones(1))], **options)
    assert str(problem.value) == text


def test_the_ways_of_stepping_exclude_each_other():
    p = [torch.nn.Parameter(torch.ones(1))]
    for kind in torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad:
        kind(p, fused=True), kind(p, foreach=True)
        with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
            kind(p, fused=True, foreach=True)
    torch.optim.Adam(p, lr=torch.tensor(0.1), capturable=True)
    with pytest.raises(ValueError, match="lr as a Tensor is not supported"):
        torch.optim.Adam(p, lr=torch.tensor(0.1), foreach=True)


def test_groups():
    a, b = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.RMSprop([{"params": a, "lr": 0.5}], alpha=0.5)
    optimizer.add_param_group({"params": [b]})
    assert [g["lr"] for g in optimizer.param_groups] == [0.5, 1e-2]
    assert optimizer.param_groups[1]["alpha"] == 0.5
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [a]})
    with pytest.raises(ValueError, match="empty parameter list"):
        torch.optim.Adam([])
    with pytest.raises(TypeError, match="organized in ordered collections"):
        optimizer.add_param_group({"params": {a}})
    with pytest.raises(TypeError, match="can only optimize Tensors.*int"):
        torch.optim.SGD([3])
    with pytest.raises(TypeError, match="iterable of Tensors or dicts, but got torch.FloatTensor"):
        torch.optim.SGD(torch.ones(1))
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        torch.optim.SGD([a * 2])
    with pytest.warns(UserWarning, match="duplicate parameters"):
        torch.optim.SGD([a, a])
    named = torch.optim.SGD([("a", a), ("b", b)])
    assert named.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    with pytest.raises(ValueError, match="Some param names are missing"):
        torch.optim.SGD([("a", a), b])


def test_state_of_another_shape_of_groups():
    a, b = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    one, two = torch.optim.SGD([a]), torch.optim.SGD([a, b])
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        one.load_state_dict(two.state_dict())
    with pytest.raises(ValueError, match="different number of parameter groups"):
        one.load_state_dict({"state": {}, "param_groups": []})


def test_hooks():
    p = torch.nn.Parameter(torch.ones(1))
    p.grad = torch.ones(1)
    optimizer, seen = torch.optim.SGD([p], lr=0.1), []
    handles = [
        optimizer.register_step_pre_hook(lambda o, a, k: seen.append("pre")),
        optimizer.register_step_post_hook(lambda o, a, k: seen.append("post")),
        torch.optim.optimizer.register_optimizer_step_pre_hook(
            lambda o, a, k: seen.append("all pre")
        ),
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("save")),
        optimizer.register_state_dict_post_hook(lambda o, s: {**s, "extra": 1}),
        optimizer.register_load_state_dict_pre_hook(lambda o, s: s.pop("extra") and None),
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded")),
    ]
    optimizer.step()
    saved = optimizer.state_dict()
    assert saved["extra"] == 1
    optimizer.load_state_dict(saved)
    assert seen == ["all pre", "pre", "post", "save", "loaded"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(seen) == 5


def test_zero_grad():
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([p])
    p.grad = torch.ones(2)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert p.grad is None


def test_a_closures_own_exception_comes_back():
    p = torch.nn.Parameter(torch.ones(1))

    class Mine(Exception):
        pass

    def closure():
        raise Mine("here")

    with pytest.raises(Mine, match="here"):
        torch.optim.LBFGS([p]).step(closure)


def test_the_loss_of_a_closure_is_a_number_without_a_warning():
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.LBFGS([p])

    def closure():
        optimizer.zero_grad()
        loss = (p**2).sum()
        loss.backward()
        return loss

    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert optimizer.step(closure).item() == 2
    finally:
        torch.set_warn_always(False)


def test_lbfgs_finds_the_minimum_of_rosenbrocks_valley():
    p = torch.nn.Parameter(torch.tensor([-1.2, 1.0], dtype=torch.float64))
    optimizer = torch.optim.LBFGS([p], max_iter=100, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = 100 * (p[1] - p[0] ** 2) ** 2 + (1 - p[0]) ** 2
        loss.backward()
        return loss

    assert closure().item() > 24
    optimizer.step(closure)
    near(p.tolist(), [1.0, 1.0], 1e-4)
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        torch.optim.LBFGS([{"params": p}, {"params": torch.nn.Parameter(torch.ones(1))}])


def test_averaged_model():
    model = torch.nn.Linear(2, 1)
    average = torch.optim.swa_utils.AveragedModel(model)
    ema = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)
    )
    for value in 1.0, 2.0, 6.0:
        torch.nn.init.constant_(model.weight, value)
        average.update_parameters(model), ema.update_parameters(model)
    assert average.module.weight.tolist() == [[3.0, 3.0]]
    assert ema.module.weight.tolist() == [[0.75 * 1.25 + 0.25 * 6] * 2]
    assert int(average.n_averaged) == 3
    assert average(torch.zeros(1, 2)).shape == (1, 1)
    assert set(average.state_dict()) == {"n_averaged", "module.weight", "module.bias"}


def test_update_bn():
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(1))
    model.eval()
    batches = [torch.tensor([[1.0], [3.0]]), (torch.tensor([[5.0], [9.0]]), None)]
    torch.optim.swa_utils.update_bn(batches, model)
    assert model[0].running_mean.tolist() == [4.5]
    assert model[0].momentum == 0.1 and not model.training


def test_adagrads_sums_begin_with_the_constructors_value():
    """A group's own is kept, and not used, as in PyTorch; for groups that come later too."""
    p, q, late = (torch.nn.Parameter(torch.ones(2)) for _ in range(3))
    groups = [{"params": [p], "initial_accumulator_value": 3.0}, {"params": [q]}]
    optimizer = torch.optim.Adagrad(groups, initial_accumulator_value=1.0)
    assert [optimizer.state[x]["sum"].tolist() for x in (p, q)] == [[1.0, 1.0]] * 2
    optimizer.add_param_group({"params": [late], "initial_accumulator_value": 3.0})
    late.grad = torch.full((2,), 2.0)
    optimizer.step()
    assert optimizer.state[late]["sum"].tolist() == [5.0, 5.0]
    assert optimizer.param_groups[0]["initial_accumulator_value"] == 3.0
