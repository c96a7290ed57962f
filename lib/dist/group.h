// A group of ranks that call the same collectives in the same order. A call that waits runs on the
// caller's thread where nothing else is under way, else all run one after another on a thread of
// the group's own, so that their order is that of the program; what a provider enqueues on the
// streams of GPUs (stream_calls.h) waits for none of them. After a failure the group is over: every
// further call fails with the same error, and nobody waits for anything.
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "dist/account.h"
#include "dist/call.h"
#include "dist/own_process.h"
#include "dist/provider.h"
#include "dist/providers.h"
#include "dist/staging.h"
#include "dist/store.h"
#include "dist/stream_calls.h"
#include "dist/transfer.h"
#include "dist/work.h"
#include "dist/world.h"

namespace flambeau::dist {

struct GroupOptions {
  std::string backend = "gloo";  // as the program named it: "cpu:gloo,cuda:nccl", ...
  std::string name;              // empty: made of the ranks
  Millis timeout{std::chrono::minutes(30)};
};

class Group final : public RefCounted {
 public:
  // The group of a whole job. Returns when all ranks have come; throws what was missing at the
  // deadline.
  static Ref<Group> join(Ref<Store> store, int rank, int size, GroupOptions options);
  // Those `ranks` of this group, in that order. All ranks of this group call it; who is none of
  // them gets a group with the rank -1, in which every call fails, when the others have theirs:
  // they need the store until then, which this process may hold.
  Ref<Group> split(const std::vector<int32_t>& ranks, GroupOptions options);

  int rank() const { return rank_; }
  int size() const { return int(ranks_.size()); }
  const std::vector<int32_t>& world_ranks() const { return ranks_; }
  const std::string& name() const { return options_.name; }
  const std::string& backend_name() const { return options_.backend; }
  Millis timeout() const { return Millis(timeout_ms_); }
  World& world() const { return *world_; }
  const Account& account() const;
  // Whether it moves tensors of the cpu, so that numbers need no GPU to travel.
  bool takes_cpu() const { return backend_.cpu; }
  void set_timeout(Millis t);
  void check_goes_on() const;  // throws what has ended it

  Ref<Work> run(Call call, bool async);  // finished where not `async`
  Ref<Work> begin(Call call);            // send and recv
  // Sends and receives of this thread in between may begin at the end, as one: then the order in
  // which ranks name them does not matter. Nothing where they begin beside each other anyway.
  void start_coalescing();
  void end_coalescing();

  // Of this group and of no other of the job: programs may give one name to several.
  const std::string& key() const { return key_; }

  // What is under way or was last, for reports. Empty before the first call. Of a transfer between
  // two the tag is 0.
  struct Now {
    uint64_t sequence = 0, tag = 0;
    std::string what, place;
    double seconds = 0;  // since it began, or ended
    bool under_way = false, on_stream = false;
    std::optional<Transfer> transfer = {};  // that is under way
    std::optional<int32_t> peer = {};       // of a transfer the other rank, -1: any
  };
  Now now() const;
  // From any thread: every further call throws `error`. What is under way may still end well: not
  // at all, or for a second.
  enum class When { now, soon };
  void end(Error error, When when);
  // A rank that has left, and has done its part of what it called: calls to come may still find
  // what it sent; one that waits for more of it throws. A transfer between others goes on.
  struct Leaver {
    int rank;
    std::string who;                       // its process
    std::optional<std::string> last = {};  // its last message, once it was asked for
    std::chrono::steady_clock::time_point seen = std::chrono::steady_clock::now();
  };
  void miss(Leaver leaver);
  // Whose last message would be told if a call that waits finds no answer, and that message.
  std::optional<int> unheard_leaver() const;
  void hear(int rank, std::string last);
  void leave();  // the job: see World::leave
  void hurry();  // looks whether that second is over

 private:
  friend class PairWork;
  friend class StreamCalls;
  // Operands are let go before `work` says that it ended: their deleters must not call the group.
  struct Task {
    uint64_t sequence;
    Call call;
    Ref<Work> work;
    std::optional<Event> before;  // after what the operands are on their device
    Origin origin;
    Millis timeout;        // the group's when it was called
    int64_t ended_ns = 0;  // of the steady clock; 0: not well
  };

  Group(Ref<World> world, std::vector<int32_t> ranks, int rank, std::string key,
        GroupOptions options);
  ~Group() override;
  void destroy() noexcept override;
  void check_process() const;
  void connect(const Group* parent);
  void tell_others() const;  // who is not in it, that this rank has come
  void wait_for_members() const;
  void* communicator_of(const flam_dist_provider& provider, void* parent);
  uint64_t next_call(const What& what);
  void note_end(uint64_t sequence);
  std::exception_ptr why_over() const;
  bool is_on_streams(const Call& call) const;
  struct Outcome {
    std::optional<Event> ready;
    std::exception_ptr error;
  };
  Outcome perform(Task& task);  // on whichever thread
  static void conclude(Work& work, Outcome outcome);
  std::optional<Event> move(Task& task);
  void work();  // the group's thread
  void note(const Task& task);
  // A thread waits for a transfer, and then not for it.
  void note_pair(const Work& work, const What& what, const char* place,
                 std::chrono::steady_clock::time_point begun);
  void forget_pair(const Work& work);
  [[noreturn]] void explain(uint64_t sequence, const What& what, Millis timeout,
                            flam_dist_result result, const char* why);
  void throw_if_over() const;
  // A call has thrown what ended it to the program: no wait for a device says it once more.
  void tell() const;
  bool is_told() const { return told_; }
  // Keeps what a transfer that nobody waits for reads or writes until it has ended.
  void abandon(void* request, Staged memory);
  void sweep(bool all);
  void check_device(const Call& call) const;
  void abort_calls();                // with the mutex held
  std::vector<Now> waiting() const;  // all calls that wait now, not only the one that is shown
  // Who has left, of whom a call waits for more: of a transfer by its other rank. With the mutex
  // held; null: nobody.
  const Leaver* awaited_leaver(std::optional<int32_t> peer) const;

  const Ref<World> world_;
  const std::vector<int32_t> ranks_;
  const int rank_;
  const OwnProcess process_;
  const std::string key_;
  GroupOptions options_;
  std::atomic<int64_t> timeout_ms_;
  Backend backend_;
  struct Keys;
  std::unique_ptr<Keys> keys_;  // of the store, for communicators
  std::shared_ptr<Account> account_;
  const flam_dist_provider* provider_ = nullptr;
  void* communicator_ = nullptr;
  std::unique_ptr<StreamCalls> streams_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;
  std::thread thread_;
  bool* destroyed_ = nullptr;  // of the thread: whether what it let go was the group itself
  uint64_t sequence_ = 0;
  bool busy_ = false, stop_ = false;
  int splits_ = 0;
  std::map<std::string, int> alike_;  // splits by name and ranks
  std::vector<std::pair<void*, Staged>> abandoned_;
  std::optional<Error> over_;
  std::vector<Leaver> leavers_;  // in the order in which they were missed
  std::optional<std::chrono::steady_clock::time_point> end_calls_from_;
  bool aborted_ = false;
  mutable std::atomic<bool> told_{false};

  mutable std::mutex now_mutex_;
  struct Shown {
    uint64_t sequence = 0;
    What what;
    const char* place = nullptr;
    std::chrono::steady_clock::time_point at;
    bool under_way = false;
    const Work* transfer = nullptr;

    Now now() const;
  } now_;
  std::vector<Shown> pairs_;  // the one that was begun first in front
};

// Names where in the program this thread is, for reports: "train.py:33 in step". Interned.
void set_place(std::string_view place);
const char* place();

}  // namespace flambeau::dist
