"""Steps that autograd records: the library's rules as operations on tensors, for optimizers with
`differentiable=True`. A step changes its parameter in place; states get new tensors.

Each formula takes a copy of the parameter, its gradient, its states and the group, and returns the
parameter's next value. Counts of steps are no variables: they are read as numbers."""

from .._torch import Tensor, full_like, maximum, ones_like


def record(name, p, grad, state, group):
    """One step of the rule `name`."""
    at = p.clone()  # what is saved for the backward pass does not change with the parameter
    if group["maximize"]:
        grad = -grad
    if group.get("decoupled_weight_decay"):
        at = at * (1 - group["lr"] * group["weight_decay"])
    elif group.get("weight_decay"):
        grad = grad + group["weight_decay"] * at
    p.copy_(_FORMULAS[name](at, grad, state, group))


def _count(state):
    state["step"] = state["step"] + 1
    return state["step"].item()


def _mixed(state, name, share, value):
    """A running mean, of which `share` stays."""
    state[name] = share * state[name] + (1 - share) * value
    return state[name]


def _moments(state, grad, betas):
    """Both running means of Adam and its kin."""
    first = _mixed(state, "exp_avg", betas[0], grad)
    return first, _mixed(state, "exp_avg_sq", betas[1], grad * grad)


def _sgd(p, grad, state, group):
    momentum = group["momentum"]
    if momentum:
        buffer = state.get("momentum_buffer")
        new = (
            grad.clone() if buffer is None else momentum * buffer + (1 - group["dampening"]) * grad
        )
        state["momentum_buffer"] = new
        grad = grad + momentum * new if group["nesterov"] else new
    return p - group["lr"] * grad


def _adam(p, grad, state, group):
    (beta1, beta2), t = group["betas"], _count(state)
    first, second = _moments(state, grad, group["betas"])
    if group["amsgrad"]:
        second = state["max_exp_avg_sq"] = maximum(state["max_exp_avg_sq"], second)
    root = (second / (1 - beta2**t)).sqrt() + group["eps"]
    return p - group["lr"] / (1 - beta1**t) * first / root


def _adamax(p, grad, state, group):
    (beta1, beta2), t = group["betas"], _count(state)
    first = _mixed(state, "exp_avg", beta1, grad)
    state["exp_inf"] = maximum(beta2 * state["exp_inf"], grad.abs() + group["eps"])
    return p - group["lr"] / (1 - beta1**t) * first / state["exp_inf"]


def _nadam(p, grad, state, group):
    (beta1, beta2), t = group["betas"], _count(state)
    first, second = _moments(state, grad, group["betas"])
    mu, next_mu = (beta1 * (1 - 0.5 * 0.96 ** (n * group["momentum_decay"])) for n in (t, t + 1))
    product = state["mu_product"] = state["mu_product"] * mu
    root = (second / (1 - beta2**t)).sqrt() + group["eps"]
    change = (1 - mu) / (1 - product) * grad + next_mu / (1 - product * next_mu) * first
    return p - group["lr"] * change / root


def _radam(p, grad, state, group):
    (beta1, beta2), t = group["betas"], _count(state)
    first, second = _moments(state, grad, group["betas"])
    change = group["lr"] / (1 - beta1**t) * first
    most = 2 / (1 - beta2) - 1
    length = most - 2 * t * beta2**t / (1 - beta2**t)
    if length > 5:
        known = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
        change = change * (known * (1 - beta2**t)) ** 0.5 / (second.sqrt() + group["eps"])
    return p - change


def _rmsprop(p, grad, state, group):
    alpha, momentum = group["alpha"], group["momentum"]
    _count(state)
    square = _mixed(state, "square_avg", alpha, grad * grad)
    if group["centered"]:
        square = square - _mixed(state, "grad_avg", alpha, grad) ** 2
    change = grad / (square.sqrt() + group["eps"])
    if momentum:
        change = state["momentum_buffer"] = momentum * state["momentum_buffer"] + change
    return p - group["lr"] * change


def _adadelta(p, grad, state, group):
    rho, eps = group["rho"], group["eps"]
    _count(state)
    square = _mixed(state, "square_avg", rho, grad * grad)
    change = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * grad
    _mixed(state, "acc_delta", rho, change * change)
    return p - group["lr"] * change


def _adagrad(p, grad, state, group):
    rate = group["lr"] / (1 + (_count(state) - 1) * group["lr_decay"])
    total = state["sum"] = state["sum"] + grad * grad
    return p - rate * grad / (total.sqrt() + group["eps"])


def _asgd(p, grad, state, group):
    lr, t = group["lr"], _count(state)
    eta, mu = (state[name].to(p.dtype) for name in ("eta", "mu"))
    p = p * (1 - group["lambd"] * eta) - eta * grad
    state["ax"] = state["ax"] + (p - state["ax"]) * mu
    state["eta"] = _cell(lr / (1 + group["lambd"] * lr * t) ** group["alpha"], state["eta"])
    state["mu"] = _cell(1 / max(1, t - group["t0"]), state["mu"])
    return p


def _cell(value, like):
    return value if isinstance(value, Tensor) else full_like(like, value)


def _rprop(p, grad, state, group):
    _count(state)
    (low, high), turn = group["etas"], (grad * state["prev"]).detach()
    factor = ones_like(turn).masked_fill(turn > 0, high).masked_fill(turn < 0, low)
    step = state["step_size"] = (state["step_size"] * factor).clamp(*group["step_sizes"])
    grad = state["prev"] = grad.masked_fill(turn < 0, 0)
    return p - grad.sign() * step


_FORMULAS = {
    "SGD": _sgd, "Adam": _adam, "AdamW": _adam, "Adamax": _adamax, "NAdam": _nadam,
    "RAdam": _radam, "RMSprop": _rmsprop, "Adadelta": _adadelta, "Adagrad": _adagrad,
    "ASGD": _asgd, "Rprop": _rprop,
}  # fmt: skip
