"""Recurrent layers and cells. Parameters are named, ordered and drawn as in torch; the work is done
by the library's functions over whole sequences."""

import math
import numbers

from ..._deprecated import warn
from ..._gen import api
from ..._gen import ops as _ops
from ..._torch import Tensor, zeros
from .. import init
from ..parameter import room
from .module import Module, unusual
from .packed_sequence import PackedSequence


class _Recurrent(Module):
    def reset_parameters(self):
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)


class RNNBase(_Recurrent):
    """What RNN, LSTM and GRU share: parameters, initial states, packed input."""

    _gates = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False,
                 dropout=0.0, bidirectional=False, proj_size=0, device=None,
                 dtype=None):  # fmt: skip
        super().__init__()
        _check_kinds(int, input_size=input_size, hidden_size=hidden_size)
        _check_kinds(bool, bias=bias, batch_first=batch_first)
        _check(mode, input_size, hidden_size, num_layers, dropout, proj_size)
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, proj_size
        self._all_weights = []
        gates, state = self._gates[mode] * hidden_size, proj_size or hidden_size
        directions = 2 if bidirectional else 1
        for layer in range(num_layers):
            features = input_size if layer == 0 else state * directions
            for side in ("", "_reverse")[:directions]:
                shapes = {
                    f"weight_ih_l{layer}{side}": (gates, features),
                    f"weight_hh_l{layer}{side}": (gates, state),
                }
                if bias:
                    shapes[f"bias_ih_l{layer}{side}"] = shapes[f"bias_hh_l{layer}{side}"] = (gates,)
                if proj_size:
                    shapes[f"weight_hr_l{layer}{side}"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, name, room(shape, device=device, dtype=dtype))
                self._all_weights.append(list(shapes))
        self.reset_parameters()

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        given = self.__dict__.get("_given_weights")
        return given or [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights):  # programs that compute weights set them, too
        self._given_weights = list(weights)

    def _apply(self, fn, recurse=True):
        self.__dict__.pop("_given_weights", None)
        return super()._apply(fn, recurse)

    @property
    def all_weights(self):
        """The parameters, one list per layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self):
        """Has no effect: the library needs no flat copy of the weights."""

    def _zeros(self, input, size, n):
        states = self.num_layers * (2 if self.bidirectional else 1)
        return zeros((states, n, size), dtype=input.dtype, device=input.device)

    def _check_input(self, input, packed):
        if not packed and input.dim() not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.shape[-1]}"
            )

    def _check_state(self, state, batched, n, size, name="hidden"):
        wanted = 3 if batched else 2
        if state.dim() != wanted:
            raise RuntimeError(
                f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx should also be "
                f"{wanted}-D but got {state.dim()}-D tensor"
            )
        states = self.num_layers * (2 if self.bidirectional else 1)
        sizes = (states, n, size) if batched else (states, size)
        if tuple(state.shape) != sizes:
            raise RuntimeError(f"Expected {name} size {sizes}, got {list(state.shape)}")

    def _order(self, states, order):
        if order is None:
            return states
        if isinstance(states, tuple):
            return tuple(s.index_select(1, order) for s in states)
        return states.index_select(1, order)

    def _run(self, input, hx):
        """The outputs and last states of a tensor or packed sequence."""
        packed = isinstance(input, PackedSequence)
        data, batch_sizes = (input.data, input.batch_sizes) if packed else (input, None)
        weights = self._flat_weights
        self._check_input(data, packed)
        _check_dtype(data, weights[0].dtype)
        batched = packed or data.dim() == 3
        if packed:
            n = int(batch_sizes[0])
        else:
            n = data.shape[0 if self.batch_first else 1] if batched else 1
        if hx is None:
            hx = self._initial(data, n)
            if not batched:
                hx = tuple(s[:, 0] for s in hx) if isinstance(hx, tuple) else hx[:, 0]
        else:
            self._check_states(hx, batched, n)
            if packed:
                hx = self._order(hx, input.sorted_indices)
        how = (self.num_layers, self.dropout, self.training, self.bidirectional)
        first = self.batch_first and not packed
        run = getattr(_ops, f"_{self.mode.lower()}")
        output, *last = run(data, hx, weights, self.bias, *how, first, batch_sizes)
        last = tuple(last) if len(last) > 1 else last[0]
        if packed:
            output = PackedSequence(
                output, batch_sizes, input.sorted_indices, input.unsorted_indices
            )
            last = self._order(last, input.unsorted_indices)
        return output, last

    def _initial(self, data, n):
        return self._zeros(data, self.hidden_size, n)

    def _check_states(self, hx, batched, n):
        self._check_state(hx, batched, n, self.hidden_size)

    def forward(self, input, hx=None):
        return self._run(input, hx)

    def extra_repr(self):
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0}
        shown = unusual(self, **usual, bidirectional=False)
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *shown])


def _check_dtype(input, wanted):
    if input.dtype is not wanted and not api.autocast_enabled(input.device.type):
        raise ValueError(
            f"RNN input dtype ({input.dtype}) does not match weight dtype ({wanted}). Convert "
            f"input: input.to({wanted}), or convert model: model.to({input.dtype})"
        )


def _check_kinds(kind, **options):
    for name, value in options.items():
        if not isinstance(value, kind):
            raise TypeError(
                f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
            )


def _check(mode, input_size, hidden_size, num_layers, dropout, proj_size):
    if (
        not isinstance(dropout, numbers.Number)
        or not 0 <= dropout <= 1
        or isinstance(dropout, bool)
    ):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element "
            "being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}"
        )
    sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
    for name in (name for name, n in sizes.items() if n <= 0):
        raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if proj_size and mode != "LSTM":
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Elman network: `h' = nonlinearity(w_ih x + b_ih + w_hh h + b_hh)`."""

    def __init__(self, *args, nonlinearity="tanh", **kwargs):
        if len(args) > 3:
            nonlinearity = args[3]
            args = args[:3] + args[4:]
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        self_mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(self_mode, *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory; returns the outputs and the last hidden state and cell."""

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def _initial(self, data, n):
        state = self.proj_size or self.hidden_size
        return self._zeros(data, state, n), self._zeros(data, self.hidden_size, n)

    def _check_states(self, hx, batched, n):
        h, c = hx
        self._check_state(h, batched, n, self.proj_size or self.hidden_size, "hidden[0]")
        self._check_state(c, batched, n, self.hidden_size, "hidden[1]")

    def forward(self, input, hx=None):
        return self._run(input, None if hx is None else tuple(hx))


class GRU(RNNBase):
    """Gated recurrent unit; returns the outputs and the last hidden state."""

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(_Recurrent):
    """What the cells share."""

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows, kind = num_chunks * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih = room((rows, input_size), **kind)
        self.weight_hh = room((rows, hidden_size), **kind)
        for name in "bias_ih", "bias_hh":
            self.register_parameter(name, room(rows, bias, **kind))
        self.reset_parameters()

    def _step(self, function, input, hx):
        """One step of a batch; input and states without one get it for the while."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        states = (
            {f"hx[{i}]": s for i, s in enumerate(hx)} if isinstance(hx, tuple) else {"hidden": hx}
        )
        for called, state in states.items():
            if state is not None and state.dim() not in (1, 2):
                raise ValueError(
                    f"{name}: Expected {called} to be 1D or 2D, got {state.dim()}D instead"
                )
        alone = input.dim() == 1
        if alone:
            input = input.unsqueeze(0)
            hx = _each(hx, lambda s: None if s is None else s.unsqueeze(0))
        if hx is None or hx == (None, None):
            start = zeros(
                (input.shape[0], self.hidden_size), dtype=input.dtype, device=input.device
            )
            hx = start if hx is None else (start, start)
        result = function(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if isinstance(result, Tensor):
            return result.squeeze(0) if alone else result
        return tuple(r.squeeze(0) for r in result) if alone else tuple(result)

    def extra_repr(self):
        shown = unusual(self, bias=True)
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            shown.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *shown])


def _each(states, f):
    return tuple(map(f, states)) if isinstance(states, tuple) else f(states)


class RNNCell(RNNCellBase):
    """One step of an Elman network."""

    def __init__(
        self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None
    ):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        function = _ops._rnn_tanh_cell if self.nonlinearity == "tanh" else _ops._rnn_relu_cell
        return self._step(function, input, hx)


class LSTMCell(RNNCellBase):
    """One step of long short-term memory; returns the hidden state and the cell."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._step(_ops._lstm_cell, input, (None, None) if hx is None else tuple(hx))


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._step(_ops._gru_cell, input, hx)
