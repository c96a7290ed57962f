// See clock.h.
#include "dist/clock.h"

#include <chrono>

#include "base/clock.h"
#include "dist/collectives.h"
#include "dist/mail.h"

namespace flambeau::dist {
namespace {

constexpr int kQuestions = 16;

int64_t own_epoch_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return now / std::chrono::nanoseconds(1) - steady_ns();
}

void answer(Group& g, int rank, int64_t epoch_ns) {
  for (int i = 0; i < kQuestions; i++) {
    recv_numbers(g, rank, 1);
    const int64_t heard = steady_ns();
    send_numbers(g, rank, {heard, epoch_ns, steady_ns()});
  }
}

}  // namespace

int64_t align_clocks(Group& g) {
  const PurposeScope own(Purpose::own);
  int64_t epoch_ns = own_epoch_ns(), offset = 0;
  if (g.rank() == 0) {
    for (int r = 1; r < g.size(); r++) answer(g, r, epoch_ns);
  } else {
    int64_t least = INT64_MAX;
    for (int i = 0; i < kQuestions; i++) {
      const int64_t asked = steady_ns();
      send_numbers(g, 0, {asked});
      const std::vector<int64_t> told = recv_numbers(g, 0, 3);
      const ClockSample sample{asked, told[0], told[2], steady_ns()};
      epoch_ns = told[1];
      if (sample.delay() >= least) continue;
      least = sample.delay();
      offset = sample.offset();
    }
  }
  barrier(g, false);  // who leaves the job first would end what others still ask
  job_epoch_ns = epoch_ns + offset;
  return offset;
}

}  // namespace flambeau::dist
