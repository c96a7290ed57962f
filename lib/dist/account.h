// What the calls of this process's groups have moved and how long that took: per group, collective
// and purpose the calls, bytes and seconds, and how many of the seconds backward hid. Counted
// always, from the first call on, and kept when a group ends: the table of a training is asked for
// afterwards. Each call costs two looks at the clock.
#pragma once
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/probe_transfer.h"
#include "dist/call.h"

namespace flambeau::dist {

// What a call is for. Those of the engine's own, for a trace of all ranks, are not counted.
enum class Purpose : uint8_t { program, gradients, own };

// Of this thread's calls while it lives.
class PurposeScope {
 public:
  explicit PurposeScope(Purpose purpose) noexcept;
  ~PurposeScope();
  PurposeScope(const PurposeScope&) = delete;

 private:
  const Purpose before_;
};

struct Figures {
  int64_t calls = 0, bytes = 0, ns = 0, hidden_ns = 0;
  double bus_bytes = 0;  // what a link carries of them
  void add(const Figures& f);

  double seconds() const { return double(ns) / 1e9; }
  double hidden_seconds() const { return double(hidden_ns) / 1e9; }
  double hidden_share() const { return ns ? double(hidden_ns) / double(ns) : 0; }
  double algorithm_bandwidth() const { return ns ? double(bytes) / seconds() : 0; }
  double bus_bandwidth() const { return ns ? bus_bytes / seconds() : 0; }
};

// When a call began to move its bytes.
struct Begun {
  Begun();
  int64_t at_ns, passes_ns;
};

// Who asked for a call, and for what.
struct Origin {
  Purpose purpose = Purpose::program;
  const char* place = nullptr;
  probe::Asked asked;
  static Origin here();
};

class Account {
 public:
  static constexpr size_t kKinds = size_t(Kind::recv) + 1, kPurposes = 2;
  using Rows = std::array<std::array<Figures, kPurposes>, kKinds>;

  explicit Account(probe::Channel channel);
  // The call has ended well, now, which is returned: a time of the steady clock. `inside`: this
  // thread did nothing else.
  int64_t add(const Call& call, uint64_t sequence, const Origin& origin, const Begun& begun,
              bool inside) noexcept;
  const probe::Channel& channel() const { return *channel_; }
  Rows rows() const;
  void reset();

 private:
  void tell(const Call& call, uint64_t sequence, const Origin& origin, const Begun& begun,
            int64_t now, bool inside) const noexcept;

  const std::shared_ptr<const probe::Channel> channel_;
  mutable std::mutex mutex_;
  Rows rows_;
};

// The account of a group; one of the same name and ranks before it goes on.
std::shared_ptr<Account> account_of(probe::Channel channel);
std::vector<std::shared_ptr<Account>> all_accounts();  // in the order in which groups were made

// "all_reduce.seconds": a figure of a collective, of "all", or of "ddp", the gradients of
// DistributedDataParallel. Throws Error(invalid argument) where there is none of that name.
double figure(const Account& account, std::string_view key);
std::string accounts_json();
std::string accounts_table();
void reset_accounts();

}  // namespace flambeau::dist
