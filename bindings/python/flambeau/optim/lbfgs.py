"""L-BFGS, with or without the search that holds the strong Wolfe conditions; the library does it,
calling the closure back. Source: Liu and Nocedal, 1989, Math. Programming 45.

State is global and kept, as in PyTorch, under the first parameter; it goes to the library before
a step where a program has replaced it, and comes back after each. Parameters that lie over ranks
are whole on each of them while it steps, as its vectors are."""

from .._callbacks import guarded, table, value_of
from .._gen import api
from .._tensor import Tensor
from .._torch import float64, tensor
from ..autograd import enable_grad, no_grad
from ._rule import arguments
from ._whole import Whole
from .optimizer import Optimizer, check_lr

_COUNTS, _NUMBERS = ("func_evals", "n_iter"), ("t", "H_diag", "prev_loss")
_VECTORS, _LISTS = ("d", "prev_flat_grad"), ("old_dirs", "old_stps", "ro")


class LBFGS(Optimizer):
    """Steps along the estimate of a Newton direction; `step` needs a closure."""

    _cell_names = ()

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7,
                 tolerance_change=1e-9, history_size=100, line_search_fn=None, *,
                 maximize=False):  # fmt: skip
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        options = arguments(locals())
        super().__init__(options.pop("params"), options)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @no_grad()
    def step(self, closure):
        """One step of up to `max_iter` iterations; returns the closure's first result."""
        if len(self.param_groups) != 1:
            raise AssertionError(
                f"Expected exactly one param_group, but got {len(self.param_groups)}"
            )
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        library, whole = self._library(group) if group["params"] else (None, Whole(()))
        run = _Closure(closure, whole)
        if library is None:
            run.loss()
            return run.first
        api.optimizer_step_closure(library, table("flam_closure", run, call=_call))
        whole.give()
        self._pull(library, group["params"][0])
        return run.first

    def _library(self, group):
        """The library's optimizer, holding this group's options and this state, and what stands
        for its parameters."""
        found = self.__dict__.get("_held")
        if found is None or found[1] != list(map(id, group["params"])):
            whole = Whole(group["params"])
            made = api.lbfgs_new(whole.tensors)
            self._held = found = (made, list(map(id, group["params"])), whole)
            self._seen = None
        library, _, whole = found
        whole.take()
        for name in ("lr", "max_iter", "max_eval", "tolerance_grad", "tolerance_change"):
            api.optimizer_set_option(library, name, float(group[name]))
        api.optimizer_set_option(library, "history_size", float(group["history_size"]))
        api.optimizer_set_option(library, "strong_wolfe", group["line_search_fn"] is not None)
        api.optimizer_set_option(library, "maximize", bool(group.get("maximize", False)))
        state = self.state.get(group["params"][0])
        if state is not self._seen:
            api.optimizer_load_state_dict(library, _to_library(state or {}))
        return library, whole

    def _pull(self, library, first):
        state = _from_library(api.optimizer_state_dict(library))
        self.state[first] = self._seen = state


class _Closure:
    """A program's closure; remembers what it returned first."""

    def __init__(self, closure, whole):
        self.closure, self.whole, self.first, self.called = closure, whole, None, False

    def loss(self):
        """The loss as a number, at the values that the library has come to."""
        self.whole.give()
        with enable_grad():
            found = self.closure()
        self.whole.take_gradients()
        if not self.called:
            self.first, self.called = found, True
        return self.whole.loss(found)


@guarded("flam_py_closure_call")
def _call(user, out_loss):
    out_loss[0] = value_of(user).loss()


def _to_library(state):
    """A state of ours or PyTorch's, by the library's names."""
    made = api.state_new()

    def put(name, value):
        if not isinstance(value, Tensor):
            value = tensor(float(value), dtype=float64, device="cpu")
        api.state_set(made, "0." + name, value)

    if state.get("d") is None:  # nothing but counts: as good as new
        return made
    for name in (*_COUNTS, *_NUMBERS, *_VECTORS):
        if state.get(name) is not None:
            put(name, state[name])
    for name in _LISTS:
        for i, value in enumerate(state.get(name) or ()):
            put(f"{name}.{i}", value)
    return made


def _from_library(state):
    found = {name: 0 for name in _COUNTS}
    lists = {name: [] for name in _LISTS}
    for i in range(api.state_size(state)):
        name = api.state_name(state, i)
        if not name.startswith("0."):
            continue
        name, value = name[2:], api.state_tensor(state, i)
        if name in _COUNTS:
            found[name] = int(value.item())
        elif name in _NUMBERS:
            found[name] = value.item()
        elif name in _VECTORS:
            found[name] = value
        else:
            kind = name.partition(".")[0]
            lists[kind].append(value.item() if kind == "ro" else value)
    if "d" in found:
        found.update(lists)
    return found
