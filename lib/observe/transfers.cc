// Communication in a profile: by time, on lanes. A lane holds calls of one group that follow each
// other; where several are under way at once, as sends and receives are, each has its own. Times
// are compared as they were read: a begin and a length that were rounded do not add up to an end.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "observe/profile.h"

namespace flambeau::observe {
namespace {

constexpr int64_t kFirstLane = 1'000'000'000;  // no system numbers threads so high

struct Lane {
  int64_t number, free_from_ns;
};

void choose_lanes(std::vector<ProfileTransfer>& transfers) {
  std::map<const probe::Channel*, std::vector<Lane>> lanes;
  int64_t next = kFirstLane;
  for (ProfileTransfer& t : transfers) {
    auto& of_group = lanes[t.told.channel.get()];
    const auto is_free = [&](const Lane& l) { return l.free_from_ns <= t.told.begin_ns; };
    auto lane = std::ranges::find_if(of_group, is_free);
    if (lane == of_group.end()) lane = of_group.insert(lane, {next++, 0});
    lane->free_from_ns = t.told.end_ns;
    t.lane = lane->number;
  }
}

}  // namespace

void add_transfers(const probe::Recorded& recorded, const std::vector<size_t>& first,
                   flam_profile& profile) {
  const auto us = [&](int64_t time_ns) { return double(time_ns - recorded.begin_ns) / 1e3; };
  for (size_t i = 0; i < recorded.threads.size(); ++i) {
    for (const probe::Transfer& told : recorded.threads[i].transfers) {
      if (told.begin_ns < recorded.begin_ns) continue;  // began before the profile did
      ProfileTransfer t;
      t.told = told;
      t.name = cat_text(told.channel->backend, ':', told.call);
      t.begin_us = us(told.begin_ns);
      t.length_us = double(told.end_ns - told.begin_ns) / 1e3;
      t.asked_us = told.asked.time_ns ? us(told.asked.time_ns) : t.begin_us;
      if (told.span >= 0) t.event = told.span + int32_t(first[i]);
      if (t.event >= 0) profile.events[size_t(t.event)].host.self -= t.length_us;
      profile.transfers.push_back(std::move(t));
    }
  }
  std::ranges::stable_sort(profile.transfers, {}, &ProfileTransfer::begin_us);
  choose_lanes(profile.transfers);
}

}  // namespace flambeau::observe
