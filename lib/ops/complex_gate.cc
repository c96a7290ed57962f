// See complex_gate.h. An operation made of others has no Call of its own or is listed, too: those
// that it is made of pass here again.
#include "ops/complex_gate.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace flambeau {

namespace {

constexpr std::string_view kTaking[] = {
    "abs",
    "add",
    "addmm",
    "all",
    "allclose",
    "angle",
    "any",
    "as_strided",
    "baddbmm",
    "bmm",
    "cat",
    "chunk",
    "clone",
    "complex",
    "conj_physical",
    "constant_pad_nd",
    "copy",
    "count_nonzero",
    "cumsum",
    "diag_embed",
    "diagonal",
    "div",
    "dot",
    "dstack",
    "einsum",
    "eq",
    "equal",
    "exp",
    "expand",
    "fill",
    "flip",
    "gather",
    "hstack",
    "imag",
    "index",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_select",
    "inner",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "kron",
    "linear",
    "log",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "mean",
    "mm",
    "mul",
    "mv",
    "ne",
    "neg",
    "outer",
    "permute",
    "polar",
    "pow",
    "real",
    "reciprocal",
    "repeat",
    "roll",
    "rsub",
    "scatter",
    "scatter_add",
    "select",
    "sgn",
    "slice",
    "split",
    "split_with_sizes",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "sub",
    "sum",
    "t",
    "take",
    "take_along_dim",
    "tensordot",
    "to",
    "trace",
    "transpose",
    "unbind",
    "unfold_dim",
    "unsqueeze",
    "vdot",
    "view",
    "view_as_complex",
    "view_as_real",
    "vstack",
    "where",
    "zero",
};
static_assert(std::is_sorted(std::begin(kTaking), std::end(kTaking)));

}  // namespace

void check_takes_complex(const Op& op, Dtype dtype) {
  if (!std::binary_search(std::begin(kTaking), std::end(kTaking), std::string_view(op.name)))
    fail_type(dtype, op.name);
}

}  // namespace flambeau
