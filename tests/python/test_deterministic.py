"""use_deterministic_algorithms: the switch, and what indexed writes do while it is on."""

import pytest


@pytest.fixture
def deterministic(torch):
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def test_the_switch_works_after_start(torch):
    assert not torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(False)
    assert not torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()


@pytest.mark.parametrize("shape, dim", [((50,), 0), ((50, 3), 0), ((3, 50, 2), 1)])
def test_additions_to_one_place_have_the_bits_of_the_cpu(torch, device, deterministic, shape, dim):
    torch.manual_seed(1)
    source, index = torch.randn(shape), torch.randint(0, 4, (50,))
    sizes = [4 if d == dim else n for d, n in enumerate(shape)]
    spread = index.reshape([-1 if d == dim else 1 for d in range(len(shape))]).expand(shape)

    def results(on):
        zero, where = torch.zeros(sizes, device=on), index.to(on)
        places = (slice(None),) * dim + (where,)
        put, leaf = zero.clone(), torch.ones(sizes, device=on, requires_grad=True)
        leaf[places].mul(source.to(on)).sum().backward()
        put[places] = source.to(on)
        return [
            zero.index_add(dim, where, source.to(on)),
            zero.scatter_add(dim, spread.to(on), source.to(on)),
            put,
            leaf.grad,
        ]

    for ours, expected in zip(results(device), results("cpu")):
        assert ours.cpu().equal(expected)


def test_what_torch_refuses_has_the_bits_of_the_cpu(torch, device, deterministic, recwarn):
    F = torch.nn.functional
    torch.manual_seed(1)
    image, at, source = torch.randn(2, 3, 6, 6), torch.randint(0, 4, (50,)), torch.randn(50)

    def results(on):
        y, places = F.max_pool2d(image.to(on), 3, 1, return_indices=True)  # overlapping windows
        zero, one = torch.zeros(4, device=on), torch.zeros(50, device=on)
        return [
            F.max_unpool2d(y, places, 3, 1),
            zero.clone().put_(at.to(on), source.to(on)),
            zero.put(at.to(on), source.to(on), accumulate=True),
            one.put(torch.arange(50, device=on), source.to(on)),
        ]

    for _ in range(3):
        for ours, expected in zip(results(device), results("cpu")):
            assert ours.cpu().equal(expected)
    assert not recwarn.list


def test_debug_modes_have_names_and_numbers(torch):
    for mode, number in (("warn", 1), ("error", 2), ("default", 0)):
        torch.set_deterministic_debug_mode(mode)
        assert torch.get_deterministic_debug_mode() == number
        torch.set_deterministic_debug_mode(number)
        assert torch.get_deterministic_debug_mode() == number
    with pytest.raises(RuntimeError, match="expected one of `default`, `warn`, `error`, but got x"):
        torch.set_deterministic_debug_mode("x")
    with pytest.raises(RuntimeError, match="expected 0, 1, or 2, but got 5"):
        torch.set_deterministic_debug_mode(5)
    with pytest.raises(TypeError, match="must be str or int, but got"):
        torch.set_deterministic_debug_mode(1.5)


DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()


def filler(torch, dtype):
    if dtype.is_floating_point:
        return torch.nan
    return True if dtype is torch.bool else torch.iinfo(dtype).max


@pytest.mark.parametrize("name", DTYPES)
def test_elements_that_nobody_set_have_one_value(torch, device, deterministic, name):
    dtype = getattr(torch, name)
    x = torch.ones(6, 3, dtype=dtype, device=device)
    made = [
        torch.empty(5, dtype=dtype, device=device),
        torch.empty_like(x),
        x.new_empty(2, 3),
        torch.empty_strided((3, 2), (1, 4), dtype=dtype, device=device),
        torch.empty(2, 2, 3, 3, dtype=dtype, device=device, memory_format=torch.channels_last),
    ]
    for t in made:
        torch.testing.assert_close(
            t, torch.full_like(t, filler(torch, dtype)), rtol=0, atol=0, equal_nan=True
        )
    grown = torch.ones(2, 2, dtype=dtype, device=device).resize_(3, 3).flatten()
    assert bool((grown[:4] == 1).all())
    torch.testing.assert_close(
        grown[4:], torch.full_like(grown[4:], filler(torch, dtype)), rtol=0, atol=0, equal_nan=True
    )


def test_what_a_storage_held_stays_when_it_grows(torch, deterministic):
    whole = torch.arange(12.0)
    x = whole[2:4].resize_(8)  # of the same memory
    assert x.tolist() == whole[2:10].tolist()
    x.resize_(13)
    assert x[:10].tolist() == list(range(2, 12)) and x[10:].isnan().all()
    assert whole.tolist() == list(range(12))


def test_the_filling_is_switched(torch, deterministic):
    switches = torch.utils.deterministic
    assert switches.fill_uninitialized_memory is True
    switches.fill_uninitialized_memory = False
    try:
        x = torch.ones(4096)
        del x  # what the next one finds
        assert not torch.empty(4096).isnan().all()
    finally:
        switches.fill_uninitialized_memory = True
    assert torch.empty(4096).isnan().all()


def test_an_angle_has_its_sine_whatever_lies_beside_it(torch):
    """Large angles take another way than usual ones; a piece of memory may hold both."""
    usual = torch.linspace(-90.0, 90.0, 2000)
    mixed = usual.clone()
    mixed[::7] = torch.linspace(2e5, 3e38, 286)
    for f in (torch.sin, torch.cos):
        together = f(mixed)
        assert together.equal(torch.stack([f(x) for x in mixed]))
        kept = torch.arange(2000) % 7 != 0
        assert together[kept].equal(f(usual)[kept])
        assert torch.allclose(together.double(), f(mixed.double()), rtol=0, atol=1e-7)
