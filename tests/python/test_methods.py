"""Methods and layouts of results that programs written for PyTorch rely on, with its answers."""

import inspect

import flambeau as torch
import numpy as np
import pytest


def test_pointwise_results_lie_in_memory_as_their_operands_do():
    wide = torch.zeros(2, 3, 4, 2)
    gaps = wide[..., 0].permute(2, 0, 1)
    assert gaps.stride() == (2, 24, 8)
    for made in (gaps + 1, gaps.exp(), gaps > 0, torch.zeros_like(gaps), gaps.double()):
        assert made.stride() == (1, 12, 4)
    assert (torch.zeros(4, 1, 3) + gaps).stride() == (3, 12, 1)
    assert (gaps + torch.zeros(3)).stride() == (1, 12, 4)
    assert (torch.zeros(3).expand(2, 3) + 1).stride() == (3, 1)


def test_contiguous_is_the_tensor_itself_where_it_can():
    t = torch.arange(6.0).reshape(2, 3)
    assert t.contiguous() is t
    assert t.t().contiguous().stride() == (2, 1)
    assert t[:, 0].ravel().is_contiguous()


def test_memory_formats():
    t = torch.arange(24.0).reshape(1, 2, 3, 4)
    last = t.contiguous(memory_format=torch.channels_last)
    assert last.stride() == (24, 1, 8, 2) and torch.equal(last, t)
    assert last.is_contiguous(memory_format=torch.channels_last) and not last.is_contiguous()
    assert not t.is_contiguous(memory_format=torch.channels_last)
    assert last.contiguous(memory_format=torch.channels_last) is last
    assert t.to(memory_format=torch.channels_last).stride() == last.stride()
    assert last.clone().stride() == last.stride()
    assert last.clone(memory_format=torch.contiguous_format).is_contiguous()
    with pytest.raises(RuntimeError, match="rank 4"):
        t[0].contiguous(memory_format=torch.channels_last)


def test_generators_are_named():
    """As in every method of torch that draws: `x.normal_(0, 1, g)` is a TypeError."""
    drawing = {}
    for name, method in inspect.getmembers(torch.Tensor, callable):
        try:
            drawing[name] = inspect.signature(method).parameters["generator"].kind
        except (ValueError, KeyError):
            continue
    assert {"normal_", "uniform_", "bernoulli_", "exponential_"} <= set(drawing)
    kinds = inspect.Parameter
    assert not [name for name, kind in drawing.items() if kind is not kinds.KEYWORD_ONLY]
    with pytest.raises(TypeError):
        torch.zeros(2).normal_(0, 1, torch.Generator())


def test_arguments_of_pythons_own():
    t = torch.arange(6.0).reshape(2, 3)
    rows, columns = t.nonzero(as_tuple=True)
    assert rows.tolist() == [0, 0, 1, 1, 1] and columns.tolist() == [1, 2, 0, 1, 2]
    assert t.norm("fro") == t.norm(2) == t.norm()
    assert t.var(False) == t.var(unbiased=False) == t.var(correction=0)
    assert t.std(1, False, True).shape == (2, 1)
    assert torch.var_mean(t, unbiased=False)[0] == t.var(correction=0)


def test_writes_by_index():
    t, at = torch.zeros(2, 3), torch.tensor([0, 0])
    assert t.index_put((at, at), torch.tensor([1.0, 2.0]), accumulate=True)[0, 0] == 3
    assert t.index_put_((at[:1],), torch.ones(3)) is t and t.sum() == 3
    assert t.put_(torch.tensor([5]), torch.tensor([7.0]))[1, 2] == 7
    added = torch.ones(2, 3).scatter(1, torch.tensor([[0], [2]]), 4.0, reduce="add")
    assert added.tolist() == [[5, 1, 1], [1, 1, 5]]
    at = torch.tensor([[0], [2]])
    for call, inplace in ((torch.scatter, False), (torch.Tensor.scatter_, True)):
        x = torch.ones(2, 3)
        found = call(x, dim=1, index=at, value=0.5)
        assert found.equal(torch.ones(2, 3).scatter(1, at, 0.5)) and (found is x) is inplace
        assert call(torch.ones(2, 3), 1, at, value=4.0, reduce="add").equal(added)
        with pytest.raises(TypeError, match="value"):
            call(x, 1, at, value=torch.ones(2, 1))
        with pytest.raises(TypeError, match="value"):
            call(x, 1, at, torch.ones(2, 1), value=1.0)
    product = torch.ones(2, 3).scatter_(1, torch.tensor([[0], [2]]), 4.0, reduce="multiply")
    assert product.tolist() == [[4, 1, 1], [1, 1, 4]]


def test_questions_about_dtypes():
    t, i = torch.zeros(2), torch.tensor([1])
    assert torch.result_type(i, 1.5) is torch.float32
    assert torch.result_type(t, torch.tensor(1.0, dtype=torch.float64)) is torch.float32
    assert torch.promote_types(torch.uint8, torch.int8) is torch.int16
    assert torch.can_cast(torch.int32, torch.float16)
    assert not torch.can_cast(torch.float64, torch.int32)
    assert not torch.can_cast(torch.int8, torch.bool)


def test_numpys_functions_of_tensors_give_tensors():
    t = torch.arange(3.0)
    assert isinstance(np.add(t, 1), torch.Tensor)
    assert np.sqrt(t * t).tolist() == t.tolist()


def test_special_functions_have_torchs_names():
    t = torch.tensor([0.5])
    assert torch.special.expit(t) == t.sigmoid() and torch.special.log1p(t) == t.log1p()
    assert not hasattr(torch.special, "expit_")


def test_functions_of_elements_of_several_tensors(torch):
    x = torch.tensor([[1.0, 2], [3, 4]])
    assert x.clone().map_(torch.tensor([1.0, 0]), lambda a, b: a * b).tolist() == [[1, 0], [3, 0]]
    found = x.clone().map2_(torch.tensor([1.0, 0]), torch.ones(2, 1), lambda a, b, c: a * b + c)
    assert found.tolist() == [[2, 1], [4, 1]]
    for given in ((x.clone().requires_grad_(), x, x), (x, x, x.clone().requires_grad_())):
        with pytest.raises(RuntimeError, match="requires grad"):
            given[0].map2_(*given[1:], lambda a, b, c: a)


@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_ends_may_be_tensors_without_their_gradients(torch, name):
    call, a, b = getattr(torch, name), torch.tensor(1.0, requires_grad=True), torch.tensor(3)
    for ends in ((a, b), (1, b), (a, 3.0)):
        found = call(*ends, 4)
        assert found.equal(call(1.0, 3.0, 4)) and not found.requires_grad


def test_errors_are_of_the_types_that_programs_catch():
    with pytest.raises(NotImplementedError):
        torch.nn.functional.gelu(torch.arange(3))
    with pytest.raises(ValueError):
        torch.zeros(2) + torch.zeros(3)
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        torch.abs(2)
    with pytest.raises(IndexError):
        torch.zeros(3)[1.5]
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        at = torch.zeros(2, 4, dtype=torch.int64)
        torch.zeros(3, 4).scatter_reduce(0, at, torch.zeros(4), "sum")


def test_losses_and_sums_take_the_dtypes_that_torch_does():
    t, wide = torch.ones(2, 3), torch.tensor(1.0, dtype=torch.float64)
    with pytest.warns(UserWarning, match="target size"):
        assert torch.nn.functional.mse_loss(t, wide).dtype is torch.float64
    whole = torch.nn.functional.l1_loss(torch.tensor([1, 5]), torch.tensor([2, 2]), reduction="sum")
    assert whole.item() == 4 and whole.dtype is torch.int64
    out = torch.zeros(0, dtype=torch.int64)
    assert torch.sum(torch.tensor([[1.5, 2.5]]), 1, out=out).tolist() == [3]
    assert torch.copysign(torch.tensor([2], dtype=torch.uint8), torch.tensor(-1)).item() == -2


def test_bytes_are_resampled_as_numbers():
    image = torch.arange(16, dtype=torch.uint8).reshape(1, 1, 4, 4) * 16
    # PyTorch rounds after each of the two passes.
    for mode, row in {
        "nearest": [0, 0, 16, 16, 32, 32, 48],
        "bilinear": [11, 17, 26, 35, 44, 53, 59],
        "bicubic": [8, 12, 22, 32, 42, 52, 58],
    }.items():
        got = torch.nn.functional.interpolate(image, size=(3, 7), mode=mode)
        want = torch.nn.functional.interpolate(image.float(), size=(3, 7), mode=mode)
        assert got.dtype is torch.uint8 and got[0, 0, 0].tolist() == row
        assert (got.float() - want).abs().max() < 2
    with pytest.raises(NotImplementedError, match="int64"):
        torch.nn.functional.interpolate(image.long(), size=3)


def test_rrelu_in_place_has_a_gradient():
    x = torch.tensor([-2.0, 3.0], requires_grad=True)
    torch.nn.functional.rrelu(x * 1, 0.5, 0.5, inplace=True).sum().backward()
    assert x.grad.tolist() == [0.5, 1.0]


def test_rearranged_images_are_copies():
    x = torch.ones(1, 4, 2, 2)
    torch.nn.functional.pixel_shuffle(x, 1).zero_()
    assert x.sum() == 16


def test_bytes_as_another_dtype():
    t = torch.tensor([1.0, -2.0])
    bits = t.view(torch.int32)
    assert bits.tolist() == [0x3F800000, -0x40000000] and bits.data_ptr() == t.data_ptr()
    assert t.view(torch.uint8).tolist() == [0, 0, 128, 63, 0, 0, 0, 192]
    assert t.view(dtype=torch.int64).shape == (1,) and t.view(torch.float32).tolist() == [1, -2]
    bits.fill_(0)
    assert t.sum() == 0
    with pytest.raises(RuntimeError, match="must be 1"):
        torch.zeros(2, 2).t().view(torch.uint8)


def test_reference_spellings_of_older_and_newer_calls():
    t = torch.arange(6.0).reshape(2, 3)
    assert t.std(dim=None, correction=None) == t.std()
    assert [p.shape[0] for p in t.t().tensor_split(torch.tensor([1, 2]))] == [1, 1, 1]
    assert t.sum_to_size([]).item() == 15 and torch.ones(2, dtype=torch.int32).sum_to_size(()) == 2
    a, b = torch.atleast_2d(torch.tensor(1.0), t)
    assert a.shape == (1, 1) and b is t or torch.equal(b, t)
    assert torch.norm(t, p=2, dim=None, keepdim=False, out=None, dtype=None) == t.norm()
    assert torch.argwhere(t).stride() == (1, 5)
    assert torch.cov(torch.arange(3.0)[None]).shape == ()
    assert torch.diff(t, 0, prepend=t).shape == t.shape
    assert torch.ldexp(t.half(), torch.tensor([1, 2, 3])).dtype == torch.float16
    assert torch.gather(t, 0, torch.zeros(0, 3, dtype=torch.uint8)).shape == (0, 3)
    assert torch.tensordot(torch.ones(1, 2), torch.ones(2, 3), dims=([0], [0])).shape == (2, 3)
    assert torch.logit(torch.tensor([0.2, 0.9]), 0.6)[0].item() == pytest.approx(0.4054651)
    assert torch.linalg.vander(torch.tensor(2.0), N=3).tolist() == [[1, 2, 4]]
    with pytest.raises(RuntimeError, match="float_power_ has dtype"):
        t.float_power_(2)
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.cat([t[:1], t[1:]], out=t)
    with pytest.raises(IndexError, match="no dimensions"):
        torch.roll(torch.tensor(1.0), 1, 0)


def test_order_of_dimensions_in_memory():
    assert torch.ones(2, 3).dim_order() == (0, 1) and torch.ones(2, 3).T.dim_order() == (1, 0)
    nhwc = torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert nhwc.dim_order(ambiguity_check=True) == (0, 2, 3, 1)
    assert torch.ones(2, 3, 4).permute(2, 0, 1).dim_order() == (1, 2, 0)
    assert torch.ones(2, 1, 4).permute(2, 1, 0).dim_order() == (2, 1, 0)
    assert torch.ones(3).expand(2, 3).dim_order() == (0, 1) and torch.ones(()).dim_order() == ()
    formats = [torch.contiguous_format, torch.channels_last]
    assert torch.ones(2, 1, 3).dim_order(ambiguity_check=formats) == (0, 1, 2)
    for t in torch.ones(2, 1, 3), torch.ones(1, 1), torch.ones(3).expand(2, 3):
        with pytest.raises(RuntimeError, match="does not have unique dim order"):
            t.dim_order(ambiguity_check=True)
    with pytest.raises(TypeError, match="a bool or a list of memory formats"):
        torch.ones(2).dim_order(ambiguity_check="yes")


def test_adjoint():
    t = torch.arange(6.0).reshape(1, 2, 3)
    assert torch.adjoint(t).equal(t.mT) and t.adjoint().shape == (1, 3, 2)
    with pytest.raises(RuntimeError, match="Got 1-D tensor"):
        torch.ones(2).adjoint()


def test_repeats_alone_are_numbers_of_elements():
    repeats = torch.tensor([1, 0, 3], dtype=torch.int32)
    found = torch.repeat_interleave(repeats, output_size=4)
    assert found.tolist() == [0, 2, 2, 2] and found.dtype is torch.int32
    assert torch.repeat_interleave(torch.ones(2, 2), repeats=2, dim=1).shape == (2, 4)
    with pytest.raises(RuntimeError, match="only accept 1D vector"):
        torch.repeat_interleave(torch.tensor(3))


def test_a_number_tells_tensors_apart():
    t = torch.ones(2)
    assert t._cdata == t._cdata and t._cdata != t.clone()._cdata and isinstance(t._cdata, int)


def test_flags_of_to_by_position():
    t = torch.zeros(2)
    assert t.to("cpu", torch.float32, True) is t
    for copy in (t.to("cpu", torch.float32, True, True), t.to(torch.float32, False, True)):
        assert copy.data_ptr() != t.data_ptr()
    assert t.to("cpu", torch.float32, True, copy=True).data_ptr() != t.data_ptr()


def test_repeats_as_a_number_on_any_device(torch, device):
    x = torch.arange(3, device=device)
    assert torch.repeat_interleave(x, repeats=2, output_size=6).tolist() == [0, 0, 1, 1, 2, 2]
    assert x[None].repeat_interleave(2, -1, output_size=6).shape == (1, 6)
    assert x[None].repeat_interleave(2, axis=0).shape == (2, 3)
    assert torch.repeat_interleave(torch.tensor([1, 0, 2], device=device)).tolist() == [0, 2, 2]
    with pytest.raises(RuntimeError, match="expected output_size 6, got 5"):
        x.repeat_interleave(2, output_size=5)
