// Connectionist temporal classification (Graves et al. 2006). The states of a target are its labels
// with blanks around them; the forward and the backward recursion go over time, each step a few ops
// on [n, states] of logarithms. Two columns of minus infinity beside the states stand for what no
// path comes from. The gradient is torch's: that of log-probabilities which a softmax normalised.
#include <cmath>
#include <vector>

#include "base/error.h"
#include "ops/formula.h"
#include "ops/nn/loss_reduction.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

constexpr Op kCtcLossBackwardOp{"ctc_loss_backward"};

using T = const Tensor&;

constexpr int64_t kMargin = 2;  // columns beside the states

Tensor full_of(DimsView sizes, double v, T like) {
  const Tensor t = flambeau::empty(sizes, like.dtype(), like.device());
  run_cast(t, num(v));
  return t;
}

// A batch of targets as states.
struct States {
  int64_t steps, batch, classes, states;
  Tensor labels;         // [n, s] i64: each state's class
  Tensor exists, skips;  // [n, s]: 0 or minus infinity; skips: reached from two states before
  Tensor first, last;    // [n, s]: 0 where a path may begin, or end; else minus infinity
  Tensor input_lengths;  // [n, 1] i64
  std::vector<int64_t> lengths, targets;
};

std::vector<int64_t> lengths_of(const char* what, T lengths, int64_t batch, int64_t most) {
  check(!is_floating(lengths.dtype()) && lengths.dtype() != Dtype::boolean, Code::dtype,
        "ctc_loss: ", what, " must be integral, got ", lengths);
  check(lengths.dim() <= 1 && lengths.numel() == batch, Code::shape, "ctc_loss: ", what,
        " must be of size batch_size ", batch, ", got ", lengths);
  std::vector<int64_t> out = read_integers(lengths);
  for (int64_t n : out) {
    check(n >= 0 && n <= most, Code::invalid_argument, "ctc_loss: expected ", what,
          " to have values from 0 to ", most, ", but got value ", n);
  }
  return out;
}

// Where each target begins, one after the other or in rows.
std::vector<int64_t> starts_of(T targets, const std::vector<int64_t>& lengths) {
  check(!is_floating(targets.dtype()) && targets.dtype() != Dtype::boolean, Code::dtype,
        "ctc_loss: targets must be integral, got ", targets);
  check(targets.dim() == 1 || targets.dim() == 2, Code::shape,
        "ctc_loss: targets should be 1- or 2-dimensional, got ", targets);
  std::vector<int64_t> starts;
  int64_t total = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    starts.push_back(targets.dim() == 1 ? total : int64_t(i) * targets.size(1));
    total += lengths[i];
    check(targets.dim() == 1 || lengths[i] <= targets.size(1), Code::shape,
          "ctc_loss: expected targets to have size at least ", lengths[i],
          " at dimension 1, but got ", targets);
  }
  const int64_t wanted = targets.dim() == 1 ? total : int64_t(lengths.size());
  check(targets.size(0) == wanted, Code::shape, "ctc_loss: expected targets to have size ", wanted,
        " at dimension 0, but got ", targets);
  return starts;
}

// States as the host finds them; `wide`: the dtype and device of the log-probabilities.
States states_of(T wide, T targets, T input_lengths, T target_lengths, int64_t blank) {
  States s{wide.size(0), wide.size(1), wide.size(2), 1, {}, {}, {}, {}, {}, {}, {}, {}};
  check(blank >= 0 && blank < s.classes, Code::invalid_argument,
        "ctc_loss: blank must be in label range, got ", blank, " for ", s.classes, " classes");
  s.lengths = lengths_of("input_lengths", input_lengths, s.batch, s.steps);
  s.targets = lengths_of("target_lengths", target_lengths, s.batch, INT64_MAX / 4);
  const std::vector<int64_t> starts = starts_of(targets, s.targets);
  for (int64_t n : s.targets) s.states = std::max(s.states, 2 * n + 1);
  const std::vector<int64_t> read = read_integers(targets);
  const Dims sizes{s.batch, s.states};
  s.labels = flambeau::empty(sizes, Dtype::i64, kCpu);
  for (Tensor* t : {&s.exists, &s.skips, &s.first, &s.last}) {
    *t = flambeau::empty(sizes, Dtype::f32, kCpu);
  }
  for (int64_t n = 0; n < s.batch; ++n) {
    const int64_t count = 2 * s.targets[size_t(n)] + 1;
    int64_t* label = s.labels.data_as<int64_t>() + n * s.states;
    for (int64_t i = 0; i < s.states; ++i) {
      const size_t at = size_t(n * s.states + i);
      const bool odd = i % 2 == 1 && i < count;
      label[i] = odd ? read[size_t(starts[size_t(n)] + i / 2)] : blank;
      check(label[i] >= 0 && label[i] < s.classes, Code::index, "ctc_loss: target ", label[i],
            " is out of bounds for ", s.classes, " classes");
      const auto mark = [&](T t, bool open) { t.data_as<float>()[at] = open ? 0 : -INFINITY; };
      mark(s.exists, i < count);
      mark(s.skips, odd && i > 1 && label[i] != label[i - 2]);
      mark(s.first, i < 2);
      mark(s.last, i < count && i + 2 >= count);
    }
  }
  s.labels = to(s.labels, wide.device());
  for (Tensor* t : {&s.exists, &s.skips, &s.first, &s.last}) {
    *t = to(*t, wide.device(), wide.dtype());
  }
  s.input_lengths = reshape(to(input_lengths, wide.device(), Dtype::i64), Dims{s.batch, 1});
  return s;
}

// [t, n, s]: the log-probability of each state's class.
Tensor emissions(T log_probs, const States& s) {
  const Tensor labels = expand(unsqueeze(s.labels, 0), Dims{s.steps, s.batch, s.states});
  return add(gather(log_probs, 2, labels), s.exists);
}

// What reaches a state from itself, its neighbour and, where it skips, the one beyond.
Tensor arrived(T from, T neighbour, T beyond, T skips) {
  return logaddexp(logaddexp(from, neighbour), add(beyond, skips));
}

// [t, n, margin + s]: logarithms of what paths have that are in a state at a time.
Tensor forward(T emitted, const States& s) {
  const Tensor all = full_of(Dims{s.steps, s.batch, kMargin + s.states}, -INFINITY, emitted);
  for (int64_t t = 0; t < s.steps; ++t) {
    Tensor from = s.first;
    if (t > 0) {
      const Tensor before = select(all, 0, t - 1);
      from = arrived(narrow(before, 1, 2, s.states), narrow(before, 1, 1, s.states),
                     narrow(before, 1, 0, s.states), s.skips);
    }
    copy_(narrow(select(all, 0, t), 1, kMargin, s.states), add(from, select(emitted, 0, t)));
  }
  return all;
}

// [n]: the log-likelihood of each target, at the last step that its input has.
Tensor likelihood(T all, const States& s) {
  const Tensor flat = reshape(all, Dims{all.numel()});
  const Tensor ends = flambeau::empty(Dims{2, s.batch}, Dtype::i64, kCpu),
               fixed = flambeau::empty(Dims{s.batch}, Dtype::f32, kCpu);
  const int64_t width = kMargin + s.states;
  bool empties = false;
  for (int64_t n = 0; n < s.batch; ++n) {
    const int64_t step = s.lengths[size_t(n)] - 1, target = s.targets[size_t(n)];
    const int64_t row = (std::max<int64_t>(step, 0) * s.batch + n) * width;
    ends.data_as<int64_t>()[n] = row + kMargin + 2 * target;
    ends.data_as<int64_t>()[s.batch + n] = row + kMargin + 2 * target - 1;
    fixed.data_as<float>()[n] = step >= 0 ? NAN : target == 0 ? 0 : -INFINITY;
    empties |= step < 0;
  }
  const Tensor given = to(fixed, all.device(), all.dtype());
  if (s.steps == 0) return given;
  const Tensor both = reshape(
      index_select(flat, 0, to(reshape(ends, Dims{2 * s.batch}), all.device())), Dims{2, s.batch});
  const Tensor found = logaddexp(select(both, 0, 0), select(both, 0, 1));
  return empties ? where(isnan(given), found, given) : found;
}

// [t, n, c]: how likely each class is at a time, given the target.
Tensor posteriors(T emitted, T all, T found, const States& s) {
  const Tensor shares =
      flambeau::empty(Dims{s.steps, s.batch, s.states}, all.dtype(), all.device());
  const Tensor after = full_of(Dims{s.batch, s.states + kMargin}, -INFINITY, all);
  const Tensor own = narrow(after, 1, 0, s.states), edge = unsqueeze(found, 1);
  // A state is left for the one beyond it where that one may be entered so.
  const Tensor ahead = full_of(Dims{s.batch, s.states + kMargin}, -INFINITY, all);
  copy_(narrow(ahead, 1, 0, s.states), s.skips);
  const Tensor skips = narrow(ahead, 1, 2, s.states);
  for (int64_t t = s.steps; t-- > 0;) {
    const Tensor next =
        arrived(own, narrow(after, 1, 1, s.states), narrow(after, 1, 2, s.states), skips);
    const Tensor to_end = where(eq(s.input_lengths, num(t + 1)), s.last, next);
    const Tensor passed = narrow(select(all, 0, t), 1, kMargin, s.states);
    copy_(select(shares, 0, t), exp(sub(add(passed, to_end), edge)));
    copy_(own, add(to_end, select(emitted, 0, t)));
  }
  const Dims sizes{s.steps, s.batch, s.classes};
  const Tensor none = zeros(sizes, all.dtype(), all.device());
  return scatter_add(none, 2, expand(unsqueeze(s.labels, 0), shares.sizes()), shares);
}

// Differentiated only where somebody asks, as in torch.
struct CtcBackwardBackward {
  static constexpr auto name = "CtcLossBackwardBackward0";
  Tensors operator()(const Tensor&) const {
    fail(Code::unsupported, "the derivative of \"ctc_loss_backward\" is not implemented");
  }
};

struct CtcBackward {
  Saved log_probs, all, found;
  States states;
  bool zero_infinity;
  static constexpr auto name = "CtcLossBackward0";

  Tensors operator()(const Tensor& dy) const {
    const Tensor x = log_probs, past = all, ll = found;
    Call c{kCtcLossBackwardOp, {dy, x}};
    Tensor dx;
    {
      const GradMode off(false);
      const States& s = states;
      const Tensor shares = posteriors(emissions(x, s), past, ll, s);
      dx = mul(sub(exp(x), shares), unsqueeze(c[0], 1));
      const Tensor step =
          reshape(arange(num(int64_t{0}), num(s.steps), num(int64_t{1}), Dtype::i64, x.device()),
                  Dims{s.steps, 1, 1});
      Tensor counts = lt(step, s.input_lengths);
      if (zero_infinity) counts = logical_and(counts, unsqueeze(isfinite(ll), 1));
      dx = keep_where(counts, dx);
    }
    return {c.track(dx, CtcBackwardBackward{})};
  }
};

}  // namespace

Tensor ctc_loss(T log_probs, T targets, T input_lengths, T target_lengths, int64_t blank,
                int32_t reduction, bool zero_infinity) {
  check_reduction(op::ctc_loss, reduction);
  check(log_probs.dim() == 2 || log_probs.dim() == 3, Code::shape,
        "ctc_loss: log_probs must be [T, N, C] or [T, C], got ", log_probs);
  check(is_floating(log_probs.dtype()), Code::dtype, "\"ctc_loss\" not implemented for '",
        name_of(log_probs.dtype()), "'");
  {
    const Call c{op::ctc_loss, {log_probs}};
    if (c[0].dtype() != log_probs.dtype()) {  // autocast's; it is off while the call is open
      return ctc_loss(c[0], targets, input_lengths, target_lengths, blank, reduction,
                      zero_infinity);
    }
  }
  if (is_half(log_probs.dtype())) {
    return to_dtype(ctc_loss(to_dtype(log_probs, Dtype::f32), targets, input_lengths,
                             target_lengths, blank, reduction, zero_infinity),
                    log_probs.dtype());
  }
  if (log_probs.dim() == 2) {
    const Tensor loss =
        ctc_loss(unsqueeze(log_probs, 1), targets.dim() == 1 ? targets : ravel(targets),
                 input_lengths, target_lengths, blank, reduction, zero_infinity);
    return reduction == FLAM_REDUCTION_NONE ? squeeze(loss, Dims{0}) : loss;
  }
  Tensor losses;
  std::vector<int64_t> lengths;
  {
    Call c{op::ctc_loss, {log_probs}};
    const Tensor x = c[0];
    States s = states_of(x, targets, input_lengths, target_lengths, blank);
    lengths = s.targets;
    Tensor all, found;
    {
      const GradMode off(false);
      all = forward(emissions(x, s), s);
      found = likelihood(all, s);
      losses = neg(found);
    }
    losses = c.track(
        losses, CtcBackward{c.save(x), c.save(all), c.save(found), std::move(s), zero_infinity});
  }
  if (zero_infinity) losses = where(eq(losses, num(double(INFINITY))), num(0.0), losses);
  if (reduction != FLAM_REDUCTION_MEAN) return reduced(losses, reduction);
  const Tensor sizes = flambeau::empty(Dims{int64_t(lengths.size())}, Dtype::f32, kCpu);
  for (size_t i = 0; i < lengths.size(); ++i) {
    sizes.data_as<float>()[i] = float(std::max<int64_t>(lengths[i], 1));
  }
  return mean(div(losses, to(sizes, losses.device(), losses.dtype())));
}

}  // namespace flambeau::ops
