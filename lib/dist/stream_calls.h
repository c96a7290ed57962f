// A group's calls on GPUs, where the provider enqueues them on a stream of its own: each waits
// there for what the current stream had before, and is watched by a thread until it has ended. One
// that does not end in time, or fails, ends the group, as a call through the host does; nothing
// that a program goes on to do has to wait for it.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "dist/provider.h"
#include "dist/stream_work.h"

namespace flambeau::dist {

class Group;

class StreamCalls {
 public:
  StreamCalls(Group& group, const flam_dist_provider& provider, void* communicator)
      : group_(group), provider_(provider), communicator_(communicator) {}
  ~StreamCalls();  // waits for nobody; see drain()

  Ref<Work> run(Call call, bool async);
  Ref<Work> transfer(Call call);  // a send or a receive
  // Transfers of this thread in between begin at the end, with each other rank as one: in which
  // order the ranks name them does not matter. Another thread's block waits for the end of this.
  void start_coalescing();
  void end_coalescing();

  // Until all that is enqueued has ended, which the thread that watches sees to. What is only
  // collected fails.
  void drain();
  void abort();
  Ref<StreamWork> oldest() const;  // that has not ended; null where there is none
  std::vector<Ref<StreamWork>> under_way() const;
  void* communicator() const { return communicator_; }

 private:
  struct Transfer {
    Call call;
    Ref<StreamWork> work;
  };
  class OnStream;

  Ref<StreamWork> work_of(const Call& call, uint64_t sequence);
  void watch(const Ref<StreamWork>& work);
  void enqueue(const Call& call, StreamWork& work);
  void enqueue(std::vector<Transfer> transfers);
  void enqueue_with(int peer, std::vector<Transfer*> transfers);
  Stream stream_for(Device device, int peer);
  void failed(const What& what, uint64_t sequence, Millis timeout, flam_dist_result result,
              const char* why);
  void watch();
  Ref<StreamWork> sweep();
  void look();
  void give_up();

  Group& group_;
  const flam_dist_provider& provider_;
  void* const communicator_;

  std::mutex order_;                               // of calls, the same on all ranks
  std::map<std::pair<int, int>, Stream> streams_;  // by device and other rank
  std::optional<std::thread::id> collecting_;
  std::condition_variable collecting_ended_;
  std::vector<Transfer> collected_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ref<StreamWork>> under_way_;
  std::thread thread_;
  bool stop_ = false, aborted_ = false, draining_ = false;
};

}  // namespace flambeau::dist
