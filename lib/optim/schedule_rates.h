// The formulas of learning-rate schedules, in the order of operations of torch.optim.lr_scheduler,
// so that rates agree to the last bit. The library's schedules and Python's classes call the same
// ones.
#pragma once
#include <cstdint>
#include <span>

namespace flambeau::optim {

enum class Schedule : int32_t {  // with the values that it takes
  step = 1,                      // step_size, gamma
  multi_step,                    // gamma, the milestones
  constant,                      // factor, total_iters
  linear,                        // start_factor, end_factor, total_iters
  exponential,                   // gamma
  polynomial,                    // total_iters, power
  cosine,                        // t_max, eta_min
  cyclic,                        // length of a cycle, its share that goes up, peak, scale
  anneal_cosine,                 // end, first epoch, last epoch
  anneal_linear,                 // the same
};

struct Moment {
  double now, base;  // a group's present rate, and the one that it began with
  double epoch;
  bool initial = false;  // whether the schedule only begins
};

void check_schedule(int32_t form, std::span<const double> values);
// From the present rate, and from the first one. Both throw where they come to a division by 0.
double chained_rate(Schedule form, std::span<const double> values, const Moment& m);
double closed_rate(Schedule form, std::span<const double> values, const Moment& m);

}  // namespace flambeau::optim
