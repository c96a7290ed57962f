// Counting. See account.h.
#include "dist/account.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "base/thread_local.h"
#include "dist/group.h"
#include "engine/pass_time.h"

namespace flambeau::dist {
namespace {

FLAM_THREAD_LOCAL Purpose t_purpose = Purpose::program;

struct Elements {
  int64_t in, out;
};

int64_t sum_of(const std::vector<uint64_t>& counts) {
  return int64_t(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
}

// Of this rank, as PyTorch's traces count them.
Elements elements_of(const Call& call, const probe::Channel& channel) {
  const int64_t n = call.what.count, size = int64_t(channel.ranks.size());
  const bool root = call.what.peer == channel.rank;
  switch (call.what.kind) {
    case Kind::all_gather:
      return {n, n * size};
    case Kind::gather:
      return {n, root ? n * size : 0};
    case Kind::scatter:
      return {root ? n * size : 0, n};
    case Kind::reduce_scatter:
      return {n * size, n};
    case Kind::all_to_all:
      return {sum_of(call.in_counts), sum_of(call.out_counts)};
    case Kind::send:
      return {n, 0};
    case Kind::recv:
      return {0, n};
    default:
      return {n, n};
  }
}

// Bytes, and those that the slowest link of the best algorithm carries, as nccl-tests defines them
// for its algorithm and bus bandwidth (NVIDIA, nccl-tests, doc/PERFORMANCE.md).
Figures sizes_of(const Call& call, const probe::Channel& channel) {
  const double n = double(channel.ranks.size()), others = (n - 1) / n;
  int64_t elements = call.what.count;
  double factor = 1;
  switch (call.what.kind) {
    case Kind::all_reduce:
      factor = 2 * others;
      break;
    case Kind::all_gather:
    case Kind::gather:
    case Kind::scatter:
    case Kind::reduce_scatter:
      elements *= int64_t(channel.ranks.size());
      factor = others;
      break;
    case Kind::all_to_all:
      elements = sum_of(call.in_counts);
      factor = others;
      break;
    default:
      break;
  }
  Figures f;
  if (call.what.dtype != Dtype::none) f.bytes = elements * int64_t(size_of(call.what.dtype));
  f.bus_bytes = factor * double(f.bytes);
  return f;
}

// A program that makes groups without end keeps the latest.
constexpr size_t kMostAccounts = 4096;

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Account>> accounts;
};
Registry& registry() {  // groups may end after the program's statics
  static Registry& r = *new Registry;
  return r;
}

bool is_empty(const Account& account) {
  for (const auto& of_kind : account.rows())
    for (const Figures& f : of_kind)
      if (f.calls) return false;
  return true;
}

}  // namespace

PurposeScope::PurposeScope(Purpose purpose) noexcept : before_(std::exchange(t_purpose, purpose)) {}
PurposeScope::~PurposeScope() { t_purpose = before_; }

Origin Origin::here() { return {t_purpose, dist::place(), probe::asked_now()}; }

Begun::Begun() : at_ns(steady_ns()), passes_ns(pass_time::so_far(at_ns)) {}

void Figures::add(const Figures& f) {
  calls += f.calls;
  bytes += f.bytes;
  ns += f.ns;
  hidden_ns += f.hidden_ns;
  bus_bytes += f.bus_bytes;
}

Account::Account(probe::Channel channel)
    : channel_(std::make_shared<const probe::Channel>(std::move(channel))) {}

int64_t Account::add(const Call& call, uint64_t sequence, const Origin& origin, const Begun& begun,
                     bool inside) noexcept {
  const int64_t now = steady_ns();
  if (origin.purpose == Purpose::own) return now;
  Figures f = sizes_of(call, *channel_);
  f.calls = 1;
  f.ns = now - begun.at_ns;
  f.hidden_ns = std::clamp<int64_t>(pass_time::so_far(now) - begun.passes_ns, 0, f.ns);
  {
    const std::lock_guard lock(mutex_);
    rows_[size_t(call.what.kind)][size_t(origin.purpose)].add(f);
  }
  if (probe::on()) [[unlikely]]
    tell(call, sequence, origin, begun, now, inside);
  return now;
}

void Account::tell(const Call& call, uint64_t sequence, const Origin& origin, const Begun& begun,
                   int64_t now, bool inside) const noexcept {
  probe::Transfer t;
  t.channel = channel_;
  t.call = name_of(call.what.kind);
  t.purpose = origin.purpose == Purpose::gradients ? "DDP" : nullptr;
  t.place = origin.place;
  t.dtype = call.what.dtype;
  const Elements elements = elements_of(call, *channel_);
  t.in = elements.in, t.out = elements.out;
  t.peer = call.what.peer;
  t.sequence = sequence;
  t.asked = origin.asked;
  t.begin_ns = begun.at_ns;
  t.end_ns = now;
  probe::note_transfer(std::move(t), inside);
}

Account::Rows Account::rows() const {
  const std::lock_guard lock(mutex_);
  return rows_;
}

void Account::reset() {
  const std::lock_guard lock(mutex_);
  rows_ = {};
}

std::shared_ptr<Account> account_of(probe::Channel channel) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::erase_if(r.accounts, [](const auto& a) { return a.use_count() == 1 && is_empty(*a); });
  if (r.accounts.size() >= kMostAccounts) {
    const auto ended = [](const auto& a) { return a.use_count() == 1; };
    const auto oldest = std::ranges::find_if(r.accounts, ended);
    if (oldest != r.accounts.end()) r.accounts.erase(oldest);
  }
  for (const auto& a : r.accounts) {
    const probe::Channel& c = a->channel();
    if (c.group == channel.group && c.backend == channel.backend && c.ranks == channel.ranks &&
        c.rank == channel.rank)
      return a;
  }
  return r.accounts.emplace_back(std::make_shared<Account>(std::move(channel)));
}

std::vector<std::shared_ptr<Account>> all_accounts() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  return r.accounts;
}

void reset_accounts() {
  for (const auto& a : all_accounts()) a->reset();
}

}  // namespace flambeau::dist
