"""SobolEngine: the sequence begins as its definition says, goes on where it was, and each part of
the cube has its share of points, scrambled or not."""

import copy
import pickle

import pytest


@pytest.fixture(params=[False, True], ids=["plain", "scrambled"])
def engine(torch, request):
    return torch.quasirandom.SobolEngine(5, scramble=request.param, seed=7)


def test_the_first_points(torch):
    found = torch.quasirandom.SobolEngine(2).draw(5)
    assert found.tolist() == [[0, 0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75], [0.375, 0.375]]
    assert found.dtype is torch.float32


def test_parts_and_leaps_are_of_one_sequence(torch, engine):
    whole = engine.draw(20, dtype=torch.float64)
    assert engine.num_generated == 20 and whole.min() >= 0 and whole.max() < 1
    engine.reset()
    parts = [engine.draw(n, dtype=torch.float64) for n in (3, 1, 0, 4)]
    assert torch.cat(parts).equal(whole[:8])
    engine.fast_forward(5)
    assert engine.draw(2, dtype=torch.float64).equal(whole[13:15])
    twin = pickle.loads(pickle.dumps(engine)), copy.deepcopy(engine)
    for other in twin:
        assert other.draw(3, dtype=torch.float64).equal(whole[15:18])
    out = torch.empty(0, dtype=torch.float64)
    assert engine.draw(3, out=out) is out and out.equal(whole[15:18])


def test_each_half_of_each_axis_has_half_of_the_points(torch, engine):
    points = engine.draw_base2(10)
    for bits in (1, 2, 3):
        counts = torch.stack(
            [torch.bincount(x, minlength=2**bits) for x in (points * 2**bits).long().T]
        )
        assert (counts == 1024 // 2**bits).all()


def test_the_default_generator_seeds_what_has_no_seed(torch):
    make = torch.quasirandom.SobolEngine
    torch.manual_seed(3)
    a, b = make(3, True).draw(4), make(3, True).draw(4)
    torch.manual_seed(3)
    assert make(3, True).draw(4).equal(a) and not a.equal(b)
    assert make(3, True, seed=1).draw(4).equal(make(3, True, seed=1).draw(4))
    assert repr(make(3, True, seed=1)) == "SobolEngine(dimension=3, scramble=True, seed=1)"


def test_bad_arguments(torch):
    make = torch.quasirandom.SobolEngine
    for dimension in (0, make.MAXDIM + 1):
        with pytest.raises(ValueError, match="Supported range"):
            make(dimension)
    with pytest.raises(ValueError, match="non-negative"):
        make(2).draw(-1)
    with pytest.raises(NotImplementedError):
        make(2).draw(2, dtype=torch.int32)
    drawn = make(2)
    drawn.draw(3)
    with pytest.raises(ValueError, match="power of 2"):
        drawn.draw_base2(1)
