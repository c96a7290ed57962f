// What the forms of cross entropy share: losses of rows of logits, one number for each, and their
// slopes. The logits are [n, C, ...] (or [C]) with the classes along `dim`; class indices are
// int64, a weight of classes has the compute dtype.
#pragma once
#include "ops/nn/loss_reduction.h"

namespace flambeau::ops::ce {

struct Options {
  int64_t dim, ignore_index;
  int32_t reduction;
  double smoothing;
};

inline Dtype compute_dtype(Dtype d) { return d == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

void check_smoothing(double label_smoothing);
// Whether targets are probabilities: they have the logits' shape, and floating point.
bool are_probabilities(DimsView logits, const Tensor& target);
// Indices beside logits of that shape.
void check_classes(DimsView logits, const Tensor& target, const Tensor& weight, int64_t dim);

// In the compute dtype: what each row loses, the logarithm of its sum of exponentials, and what it
// counts in a mean, which only a mean has.
struct RowLosses {
  Tensor loss, lse, share;
};
RowLosses of_rows(Call& c, const Tensor& x, const Tensor& target, const Tensor& weight,
                  const Tensor& total, const Options& o);
// The same where devices join rows (joins_rows): the loss, which has the logits' dtype, and the
// share are what all rows come to.
RowLosses of_all_rows(const Tensor& x, const Tensor& target, const Tensor& weight,
                      const Tensor& total, const Options& o);
// The sum of the weights, which smoothing needs; else none.
Tensor total_weight(Call& c, const Tensor& weight, const Options& o);
// The gradient of the logits, where `g` (0-d, or one for each row) is that of the losses, of which
// each was divided by `divisor` (0-d) where that is given; undefined, 1. It can be differentiated
// where autograd records.
Tensor slope(const Tensor& g, const Tensor& x, const Tensor& target, const Tensor& weight,
             const Tensor& lse, const Tensor& total, const Options& o, const Tensor& divisor = {});

// The same of targets that are probabilities, after smoothing and weights.
Tensor weighted_probabilities(const Tensor& target, const Tensor& weight, const Options& o);
Tensor of_probability_rows(const Tensor& x, const Tensor& weighted, int64_t dim);
Tensor probability_slope(const Tensor& g, const Tensor& x, const Tensor& weighted, int64_t dim);

}  // namespace flambeau::ops::ce
