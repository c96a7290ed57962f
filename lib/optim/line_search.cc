// The search for a step that holds the strong Wolfe conditions: widen until a minimum is bracketed,
// then narrow the bracket by cubic interpolation. Nocedal and Wright, 2006, chapter 3.5; the order
// of operations is that of torch.optim.LBFGS.
#include <algorithm>
#include <cmath>

#include "optim/lbfgs.h"

namespace flambeau::optim {

namespace {

constexpr double kDecrease = 1e-4, kCurvature = 0.9;

// The minimum within [low, high] of the cubic through two points and their slopes.
double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.at - b.at);
  const double square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double at =
      a.at <= b.at ? b.at - (b.at - a.at) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
                   : a.at - (a.at - b.at) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2));
  return std::min(std::max(at, low), high);
}

struct Search {
  const std::function<LinePoint(double)>& evaluate;
  const LinePoint& start;
  double reach, tolerance_change;
  int most;
  int* evals;
  int turns = 0;
  LinePoint ends[2];
  bool done = false;

  LinePoint look(double at) {
    ++*evals;
    return evaluate(at);
  }
  bool too_high(const LinePoint& p) const {
    return p.loss > start.loss + kDecrease * p.at * start.slope;
  }
  bool flat(const LinePoint& p) const { return std::abs(p.slope) <= -kCurvature * start.slope; }

  void widen(double first) {
    LinePoint before = start, now = look(first);
    for (; turns < most; ++turns) {
      if (too_high(now) || (turns > 1 && now.loss >= before.loss) || flat(now) || now.slope >= 0) {
        // In this order: a point too high is never taken, flat as it may be.
        done = !too_high(now) && !(turns > 1 && now.loss >= before.loss) && flat(now);
        ends[0] = done ? now : before;
        ends[1] = now;
        return;
      }
      const double next =
          cubic_minimum(before, now, now.at + 0.01 * (now.at - before.at), now.at * 10);
      before = now;
      now = look(next);
    }
    ends[0] = start;
    ends[1] = now;
  }

  void narrow() {
    bool stuck = false;
    int low = ends[0].loss <= ends[1].loss ? 0 : 1;
    while (!done && turns < most) {
      const double least = std::min(ends[0].at, ends[1].at),
                   greatest = std::max(ends[0].at, ends[1].at);
      if (std::abs(ends[1].at - ends[0].at) * reach < tolerance_change) break;
      double at = cubic_minimum(ends[0], ends[1], least, greatest);
      const double margin = 0.1 * (greatest - least);
      if (std::min(greatest - at, at - least) < margin) {  // hardly any progress
        const bool again = stuck || at >= greatest || at <= least;
        if (again) {
          at = std::abs(at - greatest) < std::abs(at - least) ? greatest - margin : least + margin;
        }
        stuck = !again;
      } else {
        stuck = false;
      }
      const LinePoint now = look(at);
      ++turns;
      if (too_high(now) || now.loss >= ends[low].loss) {
        ends[1 - low] = now;
        low = ends[0].loss <= ends[1].loss ? 0 : 1;
      } else {
        if (flat(now)) {
          done = true;
        } else if (now.slope * (ends[1 - low].at - ends[low].at) >= 0) {
          ends[1 - low] = ends[low];
        }
        ends[low] = now;
      }
    }
  }

  const LinePoint& best() const { return ends[0].loss <= ends[1].loss ? ends[0] : ends[1]; }
};

}  // namespace

LinePoint strong_wolfe(const std::function<LinePoint(double)>& evaluate, const LinePoint& start,
                       double first, double reach, double tolerance_change, int most, int* evals) {
  Search s{evaluate, start, reach, tolerance_change, most, evals, 0, {}, false};
  s.widen(first);
  s.narrow();
  return s.best();
}

}  // namespace flambeau::optim
