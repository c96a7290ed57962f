"""The library's optimizers and rules, as C and Rust have them, beside Python's classes, which step
by the same rules, and Adafactor and Muon beside their algorithms in NumPy's float64."""

import itertools
import json
import pathlib

import flambeau as torch
import numpy as np
import pytest

from tests.harness.gen import api

F64 = torch.float64
GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "optimizers.json").read_text())
MORE = [
    {"name": "Adafactor", "args": {"lr": 0.2, "weight_decay": 0.1, "d": 1.5}},
    {"name": "Adafactor", "args": {"eps": [1e-4, 1e-2], "beta2_decay": -0.5, "maximize": True}},
    {"name": "Adamax", "args": {"betas": [0.5, 0.75]}},
    {"name": "Adam", "args": {"eps": 1e-3}},
    {"name": "SGD", "args": {"momentum": 0.5, "dampening": 0.25}},
    {"name": "SGD", "args": {"lr": 0.1, "maximize": True}},
]
ROWS = [row for row in GOLDEN if row["name"] != "LBFGS"] + MORE
MUON = [
    {},
    {"nesterov": False, "adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0},
    {"adjust_lr_fn": "spectral_unclamped", "ns_coefficients": (2.0, -1.5, 0.5), "ns_steps": 7},
]
MUON_VALUES = [0.5, 0, 1e-7, 0.95, 1, 3.4445, -4.7750, 2.0315, 5, 1]
SEVERAL = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
    "ns_coefficients": ("ns_a", "ns_b", "ns_c"),
}


def as_in_c(args):
    """Options as the library names them."""
    found = {}
    for name, value in args.items():
        if isinstance(value, (tuple, list)):
            names = SEVERAL.get(name, ("eps1", "eps2"))
            found |= dict(zip(names, value, strict=True))
        else:
            found[name] = value
    return found


def parameters(device, values):
    return [torch.nn.Parameter(torch.tensor(v, dtype=F64, device=device)) for v in values]


def set_gradients(params, k):
    for i, p in enumerate(params):
        grad = np.sin(np.arange(p.numel()) * 1.7 + i + k * 0.6).reshape(p.shape)
        p.grad = torch.tensor(grad, dtype=F64, device=p.device)


START = [[0.5, -1.25, 2.0], [3.0, 0.75, -0.1]], [0.4, -2.0], [[[1.0], [2.0]], [[0.5], [-3.0]]], 1.5


def of_class(name, args, device, steps=4, values=START):
    params = parameters(device, values)
    optimizer = getattr(torch.optim, name)(params, **args)
    for k in range(steps):
        set_gradients(params, k)
        optimizer.step()
    return [p.tolist() for p in params], optimizer


@pytest.mark.parametrize("row", ROWS, ids=[f"{r['name']}{i}" for i, r in enumerate(ROWS)])
def test_cs_optimizers_go_as_pythons(row, device):
    params = parameters(device, START)
    optimizer = getattr(api, row["name"].lower() + "_new")(params, **as_in_c(row["args"]))
    for k in range(4):
        set_gradients(params, k)
        api.optimizer_step(optimizer)
        if k == 1:  # state that goes away and comes back changes nothing
            saved = api.optimizer_state_dict(optimizer)
            api.optimizer_load_state_dict(optimizer, saved)
    want, python = of_class(row["name"], row["args"], device)
    assert [p.tolist() for p in params] == want
    for name, value in as_in_c(row["args"]).items():
        assert api.optimizer_option(optimizer, name) == value
    for number, state in enumerate(python.state_dict()["state"].values()):
        for name, value in state.items():
            held = api.state_get(saved := api.optimizer_state_dict(optimizer), f"{number}.{name}")
            assert held.tolist() == value.tolist(), name


@pytest.mark.parametrize("args", MUON)
def test_cs_muon_goes_as_pythons(args, device):
    values = START[:1]
    params = parameters(device, values)
    optimizer = api.muon_new(params, **as_in_c(args))
    for k in range(4):
        set_gradients(params, k)
        api.optimizer_step(optimizer)
    assert [p.tolist() for p in params] == of_class("Muon", args, device, values=values)[0]


def test_what_the_matrix_rules_refuse_in_c():
    w = parameters("cpu", START[:2])
    with pytest.raises(ValueError, match="Muon only supports 2D parameters.*\\[2\\]"):
        api.muon_new(w)
    with pytest.raises(ValueError, match="Clipping threshold d should be >= 1 but is: 0.5"):
        api.adafactor_new(w, d=0.5)
    with pytest.raises(ValueError, match="Invalid ns_steps: 100"):
        api.muon_new(w[:1], ns_steps=100)


# ---- the table


NAMES = sorted({row["name"] for row in ROWS} | {"Muon"})


def test_the_table_names_every_rule():
    for number, name in api._E_flam_rule.items():
        assert (api.rule_name(number) or "").lower() == ("" if name == 0 else str(number))
    assert {api.rule_find(name) for name in NAMES} == set(range(1, 14))
    assert api.rule_find("adam") == api.rule_find("LBFGS") == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_tables_words_are_those_of_the_optimizers(name):
    """Its values are options of a C optimizer, its states those that Python's state dicts have."""
    rule = name.lower()
    optimizer = getattr(api, rule + "_new")(parameters("cpu", START[:1]))
    values = [api.rule_value_name(rule, i) for i in range(api.rule_value_count(rule))]
    assert values[0] == "lr" and api.rule_value_name(rule, len(values)) is None
    for value in values:
        api.optimizer_option(optimizer, value)
    states = [api.rule_state_name(rule, i) for i in range(api.rule_state_count(rule))]
    assert api.rule_state_name(rule, len(states)) is None
    options = {
        api.rule_state_value(rule, i) for i in range(len(states)) if api.rule_state_value(rule, i)
    }
    assert options <= set(values)
    both = START[: 1 if name == "Muon" else 2]
    _, python = of_class(name, dict.fromkeys(options, 0.5), "cpu", steps=1, values=both)
    kept = [set(state) for state in python.state_dict()["state"].values()]
    assert set.union(*kept) == set(states)
    for i, state in enumerate(states):
        held = next(s[state] for s in python.state.values() if state in s)
        assert api.rule_state_is_number(rule, i) == (held.dim() == 0), state


@pytest.mark.parametrize("name", NAMES)
def test_a_step_over_lists_of_the_callers_own(name, device):
    """Parameters, gradients, values and state as a C program holds them."""
    rule, given = name.lower(), START[: 1 if name == "Muon" else None]
    params = parameters(device, given)
    optimizer = getattr(api, rule + "_new")(params)
    values = [
        api.optimizer_option(optimizer, api.rule_value_name(rule, i))
        for i in range(api.rule_value_count(rule))
    ]
    states = [
        api.rule_state_new(rule, i, p, values)
        for i in range(api.rule_state_count(rule))
        for p in params
    ]
    states = [state for state in states if state is not None]
    with torch.no_grad():
        for k in range(3):
            set_gradients(params, k)
            api.rule_step(rule, params, [p.grad for p in params], values, states, k == 0)
    assert [p.tolist() for p in params] == of_class(name, {}, device, 3, given)[0]


def test_a_scaled_step_and_one_that_does_nothing(device):
    def number(value):
        return torch.tensor([value], dtype=torch.float32, device=device)

    for rule, values in ("adamax", [1, 0, 0, 1e-8, 0.5, 0.5]), ("muon", MUON_VALUES):
        (p,), (q,) = (parameters(device, START[:1]) for _ in range(2))
        set_gradients([p], 0)
        states, again = ([api.rule_state_new(rule, i, p, values) for i in range(count)]
                         for count in 2 * [api.rule_state_count(rule)])  # fmt: skip
        with torch.no_grad():
            api.rule_step(rule, [p], [p.grad * 4], values, states, found_inf=number(1.0))
            assert p.tolist() == START[0], rule
            assert all(s.abs().max() == 0 for s in states)
            api.rule_step(rule, [p], [p.grad * 4], values, states, grad_scale=number(4.0))
            api.rule_step(rule, [q], [p.grad], values, again)
        assert p.tolist() == q.tolist() != START[0], rule


def test_what_a_step_refuses():
    (p,) = parameters("cpu", START[:1])
    grad, adam = torch.ones_like(p), [1e-3, 0, 0, 1e-8, 0.9, 0.999, 0, 0]
    names = [api.rule_value_name("adam", i) for i in range(8)]
    assert names == ["lr", "weight_decay", "maximize", "eps", "beta1", "beta2",
                     "decoupled_weight_decay", "amsgrad"]  # fmt: skip
    *states, greatest = [api.rule_state_new("adam", i, p, adam) for i in range(4)]
    assert greatest is None
    amsgrad = [*adam[:7], 1]
    for call, text in (
        (lambda: api.rule_step("unspecified", [p], [grad], []), "there is no update rule 0"),
        (lambda: api.rule_step("adam", [p], [grad], adam[:3]), "Adam takes 8 values, not 3"),
        (lambda: api.rule_step("adam", [p], [grad], adam), "have 3 states, but the list has 0"),
        (lambda: api.rule_step("adam", [p], [grad], amsgrad, states), "have 4 states, .* has 3"),
        (lambda: api.rule_step("adam", [p], [], adam, states), "1 parameters but 0 gradients"),
        (
            lambda: api.rule_step("adam", [p], [grad], adam, [states[0], grad[0], states[2]]),
            'the "exp_avg" of parameter 0 has shape \\[3\\], expected \\[2, 3\\]',
        ),
        (lambda: api.rule_state_new("adam", 4, p, adam), "Adam has 4 states, and no number 4"),
        (lambda: api.rule_state_new("adam", 0, p, []), "Adam takes 8 values, not 0"),
    ):
        with pytest.raises((RuntimeError, ValueError, IndexError), match=text):
            call()
    assert p.tolist() == START[0]


def begun(rule, shape, dtype=F64):
    """A parameter, its gradient, the rule's values, and all the state that it can have."""
    p, grad = torch.full(shape, 0.5, dtype=dtype), torch.full(shape, 0.25, dtype=dtype)
    optimizer = getattr(api, rule + "_new")([torch.nn.Parameter(p.clone())])
    chosen = {"lr": 0.5, "momentum": 0.9, "centered": 1.0, "amsgrad": 1.0}
    names = [api.rule_value_name(rule, i) for i in range(api.rule_value_count(rule))]
    values = [chosen.get(name, api.optimizer_option(optimizer, name)) for name in names]
    made = {
        api.rule_state_name(rule, i): api.rule_state_new(rule, i, p, values)
        for i in range(api.rule_state_count(rule))
    }
    return p, grad, values, {name: state for name, state in made.items() if state is not None}


def wrong_ones(good):
    """The tensor in another shape of as many elements or as may be broadcast, and in another
    dtype."""
    other = torch.float32 if good.dtype == F64 else F64
    shapes = [(2,)] if good.dim() == 0 else [(1, *good.shape[1:]), (good.numel(),), (2, 2, 2)]
    for shape in shapes:
        if shape != tuple(good.shape):
            yield torch.ones(shape, dtype=good.dtype), "has shape"
    yield good.to(other), " is .*, expected f"


@pytest.mark.parametrize("name", NAMES)
def test_a_step_that_is_refused_changes_nothing(name, device):
    """Every tensor of the second of two parameters, of a wrong shape, dtype or device."""
    rule = name.lower()
    both = [begun(rule, (3, 3)) for _ in range(2)]
    values, names = both[0][2], list(both[0][3])
    held = [t for p, grad, _, states in both for t in (p, grad, *states.values())]
    before = [t.tolist() for t in held]

    def refuse(text, second=None, **cells):
        p, grad, states = second or (both[1][0], both[1][1], both[1][3])
        lists = [[both[0][3][n], states[n]] for n in names]
        with pytest.raises((RuntimeError, ValueError, TypeError), match=text):
            api.rule_step(
                *(rule, [both[0][0], p], [both[0][1], grad], values),
                *(sum(lists, []), False),
                **cells,
            )
        assert [t.tolist() for t in held] == before

    p, grad, _, states = both[1]
    for wrong, text in wrong_ones(grad):
        refuse(text.replace("has shape", '"grad" of parameter 1 has shape'), (p, wrong, states))
    for state in names:
        for wrong, text in wrong_ones(states[state]):
            refuse(f'"{state}" of parameter 1.*', (p, grad, {**states, state: wrong}))
    whole = torch.ones(3, 3, dtype=torch.int64)
    refuse("floating point", (whole, whole, states))
    for cell in "grad_scale", "found_inf":
        refuse(f'"{cell}"', **{cell: torch.ones(2)})
        refuse(f'"{cell}"', **{cell: torch.ones(1, dtype=F64)})
        if device != "cpu":
            refuse(f'"{cell}".* on cpu', **{cell: torch.ones(1, device=device)})
    if device != "cpu":
        refuse('"grad".* on cpu', (p, grad.to(device), states))
        for state in names:
            there = states[state].to(device)
            refuse(f'"{state}".* on cpu', (p, grad, {**states, state: there}))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, F64])
@pytest.mark.parametrize("name", NAMES)
def test_a_scale_of_any_form_is_divided_out_in_any_dtype(name, dtype):
    """65536 is a GradScaler's first scale, and infinite in f16."""
    rule, shapes = name.lower(), [(3, 3)] if name == "Muon" else [(3, 3), (3,), ()]
    for shape, form in itertools.product(shapes, [(), (1,), (1, 1)]):
        found = []
        for scale in None, torch.full(form, 65536.0):
            p, grad, values, states = begun(rule, shape, dtype)
            given = grad if scale is None else (grad.float() * 65536).to(dtype)
            api.rule_step(rule, [p], [given], values, list(states.values()), grad_scale=scale)
            found.append([p, *states.values()])
        assert found[0][0].dtype == dtype and bool((found[0][0] != 0.5).all()), shape
        assert [t.tolist() for t in found[0]] == [t.tolist() for t in found[1]], (shape, form)


# ---- Adafactor and Muon as their sources have them


def adafactor(start, options, steps, gradients):
    """Shazeer and Stern's algorithm 4 with torch.optim.Adafactor's reading of its options."""
    lr, decay, d = options.get("lr", 1e-2), options.get("beta2_decay", -0.8), options.get("d", 1.0)
    least, size = options.get("eps", (np.finfo(np.float64).eps, 1e-3))
    p, rows, columns, whole = start.copy(), 0.0, 0.0, 0.0
    for k in range(steps):
        grad = gradients(k) * (-1 if options.get("maximize") else 1)
        share = (k + 1.0) ** decay
        alpha = max(size, np.sqrt(np.mean(p * p))) * min(lr, 1 / np.sqrt(k + 1.0))
        p = p * (1 - lr * options.get("weight_decay", 0))
        if p.ndim > 1:
            rows = rows + share * (np.mean(grad**2, -1, keepdims=True) - rows)
            columns = columns + share * (np.mean(grad**2, -2, keepdims=True) - columns)
            variance = rows @ columns / np.maximum(np.mean(rows, -2, keepdims=True), least)
        else:
            whole = whole + share * (grad**2 - whole)
            variance = whole
        update = grad / np.sqrt(np.maximum(variance, least * least))
        p = p - alpha * update / max(1.0, np.sqrt(np.mean(update * update)) / d)
    return p


@pytest.mark.parametrize("options", [{}, *(row["args"] for row in MORE[:2])])
@pytest.mark.parametrize("which", range(4))
def test_adafactor_is_its_algorithm(options, which, device):
    start = np.array(START[which])

    def gradients(k):
        return np.sin(np.arange(start.size) * 1.7 + k * 0.6).reshape(start.shape)

    (got,), _ = of_class("Adafactor", options, device, 6, [start.tolist()])
    np.testing.assert_allclose(got, adafactor(start, options, 6, gradients), rtol=1e-12)


def muon(start, options, steps, gradients):
    """Jordan's algorithm, in float64 where the optimizer iterates in bfloat16."""
    lr, momentum = options.get("lr", 1e-3), 0.95
    a, b, c = options.get("ns_coefficients", (3.4445, -4.7750, 2.0315))
    p, buffer = start.copy(), np.zeros_like(start)
    rows, columns = p.shape
    rate = (
        lr
        * {
            "original": np.sqrt(max(1, rows / columns)),
            "match_rms_adamw": 0.2 * np.sqrt(max(rows, columns)),
            "spectral_unclamped": np.sqrt(rows / columns),
        }[options.get("adjust_lr_fn", "original")]
    )
    for k in range(steps):
        grad = gradients(k)
        buffer = momentum * buffer + (1 - momentum) * grad
        x = grad + momentum * (buffer - grad) if options.get("nesterov", True) else buffer
        x = x / max(np.linalg.norm(x), 1e-7)
        for _ in range(options.get("ns_steps", 5)):
            gram = x @ x.T
            x = a * x + (b * gram + c * gram @ gram) @ x
        p = p * (1 - lr * options.get("weight_decay", 0.1)) - rate * x
    return p


@pytest.mark.parametrize("options", MUON)
@pytest.mark.parametrize("shape", [(2, 3), (5, 2), (1, 4), (3, 3)])
def test_muon_is_its_algorithm(options, shape, device):
    start = np.random.default_rng(9).standard_normal(shape)

    def gradients(k):  # far from singular, so that bfloat16 finds the same directions
        return np.random.default_rng(k).uniform(-0.3, 0.3, shape) + np.eye(*shape)

    options = {"lr": 0.1, **options}
    (p,) = parameters(device, [start.tolist()])
    optimizer = torch.optim.Muon([p], **options)
    for k in range(4):
        p.grad = torch.tensor(gradients(k), dtype=F64, device=device)
        optimizer.step()
    np.testing.assert_allclose(p.tolist(), muon(start, options, 4, gradients), atol=0.1 * 4 * 3e-2)
