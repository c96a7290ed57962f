"""Working calls of functions whose operands must fit each other better than chance makes them: what
is not named here has the values of a first attempt. A derived form takes its function's. Last, the
functions that have no working call here, with the reason.
"""

from __future__ import annotations

import ctypes

import values
from values import Value


class Maker:
    """Objects and operands by short names."""

    def __init__(self, engine):
        self.engine = engine

    def f32(self, *shape: int, grad: bool = False) -> Value:
        return self.engine.tensor("FLAM_F32", shape, grad=grad)

    def f64(self, *shape: int) -> Value:
        return self.engine.tensor("FLAM_F64", shape)

    def i64(self, *shape: int) -> Value:
        return self.engine.tensor("FLAM_I64", shape)

    def on_host(self, *shape: int) -> Value:
        place = ctypes.c_int32()
        self.engine.run("flam_device_parse", b"cpu", ctypes.byref(place))
        return self.made("to", input=self.f32(*shape), device=Value("cpu", (place,)))

    def number(self, value, kind=ctypes.c_int64) -> Value:
        return values.number(kind, value)

    def real(self, value: float) -> Value:
        return values.number(ctypes.c_double, value)

    def text(self, value: str) -> Value:
        return Value(repr(value), (ctypes.c_char_p(value.encode()),), value)

    def made(self, name: str, **chosen: Value) -> Value:
        """The result of a call that must work."""
        result = self.engine.call(f"flam_{name}", **chosen)
        self.ok(name)
        return Value(f"<{name}>", (ctypes.c_void_p(result),), chosen)

    def outs(self, name: str, *outs: str, **chosen: Value) -> list[Value]:
        places = {out: ctypes.c_void_p() for out in outs}
        pointers = {out: Value(out, (ctypes.byref(p),), p) for out, p in places.items()}
        self.engine.call(f"flam_{name}", **chosen, **pointers)
        self.ok(name)
        return [Value(out, (place,), chosen) for out, place in places.items()]

    def ok(self, name: str) -> None:
        if self.engine.run("flam_error_code"):
            raise RuntimeError(f"{name}: {self.engine.run('flam_error_message').decode()}")

    def share(self, *shape: int) -> Value:
        """Between 0 and 1."""
        return self.made("sigmoid", input=self.f32(*shape))

    def ones(self, *shape: int) -> Value:
        return self.made("ones_like", input=self.i64(*shape))

    def leaf(self) -> Value:
        return self.f32(4, 4, grad=True)

    def square(self, x: Value) -> Value:
        return self.made("mul", input=x, other=x)

    def complex(self) -> Value:
        return self.made("complex", real=self.f32(4, 4), imag=self.f32(4, 4))

    def loss(self, x: Value) -> Value:
        return self.made("sum", input=self.square(x))

    def with_gradient(self) -> Value:
        x = self.leaf()
        self.engine.run("flam_backward", *self.loss(x).arguments)
        self.ok("backward")
        return x

    def node(self) -> Value:
        return self.made("tensor_grad_fn", tensor=self.square(self.leaf()))

    def hook(self) -> Value:
        slots = self.engine.record.functions["flam_tensor_register_hook"].slots
        (table,) = (s for s in slots if s.family == "struct")
        return self.made(
            "tensor_register_hook", tensor=self.leaf(), hook=self.engine.options(table)
        )

    def error(self) -> Value:
        self.engine.run("flam_neg", ctypes.c_void_p())
        return self.made("error_take")

    def profiling(self) -> None:
        """Goes on where a call before has left it running."""
        if not self.engine.run("flam_profiler_is_running"):
            self.engine.call("flam_profiler_start")

    def profile(self) -> Value:
        self.profiling()
        self.made("neg", input=self.f32(4))
        return self.made("profiler_stop")

    def sgd(self, x: Value) -> Value:
        return self.made("sgd_new", params=values.handles([x]))

    def scaler(self, *steps: str) -> dict[str, Value]:
        """After these steps of a training step."""
        x, scaler = self.leaf(), self.made("grad_scaler_new")
        scaled = self.made("grad_scaler_scale", scaler=scaler, loss=self.loss(x))
        self.engine.run("flam_backward", *scaled.arguments)
        given = {"scaler": scaler, "optimizer": self.sgd(x), "owner": self.number(1)}
        given["params"] = values.handles([x])
        for step in steps:
            taken = {s.name for s in self.engine.record.functions[f"flam_{step}"].slots}
            self.engine.call(f"flam_{step}", **{k: v for k, v in given.items() if k in taken})
            self.ok(step)
        return given

    def simulated(self) -> Value:
        code = ctypes.c_int32()
        self.engine.run("flam_device_parse", b"sim:0", ctypes.byref(code))
        return self.number(code.value, ctypes.c_int32)

    def stream(self) -> Value:
        return self.made("stream_current", device=self.simulated())

    def beside(self) -> None:
        """The current stream is a new one until the call is over."""
        scope = ctypes.c_uint64()
        place = values.pointer("scope", scope)
        stream = self.made("stream_new", device=self.simulated())
        self.engine.call("flam_stream_push", stream=stream, out_scope=place)
        self.ok("stream_push")
        self.engine.open.append(("flam_scope_pop", scope))

    def to_capture(self) -> dict[str, Value]:
        """A graph that lives until the call is over, so that no capture outlasts it."""
        self.beside()
        graph = self.made("graph_new")
        self.engine.open.append(("flam_graph_release", *graph.arguments))
        return {"graph": graph, "device": self.simulated()}

    def capturing(self) -> dict[str, Value]:
        given = self.to_capture()
        self.engine.call("flam_graph_capture_begin", **given)
        self.ok("graph_capture_begin")
        return given

    def captured(self) -> dict[str, Value]:
        self.beside()
        graph = self.made("graph_new")
        self.engine.call("flam_graph_capture_begin", graph=graph, device=self.simulated())
        self.made("zeros", size=values.array("int64_t", [4]), device=self.simulated())
        self.engine.call("flam_graph_capture_end", graph=graph)
        self.ok("graph_capture_end")
        return {"graph": graph}

    def norm(self) -> Value:
        return self.made("nn_batch_norm", spatial=self.number(1), num_features=self.number(4))

    def nested(self) -> Value:
        outer = self.made("nn_sequential")
        self.engine.call("flam_module_append", module=outer, child=self.norm())
        self.ok("module_append")
        return outer

    def state(self) -> Value:
        return self.made("module_state_dict", module=self.norm())

    def schedule(self, kind: str) -> Value:
        return self.made(f"{kind}_new", optimizer=self.sgd(self.leaf()))

    def chain(self) -> dict[str, Value]:
        """A chain, and a schedule of the same optimizer that may join it."""
        optimizer = self.sgd(self.leaf())
        first, then = (self.made("constant_lr_new", optimizer=optimizer) for _ in range(2))
        return {"scheduler": self.made("chained_lr_new", first=first), "next": then}

    def cells(self, gates: int) -> dict[str, Value]:
        return {
            "input": self.f32(2, 4),
            "w_ih": self.f32(4 * gates, 4),
            "w_hh": self.f32(4 * gates, 4),
        }

    def sequence(self, gates: int) -> dict[str, Value]:
        weights = [self.f32(4 * gates, 4) for _ in range(2)] + [self.f32(4 * gates)] * 2
        return {"input": self.f32(3, 2, 4), "params": values.handles(weights)}

    def factored(self) -> list[Value]:
        return self.outs("linalg_lu_factor", "out_LU", "out_pivots", A=self.f32(4, 4))

    def rule(self, name: str) -> dict[str, Value]:
        """A rule of an optimizer with all its values 0: it keeps the least state there is."""
        number = self.engine.record.constants[f"FLAM_RULE_{name}"]
        count = self.engine.run("flam_rule_value_count", number)
        return {
            "rule": self.number(number, ctypes.c_int32),
            "values": values.array("double", [0.0] * count),
        }


# What makes an object of a kind that no constructor gives without more.
HANDLES = {
    "flam_node": Maker.node,
    "flam_hook": Maker.hook,
    "flam_error": Maker.error,
    "flam_profile": Maker.profile,
}


def pending(m: Maker) -> dict[str, Value]:
    m.engine.run("flam_neg", ctypes.c_void_p())
    return {}


def profiling(m: Maker) -> dict[str, Value]:
    m.profiling()
    return {}


def recording(m: Maker) -> dict[str, Value]:
    m.engine.call("flam_memory_record_history", max_entries=m.number(100))
    m.f32(4)
    return {"path": m.text("timeline.html")}


def projections(m: Maker) -> dict[str, Value]:
    operands = {name: m.f32(2, 2, 4) for name in ("query", "key", "value")}
    weights = {"in_proj_weight": m.f32(12, 4), "proj_weight": m.f32(4, 4)}
    return operands | weights | {"num_heads": m.number(2)}


def packed_sequences(m: Maker) -> dict[str, Value]:
    """Two sequences of a row each: places 0, 1 and 2."""
    operands = {name: m.f32(2, 2, 4) for name in ("query", "key", "value")}
    places = m.i64(3)
    return operands | {"cu_seq_q": places, "cu_seq_k": places}


def labels(m: Maker) -> dict[str, Value]:
    return {
        "log_probs": m.made("log_softmax", input=m.f32(4, 2, 5), dim=m.number(2)),
        "targets": m.ones(2, 2),
        "input_lengths": m.ones(2),
        "target_lengths": m.ones(2),
    }


def packed_factors(m: Maker) -> dict[str, Value]:
    lu, pivots = m.factored()
    return {"LU": lu, "pivots": pivots, "B": m.f32(4, 4)}


def unpacked(m: Maker) -> dict[str, Value]:
    lu, pivots = m.factored()
    return {"LU_data": lu, "LU_pivots": pivots}


def rows(m: Maker) -> dict[str, Value]:
    return {"input": m.f32(4, 4), "dim": m.number(0), "index": m.i64(4)}


def side(m: Maker) -> dict[str, Value]:
    return {"input": m.f32(4, 3), "other": m.f32(4, 3)}


def restored(m: Maker) -> dict[str, Value]:
    given = m.scaler("grad_scaler_unscale", "grad_scaler_step")
    return given | {"state": m.made("grad_scaler_state_dict", scaler=given["scaler"])}


def rescheduled(m: Maker) -> dict[str, Value]:
    scheduler = m.schedule("constant_lr")
    return {"scheduler": scheduler, "state": m.made("scheduler_state_dict", scheduler=scheduler)}


def cycle(m: Maker) -> dict[str, Value]:
    rates = {"base_lr": m.real(0.1), "max_lr": m.real(1), "total_steps": m.number(10)}
    optimizer = {"optimizer": m.sgd(m.leaf())}
    return rates | optimizer | {"cycle_momentum": m.number(0, ctypes.c_int32)}


def timed(m: Maker) -> dict[str, Value]:
    device = {"device": m.simulated(), "timing": m.number(1, ctypes.c_int32)}
    events = {"start": m.made("event_new", **device), "end": m.made("event_new", **device)}
    for event in events.values():
        m.engine.call("flam_event_record", event=event, stream=m.stream())
        m.engine.call("flam_event_synchronize", event=event)
    return events


def on_a_stream(m: Maker) -> dict[str, Value]:
    device = {"device": m.simulated()}
    size = {"size": values.array("int64_t", [4])}
    return {"tensor": m.made("zeros", **size, **device), "stream": m.stream()}


def scatter(m: Maker) -> Value:
    return m.number(m.engine.record.constants["FLAM_SCATTER_PROD"], ctypes.c_int32)


CALLS = {
    "addbmm": lambda m: {n: m.f32(2, 4, 4) for n in ("batch1", "batch2")} | {"input": m.f32(4, 4)},
    "addmv": lambda m: {"input": m.f32(4), "mat": m.f32(4, 4), "vec": m.f32(4)},
    "addr": lambda m: {"input": m.f32(4, 4), "vec1": m.f32(4), "vec2": m.f32(4)},
    "affine_grid": lambda m: {
        "theta": m.f32(1, 2, 3),
        "size": values.array("int64_t", [1, 1, 4, 4]),
    },
    "complex": lambda m: {n: m.f32(4, 4) for n in ("real", "imag")} | {"out": m.complex()},
    "polar": lambda m: {n: m.f32(4, 4) for n in ("abs", "angle")} | {"out": m.complex()},
    "imag": lambda m: {"input": m.complex()},
    "view_as_real": lambda m: {"input": m.complex()},
    "view_as_complex": lambda m: {"input": m.f32(4, 2)},
    "autograd_backward": lambda m: {"tensors": values.handles([m.loss(m.leaf())])},
    "batch_norm": lambda m: {"input": m.f32(4, 4), "training": m.number(1, ctypes.c_int32)},
    "batch_norm_tracked": lambda m: {"input": m.f32(4, 4), "num_batches_tracked": m.i64()},
    "bernoulli": lambda m: {"input": m.share(4)},
    "binary_cross_entropy": lambda m: {"input": m.share(4), "target": m.share(4)},
    "cosine_embedding_loss": lambda m: {
        "input1": m.f32(4, 4),
        "input2": m.f32(4, 4),
        "target": m.f32(4),
    },
    "cross": side,
    "ctc_loss": labels,
    "cyclic_lr_new": cycle,
    "embedding_bag": lambda m: {"input": m.i64(2, 2), "weight": m.f32(4, 4)},
    "device_property": lambda m: {"device": m.simulated(), "key": m.text("warp_size")},
    "error_take": pending,
    "event_elapsed": timed,
    "float_power": lambda m: {"input": m.f64(4), "exponent": m.f64(4), "out": m.f64(4)},
    "grad_scaler_begin_step": Maker.scaler,
    "grad_scaler_cell": Maker.scaler,
    "grad_scaler_found_inf": lambda m: m.scaler("grad_scaler_unscale_params"),
    "grad_scaler_load_state_dict": restored,
    "grad_scaler_owner_skipped": lambda m: m.scaler(
        "grad_scaler_unscale_params", "grad_scaler_begin_step"
    ),
    "grad_scaler_skipped": lambda m: m.scaler("grad_scaler_step"),
    "grad_scaler_step": Maker.scaler,
    "grad_scaler_unscale": Maker.scaler,
    "grad_scaler_unscale_params": Maker.scaler,
    "grad_scaler_update": lambda m: m.scaler("grad_scaler_step"),
    "graph_capture_begin": Maker.to_capture,
    "graph_capture_end": Maker.capturing,
    "graph_pool": Maker.captured,
    "graph_replay": Maker.captured,
    "grid_sample": lambda m: {"input": m.f32(1, 1, 4, 4), "grid": m.f32(1, 2, 2, 2)},
    "gru": lambda m: m.sequence(3) | {"hx": m.f32(1, 2, 4)},
    "gru_cell": lambda m: m.cells(3) | {"hx": m.f32(2, 4)},
    "index_copy": lambda m: rows(m) | {"source": m.f32(4, 4)},
    "index_fill": lambda m: rows(m) | {"value": m.f32()},
    "index_reduce": lambda m: rows(m) | {"source": m.f32(4, 4), "reduce": scatter(m)},
    "interpolate": lambda m: {
        "input": m.f32(1, 1, 4, 4),
        "size": values.array("int64_t", [8, 8]),
    },
    "linalg_cross": side,
    "linalg_eigh": lambda m: {"A": m.f32(4, 4), "UPLO": m.text("L")},
    "linalg_eigvalsh": lambda m: {"A": m.f32(4, 4), "UPLO": m.text("L")},
    "linalg_lu_solve": packed_factors,
    "linalg_norm_by_name": lambda m: {"A": m.f32(4, 4), "ord": m.text("fro")},
    "linalg_qr": lambda m: {"A": m.f32(4, 4), "mode": m.text("reduced")},
    "lstm": lambda m: m.sequence(4),
    "lstm_cell": lambda m: m.cells(4) | {"hx": values.handles([m.f32(2, 4)] * 2)},
    "lu_unpack": unpacked,
    "memory_set_allocator_settings": lambda m: {"settings": m.text("backend:native")},
    "memory_stat": lambda m: {"key": m.text("num_ooms")},
    "memory_timeline": recording,
    "module_buffer": lambda m: {"module": m.norm(), "path": m.text("running_mean")},
    "module_child": lambda m: {"module": m.nested(), "path": m.text("0")},
    "module_parameter": lambda m: {"module": m.norm(), "path": m.text("weight")},
    "monitor_process_list": lambda m: {"device": m.simulated()},
    "monitor_processes": lambda m: {"device": m.simulated()},
    "monitor_read": lambda m: {"device": m.simulated(), "key": m.text("memory_used")},
    "multihead_attention": projections,
    "multihead_attention_weights": projections,
    "nanquantile": lambda m: {"input": m.f32(4, 4), "q": m.share(2)},
    "node_next": lambda m: {"node": m.node(), "index": m.number(0)},
    "node_variable": lambda m: {"node": m.made("node_next", node=m.node(), index=m.number(0))},
    "one_cycle_lr_new": cycle,
    "optimizer_option": lambda m: {"optimizer": m.sgd(m.leaf()), "name": m.text("lr")},
    "optimizer_set_option": lambda m: {"optimizer": m.sgd(m.leaf()), "name": m.text("lr")},
    "ormqr": lambda m: {"input": m.f32(4, 4), "tau": m.f32(4), "other": m.f32(4, 4)},
    "profile_export_trace": lambda m: {"profile": m.profile(), "path": m.text("trace.json")},
    "profiler_stop": profiling,
    "quantile": lambda m: {"input": m.f32(4, 4), "q": m.share(2)},
    "rnn_relu": lambda m: m.sequence(1) | {"hx": m.f32(1, 2, 4)},
    "rnn_tanh": lambda m: m.sequence(1) | {"hx": m.f32(1, 2, 4)},
    "rule_state_new": lambda m: m.rule("ADAM") | {"index": m.number(0), "param": m.f32(4, 4)},
    "rule_step": lambda m: m.rule("SGD")
    | {n: values.handles([m.f32(4)]) for n in ("params", "grads")},
    "scheduler_append": Maker.chain,
    "scheduler_load_state_dict": rescheduled,
    "scheduler_step_metric": lambda m: {"scheduler": m.schedule("reduce_lr_on_plateau")},
    "segment_reduce": lambda m: {"data": m.f32(4, 4), "lengths": m.ones(4)},
    "tensor_host_data": lambda m: {"tensor": m.on_host(4)},
    "tensor_pin_memory": lambda m: {"tensor": m.on_host(4)},
    "state_get": lambda m: {"state": m.state(), "name": m.text("weight")},
    "state_tensor": lambda m: {"state": m.state(), "index": m.number(0)},
    "varlen_attn": packed_sequences,
    "varlen_attn_lse": packed_sequences,
    "tensor_base": lambda m: {"tensor": m.made("unsqueeze", input=m.f32(4), dim=m.number(0))},
    "tensor_grad": lambda m: {"tensor": m.with_gradient()},
    "tensor_grad_fn": lambda m: {"tensor": m.square(m.leaf())},
    "tensor_record_stream": on_a_stream,
    "tensor_register_hook": lambda m: {"tensor": m.leaf()},
    "tensor_register_post_accumulate_grad_hook": lambda m: {"tensor": m.leaf()},
    "tensor_retain_grad": lambda m: {"tensor": m.square(m.leaf())},
}

WITHOUT = {
    "flam_frame_pop": "the innermost scope is the frame that each call here runs in",
    "flam_scope_pop": "the innermost scope is the frame that each call here runs in",
}

# Whether a plain call works depends on the device: of groups of processes, what waits for other
# ranks or takes what they have made; of tuning, what asks a GPU's library. tests/capi/store_test.c,
# ddp_test.c and tuning_test.c call them.
BY_DEVICE = ("flam_ddp_", "flam_group_", "flam_store_", "flam_work_", "flam_tuning_")


def arguments(engine, f) -> dict[str, Value]:
    """What a working call of this function needs, by name of parameter or option."""
    maker = Maker(engine)
    recipe = CALLS.get((f.base or f.name).removeprefix("flam_"))
    return recipe(maker) if recipe else {}
