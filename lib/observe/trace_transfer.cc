// See trace_transfer.h.
#include "observe/trace_transfer.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "ops/scalar_name.h"

namespace flambeau::observe {
namespace {

std::string list_of(const std::vector<int32_t>& ranks) {
  std::string text;
  for (const int32_t r : ranks) text += cat_text(text.empty() ? "" : ", ", r);
  return "[" + text + "]";
}

// PyTorch's traces write no underscore here.
std::string collective_name(const std::string& call) {
  return call == "all_reduce" ? "allreduce" : call;
}

// A transfer's ends, or the root of a collective that has one.
std::string peer_members(const probe::Transfer& t, const std::string& call) {
  const auto world = [&](int32_t rank) { return t.channel->ranks[size_t(rank)]; };
  if (t.peer < 0) return {};
  const int32_t own = world(t.channel->rank), other = world(t.peer);
  if (call == "send") return cat_text(",\"Src Rank\":", own, ",\"Dst Rank\":", other);
  if (call == "recv") return cat_text(",\"Src Rank\":", other, ",\"Dst Rank\":", own);
  return cat_text(",\"Root Rank\":", other);
}

}  // namespace

std::string transfer_arguments(const ProfileTransfer& transfer) {
  const probe::Transfer& t = transfer.told;
  const probe::Channel& c = *t.channel;
  std::string args = cat_text(
      "\"Collective name\":", json::quoted(collective_name(t.call)), ",\"In msg nelems\":", t.in,
      ",\"Out msg nelems\":", t.out, ",\"Group size\":", c.ranks.size(), ",\"dtype\":\"",
      ops::scalar_name(t.dtype), "\",\"Process Group Name\":", json::quoted(c.group),
      ",\"Process Group Ranks\":\"", list_of(c.ranks), "\",\"Rank\":", c.rank);
  args += peer_members(t, t.call);
  if (t.sequence) args += cat_text(",\"Seq\":", t.sequence);
  if (t.purpose) args += cat_text(",\"Purpose\":\"", t.purpose, '"');
  if (t.place) args += cat_text(",\"Place\":", json::quoted(t.place));
  return args + cat_text(",\"Waited us\":", json::number(transfer.begin_us - transfer.asked_us));
}

std::string job_members(const flam_profile& profile, const probe::Channel* job) {
  std::vector<const probe::Channel*> groups;
  for (const ProfileTransfer& t : profile.transfers)
    if (std::ranges::find(groups, t.told.channel.get()) == groups.end())
      groups.push_back(t.told.channel.get());
  if (groups.empty() && job) groups.push_back(job);
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string of_machine =
      cat_text(",\n\"host_name\":", json::quoted(host),
               ",\"clockOfRank0\":", job_epoch_ns.load() ? "true" : "false");
  if (groups.empty()) return of_machine;
  std::string config;
  for (const probe::Channel* c : groups)
    config += cat_text(config.empty() ? "" : ",", "{\"pg_name\":", json::quoted(c->group),
                       ",\"pg_desc\":", json::quoted(c->group),
                       ",\"backend_config\":", json::quoted(c->backend),
                       ",\"pg_size\":", c->ranks.size(), ",\"ranks\":", list_of(c->ranks), "}");
  const probe::Channel& first = *groups[0];
  return cat_text(of_machine, ",\n\"distributedInfo\":{\"backend\":", json::quoted(first.backend),
                  ",\"rank\":", first.ranks[size_t(first.rank)], ",\"world_size\":", first.job_size,
                  ",\"pg_count\":", groups.size(), ",\"pg_config\":[", config, "]}");
}

}  // namespace flambeau::observe
