// What communication cost, and the trace of all ranks, at the ABI. See communication.h.
#include "flambeau/communication.h"

#include <unistd.h>

#include <exception>
#include <optional>

#include "capi/gen/targets.h"
#include "capi/quiet.h"
#include "dist/account.h"
#include "dist/agreement.h"
#include "dist/clock.h"
#include "dist/mail.h"
#include "io/file.h"
#include "observe/profile.h"

namespace flambeau::capi {
namespace {

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// Rank 0's: its own events, then those of one rank after the other, as they come.
class TraceOfRanks {
 public:
  TraceOfRanks(std::string_view path, dist::Group& g) : path_(path), group_(g) {}

  void write(const std::string& own) {
    io::AtomicFile file(path_);
    file.write(observe::kTraceHead);
    file.write(own);
    while (received_ < group_.size()) {
      file.write(",\n");
      dist::recv_text(group_, received_++, [&](std::string_view text) { file.write(text); });
    }
    file.write("\n]}\n");
    file.commit();
  }

  // What other ranks still send, where the file could not be written.
  void receive_rest() {
    while (received_ < group_.size()) dist::recv_text(group_, received_++, [](auto) {});
  }

 private:
  const std::string_view path_;
  dist::Group& group_;
  int received_ = 1;
};

}  // namespace

double group_stat(const flam_group* group, std::string_view key) {
  return dist::figure(group->group->account(), key);
}

const char* communication_stats() {
  return borrowed_text([] { return dist::accounts_json(); });
}

const char* communication_summary() {
  return borrowed_text([] { return dist::accounts_table(); });
}

void communication_reset() { dist::reset_accounts(); }

double group_align_clocks(const flam_group* group) {
  return double(dist::align_clocks(*group->group)) / 1e9;
}

void group_export_trace(const flam_group* group, const flam_profile* profile,
                        std::string_view path) {
  dist::Group& g = *group->group;
  dist::align_clocks(g);
  const dist::PurposeScope counted(dist::Purpose::own);
  const int rank = g.rank();
  const std::string own =
      observe::rank_trace(*profile, {int(g.world_ranks()[size_t(rank)]), host_name()});
  std::exception_ptr failed;
  if (rank > 0) {
    dist::send_text(g, 0, own);
  } else {
    TraceOfRanks trace(path, g);
    try {
      trace.write(own);
    } catch (const Error& e) {
      if (e.code != Code::io) throw;  // the group is over
      failed = std::current_exception();
      trace.receive_rest();
    }
  }
  const bool written = dist::broadcast_numbers(g, dist::carrier(g), {failed ? 0 : 1}, 0)[0] != 0;
  if (failed) std::rethrow_exception(failed);
  check(written, Code::io, "rank 0 could not write the trace of all ranks to ", path,
        "; its error says why");
}

}  // namespace flambeau::capi
