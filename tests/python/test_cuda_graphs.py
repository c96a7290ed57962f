"""Graphs of a GPU: a replay has the bits that the calls themselves would make, its memory is nobody
else's, and what cannot be captured says so and leaves the device usable. On the cpu there are none.
"""

import gc
import threading

import pytest

from examples.python import digits


@pytest.fixture(autouse=True)
def on_a_gpu(device):
    if device == "cpu":
        pytest.skip("the cpu has no graphs")


def trained(torch, captured, optimizer, steps=100, size=8):
    """Losses and parameters of the digits' perceptron with dropout after 3 eager steps and 100
    more, replayed or eager."""
    torch.manual_seed(5)
    model = digits.mlp()
    model.insert(3, torch.nn.Dropout(0.4))
    model.to("cuda")
    optimizer = optimizer(model.parameters())
    (images, labels), _ = digits.digits(digits.ROOT / "examples/data/digits.safetensors")
    batches, targets = (t[: (steps + 3) * size].to("cuda").split(size) for t in (images, labels))
    x, y = batches[0].clone(), targets[0].clone()

    def step():
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for i in range(3):
            optimizer.zero_grad()
            x.copy_(batches[i])
            y.copy_(targets[i])
            losses.append(step().item())
        optimizer.zero_grad()
    torch.cuda.current_stream().wait_stream(side)
    if captured:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = step()
    for i in range(3, steps + 3):
        x.copy_(batches[i])
        y.copy_(targets[i])
        if captured:
            graph.replay()
        else:
            optimizer.zero_grad()
            loss = step()
        losses.append(loss.item())
    state = {k: v.cpu() for k, v in model.state_dict().items()}
    return losses, state, torch.cuda.get_rng_state()


def test_a_replayed_training_step_has_the_bits_of_an_eager_one(torch):
    from functools import partial

    for make in (
        partial(torch.optim.SGD, lr=0.1, momentum=0.9),
        partial(torch.optim.Adam, lr=0.01, capturable=True),
    ):
        eager, replayed = (trained(torch, captured, make) for captured in (False, True))
        assert len(set(eager[0])) > 50
        assert replayed[0] == eager[0]
        assert all(torch.equal(replayed[1][k], v) for k, v in eager[1].items())
        assert torch.equal(replayed[2], eager[2])


def test_a_capture_runs_nothing_and_a_replay_reads_what_is_there(torch):
    x = torch.zeros(5, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        x.add_(1)
        y = x * 10
    assert not torch.cuda.is_current_stream_capturing()
    assert x.tolist() == [0] * 5
    for n in (1, 2, 3):
        graph.replay()
        assert x.tolist() == [n] * 5 and y.tolist() == [10 * n] * 5
    x.fill_(7)
    graph.replay()
    assert y.tolist() == [80] * 5
    graph.reset()
    with pytest.raises(RuntimeError, match="has not been captured"):
        graph.replay()
    with torch.cuda.graph(graph):
        z = x + 1
    graph.replay()
    assert z.tolist() == [9] * 5


def test_a_replay_takes_numbers_beside_half_types_as_the_calls_did(torch):
    for dtype in (torch.bfloat16, torch.float16):
        x = torch.tensor([0.1, 7.5, -300.0], device="cuda", dtype=dtype)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = (x * 0.3 + 0.1 - 1 / 3) / 3.14159
        x.copy_(x.flip(0))
        graph.replay()
        assert torch.equal(y, (x * 0.3 + 0.1 - 1 / 3) / 3.14159)
        assert (y[1].float() * 3.14159 - (2.25 + 0.1 - 1 / 3)).abs() < 2e-2


def test_memory_of_a_graph_is_nobody_elses(torch):
    x = torch.ones(1000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = ((x + 1) * 2).exp().log()  # of which all but the last is free again
    torch.cuda.empty_cache()
    others = [torch.full((1000,), float(n), device="cuda") for n in range(50)]
    graph.replay()
    torch.testing.assert_close(y.cpu(), torch.full((1000,), 4.0))
    assert all(bool((t == n).all()) for n, t in enumerate(others))


def test_memory_goes_back_when_the_graph_and_its_tensors_are_gone(torch):
    def run():
        x = torch.ones(3 << 20, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x + 1
        graph.replay()
        assert y[0].item() == 2
        held = torch.cuda.memory_reserved()
        torch.cuda.empty_cache()
        assert torch.cuda.memory_reserved() == held  # a free block of the pool stays, too
        return held

    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    assert run() > before
    gc.collect()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == before


def test_graphs_share_a_pool(torch):
    x = torch.ones(1 << 20, device="cuda")
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        a = x + 1
    held = torch.cuda.memory_reserved()
    with torch.cuda.graph(second, pool=first.pool()):
        b = a * 3
    assert torch.cuda.memory_reserved() <= held + (20 << 20)
    first.replay()
    second.replay()
    assert b[5].item() == 6
    with torch.cuda.graph(torch.cuda.CUDAGraph(), pool=torch.cuda.graph_pool_handle()):
        x + 1


@pytest.mark.parametrize("width", [8, 264])  # attention by its kernel, and by passes of products
def test_each_replay_draws_anew_as_the_calls_would(torch, width):
    def draws(captured):
        torch.manual_seed(3)
        own = torch.Generator("cuda").manual_seed(9)
        made, x = [], torch.ones(1, 1, 9, width, device="cuda", requires_grad=True)

        def run():
            y = torch.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)
            return (
                y.detach(),
                torch.autograd.grad(y, x, torch.ones_like(y))[0],
                torch.rand(4, device="cuda"),
                torch.randn(3, device="cuda", generator=own),
                torch.bernoulli(torch.full((9,), 0.5, device="cuda")),
                torch.randint(0, 100, (4,), device="cuda"),
            )

        if captured:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                tensors = run()
        for _ in range(3):
            if captured:
                graph.replay()
            else:
                tensors = run()
            made.append([t.tolist() for t in tensors])
            made.append(torch.rand(1, device="cuda").item())
        return made

    assert draws(True) == draws(False)


def test_a_capture_takes_what_a_graph_before_it_gave_back(torch):
    side, x = torch.cuda.Stream(), torch.ones(9, device="cuda")
    for _ in range(2):  # on one stream, whose blocks the second capture is handed out again
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            y = torch.nn.functional.dropout(x, 0.5)
        graph.replay()
        assert set(y.tolist()) <= {0, 2}
        del graph, y


def test_streams_fork_and_join_within_a_capture(torch):
    x = torch.ones(100, device="cuda", requires_grad=True)
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            assert torch.cuda.is_current_stream_capturing()
            a = x * 3
        b = x * 5
        main.wait_stream(side)
        (a * b).sum().backward()
    graph.replay()
    assert x.grad[7].item() == 30
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError):
        with torch.cuda.graph(graph):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                x.detach() + 1  # which nobody waits for
    works(torch)


def works(torch):
    x = torch.ones(3, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + 1
    graph.replay()
    assert y.tolist() == [2, 2, 2] and (x + 2).tolist() == [3, 3, 3]


REFUSED = {
    "a number of the device": lambda torch, x: x.sum().item(),
    "where the shape depends on values": lambda torch, x: torch.nonzero(x),
    "waiting for the device": lambda torch, x: torch.cuda.synchronize(),
    "memory of the host": lambda torch, x: torch.ones(4).to("cuda"),
    "to memory of the host": lambda torch, x: x.cpu(),
    "giving memory back": lambda torch, x: torch.cuda.empty_cache(),
    "a draw of the host": lambda torch, x: torch.randperm(4, device="cuda"),
    "another capture": lambda torch, x: torch.cuda.CUDAGraph().capture_begin(),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_captured_says_so(torch, what):
    x = torch.ones(4, device="cuda")
    with pytest.raises(RuntimeError, match="captur|graph"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            REFUSED[what](torch, x)
    works(torch)


PASSES = {
    "prod": lambda x: x.prod(),
    "prod of a dimension": lambda x: x.prod(1),
    "cumprod": lambda x: x.cumprod(1),
    "cumprod of the first": lambda x: x.cumprod(0),
}


@pytest.mark.parametrize("name", PASSES)
def test_backward_passes_do_not_look_at_their_values(torch, name):
    """What waits for a value cannot be captured: here none, one and two zeros in a row."""
    values = [[3.0, -2.0, 0.5, 4.0], [3.0, 0.0, 0.5, 4.0], [0.0, -2.0, 0.0, 4.0]]
    slopes, x = [], torch.tensor(values, device="cuda", requires_grad=True)
    for where in ("cpu", "cuda"):
        own = torch.tensor(values, device=where, requires_grad=True)
        made = PASSES[name](own)
        made.backward(torch.arange(1.0, made.numel() + 1, device=where).reshape(made.shape))
        slopes.append(own.grad.cpu())
    graph, weights = torch.cuda.CUDAGraph(), torch.arange(1.0, made.numel() + 1, device="cuda")
    with torch.cuda.graph(graph):
        (slope,) = torch.autograd.grad(PASSES[name](x), x, weights.reshape(made.shape))
    graph.replay()
    torch.testing.assert_close(slope.cpu(), slopes[0])
    torch.testing.assert_close(slopes[1], slopes[0])
    assert torch.autograd.gradcheck(
        PASSES[name], torch.tensor(values, dtype=torch.float64, requires_grad=True)
    )


def test_attention_of_sequences_says_that_it_cannot_be_captured(torch):
    varlen = pytest.importorskip("flambeau.nn.attention.varlen").varlen_attn
    q = torch.randn(6, 2, 8, device="cuda")
    at = torch.tensor([0, 2, 6], dtype=torch.int32, device="cuda")
    want, graph = varlen(q, q, q, at, at, 4, 4), torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="cannot be captured in a graph.*padded to one length"):
        with torch.cuda.graph(graph):
            varlen(q, q, q, at, at, 4, 4)
    assert torch.equal(varlen(q, q, q, at, at, 4, 4), want)


@pytest.mark.parametrize("name", ["det", "slogdet", "logdet"])
def test_backward_passes_of_determinants_do_not_look_at_their_values(torch, name):
    """The first of two matrices has no inverse where that is allowed; what a replay reads is
    new."""
    regular = [[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 1.0]]
    singular = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]
    values = [singular if name == "det" else regular, regular]
    weights = torch.tensor([2.0, -1.0], device="cuda")
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()

    def value(x):
        made = getattr(torch, name)(x)
        return made[-1] if name == "slogdet" else made

    own = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(value(own), own, torch.tensor([5.0, 7.0]).double())
    with torch.cuda.stream(side):
        x = torch.tensor(values, device="cuda", requires_grad=True)
        made = value(x)
        side.synchronize()
        with torch.cuda.graph(graph, stream=side):
            (slope,) = torch.autograd.grad(made, x, weights)
    weights.copy_(torch.tensor([5.0, 7.0]))
    graph.replay()
    torch.testing.assert_close(slope.cpu().double(), expected, rtol=1e-5, atol=1e-5)
    assert torch.autograd.gradcheck(value, own)
    assert torch.autograd.gradgradcheck(value, own)


def test_searching_by_a_sorter_waits_for_nothing(torch):
    x, values = torch.tensor([3.0, 1.0, 2.0], device="cuda"), torch.ones(2, device="cuda")
    order, graph = x.argsort(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        places = torch.searchsorted(x, values, sorter=order)
    values.copy_(torch.tensor([2.5, 0.0]))
    graph.replay()
    assert places.tolist() == [2, 0]


def test_captures_need_a_stream_of_their_own_and_an_empty_graph(torch):
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="default stream"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match="has not been captured"):
        graph.replay()
    with pytest.raises(RuntimeError, match="not being captured"):
        graph.capture_end()
    with pytest.raises(ValueError, match="'never' is none of global, thread_local, relaxed"):
        with torch.cuda.graph(graph, capture_error_mode="never"):
            pass
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        torch.ones(2, device="cuda")
    with pytest.raises(RuntimeError, match="has been captured"):
        with torch.cuda.graph(graph):
            pass
    works(torch)


def test_a_graph_may_die_while_it_is_captured(torch):
    for elsewhere in (False, True):

        def leave():
            with torch.cuda.stream(torch.cuda.Stream()):
                graph = torch.cuda.CUDAGraph()
                graph.capture_begin()
                torch.rand(4, device="cuda")

        if elsewhere:
            thread = threading.Thread(target=leave)
            thread.start()
            thread.join()
        else:
            leave()
        gc.collect()
        assert not torch.cuda.is_current_stream_capturing()
        works(torch)
        assert torch.rand(4, device="cuda").shape == (4,)


def test_graphs_within_graphs_keep_their_numbers_or_say_that_they_cannot(torch):
    x = torch.ones(3, device="cuda")
    plain, random = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(plain):
        x.add_(1)
    with torch.cuda.graph(random):
        torch.rand(3, device="cuda")
    whole = torch.cuda.CUDAGraph()
    with torch.cuda.graph(whole):
        plain.replay()
        x.mul_(2)
        with pytest.raises(RuntimeError, match="draws random numbers"):
            random.replay()
    whole.replay()
    assert x.tolist() == [4, 4, 4]


def test_pinned_memory_is_read_at_each_replay(torch):
    host = torch.zeros(8).pin_memory()
    x = torch.empty(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.copy_(host, non_blocking=True)
        y = x + 1
    for n in range(3):
        host.fill_(n)
        graph.replay()
        torch.cuda.synchronize()
        assert y.tolist() == [n + 1] * 8


def test_blocks_that_other_streams_used_are_free_after_a_capture(torch):
    side = torch.cuda.Stream()
    x = torch.ones(1 << 18, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x + 1
    x.record_stream(side)
    graph = torch.cuda.CUDAGraph()
    keeper = torch.ones(4, device="cuda")
    with torch.cuda.graph(graph):
        del x  # its event is recorded when the capture has ended
        keeper + 1
    torch.cuda.synchronize()
    before = torch.cuda.memory_reserved()
    torch.ones(1 << 18, device="cuda")
    assert torch.cuda.memory_reserved() == before


def test_a_pool_is_of_one_gpu_and_has_the_librarys_allocator(torch):
    with torch.cuda.device(1):
        pool = torch.cuda.MemPool()
    for named in (1, "cuda:1", torch.device("cuda", 1)):
        with torch.cuda.use_mem_pool(pool, named):
            torch.ones(4, device="cuda:1")
    for named in (0, "cuda", "cpu"):  # the current one is another
        with pytest.raises(ValueError, match=f"the pool is of cuda:1, not of {named!r}"):
            torch.cuda.use_mem_pool(pool, named)
    for refused in ({"allocator": object()}, {"use_on_oom": True}):
        with pytest.raises(NotImplementedError, match="leave out allocator and use_on_oom"):
            torch.cuda.MemPool(**refused)


def test_a_pool_of_memory_is_kept_apart(torch):
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        inside = torch.ones(1 << 20, device="cuda")
    place = inside.data_ptr()
    outside = torch.ones(1 << 20, device="cuda")
    del inside
    again = torch.ones(1 << 20, device="cuda")
    assert again.data_ptr() != place != outside.data_ptr()
    with torch.cuda.use_mem_pool(pool):
        assert torch.ones(1 << 20, device="cuda").data_ptr() == place
