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
