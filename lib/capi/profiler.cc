// Targets of profiler.h: one recording at a time in the process, which ends as a handle; a range
// costs one look where nothing is recorded.
#include "flambeau/profiler.h"

#include <algorithm>
#include <memory>

#include "base/warning.h"
#include "capi/callback.h"
#include "capi/gen/targets.h"
#include "capi/quiet.h"
#include "device/label.h"
#include "dist/account.h"
#include "io/file.h"
#include "observe/profile.h"
#include "observe/step_report.h"

namespace flambeau::capi {
namespace {

// That of the group that was made first; null where there is none, and where others say another
// rank of the job, as those of ranks that are threads do.
std::shared_ptr<const dist::Account> account_of_job() {
  const auto accounts = dist::all_accounts();
  if (accounts.empty()) return nullptr;
  const auto rank = [](const auto& a) { return a->channel().ranks[size_t(a->channel().rank)]; };
  const auto alike = [&](const auto& a) { return rank(a) == rank(accounts[0]); };
  return std::ranges::all_of(accounts, alike) ? accounts[0] : nullptr;
}

}  // namespace

void profiler_start(bool record_shapes, bool profile_memory, bool with_modules, bool device_time) {
  probe::start({record_shapes, profile_memory, with_modules, device_time});
}

bool profiler_is_running() { return probe::running(); }

Ref<flam_profile> profiler_stop() {
  Ref<flam_profile> made = make_ref<flam_profile>(probe::stop());
  static ToldOnce untraced, lost;
  try {
    if (!made->untraced.empty())
      untraced.warn("Times of GPUs in profiles are of whole operations, without kernels' names: ",
                    made->untraced);
    if (made->lost_activities)
      lost.warn("A profile misses ", made->lost_activities,
                " kernels or copies, for which there was no memory: profile fewer steps");
  } catch (const Error& e) {  // the recording would be lost; its table says the same
    if (e.drop_payload) e.drop_payload(e.payload);
  }
  return made;
}

uint64_t range_begin(std::string_view name) {
  return probe::on() ? probe::begin(probe::Kind::range, intern(name)) : 0;
}

void range_end(uint64_t range) {
  if (range) probe::end(range);
}

const char* profile_table(const flam_profile* profile, std::string_view sort_by, int64_t row_limit,
                          bool by_shape, bool by_module) {
  return text_of_thread(
      [&] { return observe::table(*profile, sort_by, row_limit, {by_shape, by_module}); });
}

const char* profile_averages(const flam_profile* profile, bool by_shape, bool by_module) {
  return borrowed_text([&] { return observe::averages_json(*profile, {by_shape, by_module}); });
}

const char* profile_events(const flam_profile* profile) {
  return borrowed_text([&] { return observe::events_json(*profile); });
}

const char* profile_step_report(const flam_profile* profile) {
  return borrowed_text([&] { return observe::step_report_text(*profile); });
}

void profile_export_trace(const flam_profile* profile, std::string_view path) {
  const auto account = account_of_job();
  const std::string text = observe::chrome_trace(*profile, account ? &account->channel() : nullptr);
  io::AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace flambeau::capi
