// One formula of the epoch after the other: a group's next rate from the present one, or from the
// one that it began with. Each reads its values in the order that the header names them.
#include "optim/schedule_rates.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "base/error.h"

namespace flambeau::optim {

namespace {

using Values = std::span<const double>;
constexpr double kPi = std::numbers::pi;

// A division by 0 is an error, as in Python, not a rate of NaN that shows itself epochs later. It
// is so where a formula comes to it: a warm-up of 0 epochs never divides by them.
void check_divisor(bool ok) {
  check(
      ok, Code::invalid_argument,
      "the schedule's formula divides by 0 at this epoch; give it lengths of at least 1 epoch and "
      "factors above 0");
}

double over(double x, double y) {
  check_divisor(y != 0);
  return x / y;
}

double remainder_of(double x, double y) {
  check_divisor(y != 0);
  return std::fmod(x, y);
}

double power(double x, double y) {
  check_divisor(x != 0 || y >= 0);
  return std::pow(x, y);
}

double same(Values, const Moment& m) { return m.now; }

double step(Values v, const Moment& m) {
  return m.epoch == 0 || remainder_of(m.epoch, v[0]) != 0 ? m.now : m.now * v[1];
}
double step_closed(Values v, const Moment& m) {
  return m.base * power(v[1], std::floor(over(m.epoch, v[0])));
}

double multi_step(Values v, const Moment& m) {
  const auto times = std::count(v.begin() + 1, v.end(), m.epoch);
  return times ? m.now * power(v[0], double(times)) : m.now;
}
double multi_step_closed(Values v, const Moment& m) {
  const auto past = std::count_if(v.begin() + 1, v.end(), [&](double at) { return at <= m.epoch; });
  return m.base * power(v[0], double(past));
}

double constant(Values v, const Moment& m) {
  if (m.epoch == 0) return m.now * v[0];
  return m.epoch != v[1] ? m.now : m.now * over(1.0, v[0]);
}
double constant_closed(Values v, const Moment& m) {
  return m.base * (v[0] + double(m.epoch >= v[1]) * (1 - v[0]));
}

double linear(Values v, const Moment& m) {
  const double start = v[0], slope = v[1] - v[0], total = v[2];
  if (m.epoch == 0) return m.now * start;
  if (m.initial || m.epoch > total) return m.now;
  return m.now * (1.0 + over(slope, total * start + (m.epoch - 1) * slope));
}
double linear_closed(Values v, const Moment& m) {
  return m.base * (v[0] + over((v[1] - v[0]) * std::min(v[2], m.epoch), v[2]));
}

double exponential(Values v, const Moment& m) { return m.initial ? m.now : m.now * v[0]; }
double exponential_closed(Values v, const Moment& m) { return m.base * power(v[0], m.epoch); }

double polynomial(Values v, const Moment& m) {
  if (m.initial || m.epoch > v[0]) return m.now;
  return m.now * power(over(1.0 - over(m.epoch, v[0]), 1.0 - over(m.epoch - 1, v[0])), v[1]);
}
double polynomial_closed(Values v, const Moment& m) {
  return m.base * power(1.0 - over(std::min(v[0], m.epoch), v[0]), v[1]);
}

double cosine(Values v, const Moment& m) {
  const double length = v[0], least = v[1];
  if (m.initial) return m.now;
  if (remainder_of(m.epoch - 1 - length, 2 * length) == 0) {
    return m.now + (m.base - least) * (1 - std::cos(kPi / length)) / 2;
  }
  const double part =
      over(1 + std::cos(kPi * m.epoch / length), 1 + std::cos(kPi * (m.epoch - 1) / length));
  return part * (m.now - least) + least;
}
double cosine_closed(Values v, const Moment& m) {
  return v[1] + (m.base - v[1]) * (1 + std::cos(over(kPi * m.epoch, v[0]))) / 2;
}

double cyclic(Values v, const Moment& m) {
  const double at = over(m.epoch, v[0]), x = 1.0 + at - std::floor(1 + at), ratio = v[1];
  const double part = x <= ratio ? over(x, ratio) : over(x - 1, ratio - 1);
  return m.base + (v[2] - m.base) * part * v[3];
}

double anneal_cosine(Values v, const Moment& m) {
  const double part = over(m.epoch - v[1], v[2] - v[1]);
  return v[0] + (m.base - v[0]) / 2.0 * (std::cos(kPi * part) + 1);
}
double anneal_linear(Values v, const Moment& m) {
  return (v[0] - m.base) * over(m.epoch - v[1], v[2] - v[1]) + m.base;
}

struct Form {
  size_t count;  // of values; milestones may follow
  double (*chained)(Values, const Moment&);
  double (*closed)(Values, const Moment&);
};

constexpr Form kForms[] = {
    {0, same, same},  // none
    {2, step, step_closed},
    {1, multi_step, multi_step_closed},
    {2, constant, constant_closed},
    {3, linear, linear_closed},
    {1, exponential, exponential_closed},
    {2, polynomial, polynomial_closed},
    {2, cosine, cosine_closed},
    {4, cyclic, cyclic},
    {3, anneal_cosine, anneal_cosine},
    {3, anneal_linear, anneal_linear},
};

}  // namespace

void check_schedule(int32_t form, Values values) {
  check(form > 0 && size_t(form) < std::size(kForms), Code::invalid_argument,
        "there is no schedule ", form);
  const Form& f = kForms[form];
  const bool open = form == int32_t(Schedule::multi_step);
  check(open ? values.size() >= f.count : values.size() == f.count, Code::invalid_argument,
        "schedule ", form, " takes ", f.count, open ? " values and more" : " values", ", not ",
        values.size());
}

double chained_rate(Schedule form, Values values, const Moment& m) {
  return kForms[size_t(form)].chained(values, m);
}
double closed_rate(Schedule form, Values values, const Moment& m) {
  return kForms[size_t(form)].closed(values, m);
}

}  // namespace flambeau::optim
