"""A backward pass deep inside of others goes on upon another thread, and nobody can tell: what a
thread has switched on or chosen is there too, and what was left changed there is there
afterwards."""

import collections
import contextlib
import contextvars
import decimal
import functools
import pathlib
import re
import resource
import sys
import threading

import pytest

from tests.harness import child
from tests.harness.functions import function

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEEP = 70  # passes: beyond 60 a thread of their own
WORD = contextvars.ContextVar("WORD", default=None)


def at_the_bottom(torch, depth, do):
    """Calls `do` in a pass that is that deep inside of others; the number of its thread."""

    def forward(ctx, x, left):
        ctx.left = left
        return x.clone()

    def backward(ctx, grad):
        if ctx.left:
            with torch.enable_grad():
                nested(torch.ones(1, requires_grad=True), ctx.left - 1).backward()
        else:
            threads.append(threading.get_ident())
            do()
        return grad, None

    threads, nested = [], function(forward, backward)
    nested(torch.ones(1, requires_grad=True), depth).backward()
    return threads[0]


@contextlib.contextmanager
def word(torch):
    WORD.set("said")
    yield
    WORD.set(None)


@contextlib.contextmanager
def named_range(torch):
    torch.cuda.nvtx.range_push("outer")
    yield
    torch.cuda.nvtx.range_pop()


def ranges(torch):
    before = torch.cuda.nvtx.range_push("inner")
    torch.cuda.nvtx.range_pop()
    return before


def hooks_refused(torch):
    try:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return None
    except RuntimeError as problem:
        return str(problem)


def saved(torch):
    """Whether a function around saved values is called."""
    x = torch.ones(1, requires_grad=True)
    with torch.enable_grad():
        y = x * x
    kept = y.grad_fn
    SEEN.clear()
    y.backward()
    return bool(SEEN), kept is not None


SEEN = []


def unpacked(t):
    SEEN.append(t)
    return t


def asked(torch):
    """Whether a subclass sees a function."""

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return "asked"

    return torch.add(torch.ones(1).as_subclass(Own), 1) == "asked"


def worker(torch):
    from flambeau.utils.data import _workers

    return _workers.entered(_workers.WorkerInfo(3, 4, 5, None))


def mutates(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.enable_grad():
        y = x.sin()
        z = y.exp()
        loss = z.sum()
    with torch.no_grad():
        z.mul_(2)
    try:
        loss.backward()
    except RuntimeError:
        return False
    return True


# What is switched on, and what shows it.
STATES = {
    "autocast": (
        lambda torch: torch.autocast("cpu", dtype=torch.float16),
        lambda torch: (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")),
    ),
    "autocast of devices": (
        lambda torch: torch.autocast("cuda", dtype=torch.bfloat16),
        lambda torch: (torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")),
    ),
    "autocast's cache": (
        lambda torch: torch.autocast("cpu", cache_enabled=False),
        lambda torch: torch.is_autocast_cache_enabled(),
    ),
    "functions around saved values": (
        lambda torch: torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpacked),
        saved,
    ),
    "no functions around saved values": (
        lambda torch: torch.autograd.graph.disable_saved_tensors_hooks("not here"),
        hooks_refused,
    ),
    "copies of saved values": (
        lambda torch: torch.autograd.graph.allow_mutation_on_saved_tensors(),
        mutates,
    ),
    "no __torch_function__": (lambda torch: torch._C.DisableTorchFunctionSubclass(), asked),
    "multithreading": (
        lambda torch: torch.autograd.set_multithreading_enabled(False),
        lambda torch: torch.autograd.is_multithreading_enabled(),
    ),
    "initialisers": (
        lambda torch: sys.modules["flambeau.nn.init"].skipped(),
        lambda torch: torch.nn.init.ones_(torch.zeros(1)).item(),
    ),
    "a worker": (
        worker,
        lambda torch: getattr(torch.utils.data.get_worker_info(), "id", None),
    ),
    "ranges": (named_range, ranges),
    "context variables": (word, lambda torch: WORD.get()),
    "decimal numbers": (
        lambda torch: decimal.localcontext(decimal.Context(prec=5)),
        lambda torch: decimal.getcontext().prec,
    ),
}
ON_DEVICES = {
    "the current device": (
        lambda torch: torch.cuda.device(1),
        lambda torch: torch.cuda.current_device(),
    ),
    "the current stream": (
        lambda torch: torch.cuda.stream(STREAM.setdefault("it", torch.cuda.Stream())),
        lambda torch: torch.cuda.current_stream() == STREAM.get("it"),
    ),
}
STREAM = {}


@pytest.mark.parametrize("name", [*STATES, *ON_DEVICES])
def test_a_state_reaches_the_bottom(torch, name):
    if name in ON_DEVICES and torch.cuda.device_count() < 2:
        pytest.skip("one device, or none: the suite on simulated devices runs it")
    enter, probe = {**STATES, **ON_DEVICES}[name]
    before, seen = probe(torch), []
    with enter(torch):
        switched = probe(torch)
        assert switched != before
        thread = at_the_bottom(torch, DEEP, lambda: seen.append(probe(torch)))
        assert thread != threading.get_ident()
        assert probe(torch) == switched
    assert seen == [switched]
    assert probe(torch) == before
    at_the_bottom(torch, DEEP, lambda: seen.append(probe(torch)))
    assert seen[1] == before


@pytest.mark.parametrize("name", STATES)
def test_what_is_left_at_the_bottom_is_there_afterwards(torch, name):
    """As in a pass on the caller's own thread: what is a callback's own is undone either way."""
    enter, probe = STATES[name]
    found = []
    for depth in (0, DEEP):
        left = contextlib.ExitStack()
        own = contextvars.copy_context()

        def run(depth=depth, left=left):
            at_the_bottom(torch, depth, lambda: left.enter_context(enter(torch)))
            found.append(probe(torch))
            with contextlib.suppress(RuntimeError):  # the library's scopes ended with the callback
                left.close()

        own.run(run)
    assert found[0] == found[1]


def test_sequences_of_nodes_go_on(torch):
    """The order in which a pass takes nodes is that in which they were made, wherever."""
    order = []

    def made():
        with torch.enable_grad():
            x = torch.ones(1, requires_grad=True)
            kept.append((x * 2, x * 3))

    kept = []
    made()
    at_the_bottom(torch, DEEP, made)
    made()
    total = None
    for a, b in kept:
        for t in (a, b):
            number = len(order)
            t.grad_fn.register_prehook(lambda grads, i=number: seen.append(i))
            order.append(t)
            total = t if total is None else total + t
    seen = []
    total.backward()
    assert seen == sorted(seen, reverse=True)


NO_ROOM = """
import resource, sys
import flambeau as torch
torch.set_num_threads(1)
sys.path.insert(0, sys.argv[1])
from test_thread_state import at_the_bottom
at_the_bottom(torch, 10, lambda: None)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (4 << 20),) * 2)
try:
    at_the_bottom(torch, 70, lambda: None)
except Exception as problem:
    print(type(problem).__name__, problem)
at_the_bottom(torch, 10, lambda: print("goes on"))
"""


def test_a_thread_that_cannot_be_had_is_an_error():
    usual, most = 8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]
    if most != resource.RLIM_INFINITY and most < usual:
        pytest.skip("threads' stacks are limited here, and fit into the room that is left")
    room = functools.partial(resource.setrlimit, resource.RLIMIT_STACK, (usual, most))
    done = child.python("-c", NO_ROOM, ROOT / "tests/python", timeout=120, before=room)
    assert "the system started no further thread" in done.stdout, done.stdout + done.stderr
    assert "goes on" in done.stdout and done.returncode == 0


# ---- nothing is forgotten

PASS = "of the pass that runs, which sets its own"
MEMORY = "free memory that the thread keeps for itself"
TEXT = "a text that was asked for last"
CALLBACK = "of the callback that runs, which returns before its thread ends"
# Variables of the library's threads that stay behind, and why.
STAYS = {
    **dict.fromkeys("current_pass receivers walks_open unpacked_values t_computes".split(), PASS),
    **dict.fromkeys("t_at_end t_pooled t_front".split(), MEMORY),
    **dict.fromkeys("text t_text".split(), TEXT),
    **dict.fromkeys(
        "t_lent t_error t_frame innermost_ t_open t_floor t_stack t_purpose".split(), CALLBACK
    ),
    **dict.fromkeys(("at_end", "t_armed"), "what the end of a thread does"),
    "t_ended": "whether the thread has given its memory back, or closed its scopes",
    "t_setting": "whether this is the thread that asks the program for interrupts",
    "t_interrupts": "waits of this thread that were ended",
    "t_casts": "autocast's copies, which can be made again",
    "running": "nodes that this thread frees, all before it goes on",
    "t_current": "carried as the choice of devices and streams",
    "t_log": "events, which are merged when they are read",
    "t_inside": "set while the ledger, or the log of events, works for itself",
    "t_launch": "what a trace shows for the call that this thread makes now",
    "t_guard": "what the thread may touch of a simulated device",
    "t_own": "the same",
}
# What several files declare under one name, for one thing, and how many: one more is looked at.
SHARED = {"at_end": 3, "t_at_end": 3, "t_ended": 4} | dict.fromkeys(
    "t_armed t_current t_inside t_text".split(), 2
)
DECLARED = re.compile(
    r"^\s*(?:(?:static|inline|extern)\s+)*(?:FLAM_THREAD_LOCAL|thread_local)\s+([^;]*);", re.M
)


def test_every_thread_local_is_carried_or_stays_for_a_reason():
    declared, carried = collections.Counter(), set()
    for path in (ROOT / "lib").rglob("*"):
        if path.suffix not in (".cc", ".h"):
            continue
        text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        carried |= set(re.findall(r"Carried<[^;]*return [\w:]*?(\w+)(?:\.get\(\))?;", text))
        for declaration in DECLARED.findall(text):
            plain = re.sub(r"<.*>|\{[^}]*\}|\(.*\)|\[.*?\]", "", declaration)
            for part in re.sub(r"=[^,]*", "", plain).split(","):
                declared[re.findall(r"\w+", part)[-1]] += 1
    assert {"modes", "t_label", "t_sequence", "current_node"} <= carried <= declared.keys()
    assert declared.keys() - carried ^ STAYS.keys() == set()
    assert {name: n for name, n in declared.items() if n > 1} == SHARED


def test_what_a_thread_keeps_is_alive_as_long_as_it_is_asked_for():
    """An object with a destructor is dead for what its thread ends later: OfThread's is not."""
    declared = set()
    for path in (ROOT / "lib").rglob("*"):
        if path.suffix in (".cc", ".h"):
            text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
            declared |= set(re.findall(r"(?<!FLAM_)\bthread_local\s[^;=]*?(\w+)\s*[;={]", text))
    assert declared == {"at_end", "t_at_end", "t_launch"}  # the first two run at the end


@pytest.mark.parametrize("name", STATES)
def test_another_thread_of_the_program_starts_anew(torch, name):
    enter, probe = STATES[name]
    start, found = probe(torch), []
    with enter(torch):
        thread = threading.Thread(target=lambda: found.append(probe(torch)))
        thread.start()
        thread.join()
    assert found == [start]


def test_every_state_of_python_threads_is_carried():
    """No module keeps a `threading.local` of its own."""
    package = ROOT / "bindings" / "python" / "flambeau"
    found = [
        path.name
        for path in package.rglob("*.py")
        if "threading.local(" in path.read_text(encoding="utf-8")
    ]
    assert found == ["dataloader.py"]  # what a thread reads ahead for itself
