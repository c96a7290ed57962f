// The simulated machine: streams as queues of operations, markers (what an event records), a
// scheduler that decides when operations run, a virtual clock per stream, and faults that stay. One
// mutex guards it all and is released while an operation runs.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/activity.h"
#include "device/sim/checker.h"
#include "device/sim_config.h"

namespace flambeau::sim {

struct SimStream;

// One record of an event: done once the stream has run what came before it.
struct Marker {
  SimStream* stream = nullptr;
  uint64_t position = 0;
  bool done = false;
  double time = 0;  // virtual, in microseconds
  int64_t traced_ns = 0;
  Clock clock;
};
using MarkerRef = std::shared_ptr<Marker>;

struct Operation {
  const char* name = "";
  std::function<void()> work;  // may be empty
  double microseconds = 0;     // on the virtual clock
  MarkerRef record, wait;
  bool is_kernel = false;
  std::vector<Access> accesses;  // kept for graphs
  Activity::Kind kind = Activity::Kind::kernel;
  const char* traced = nullptr;  // its name in traces; null: it is in none
  uint64_t launch = 0;
  int64_t asked_ns = 0;  // by the host, while traced
};

// What is captured from one stream, and from those that came to wait for its events meanwhile.
// The operations stand in the order of their calls, in which a replay runs them on one stream.
struct Graph {
  std::vector<Operation> operations;
  std::vector<SimStream*> streams;  // the first is the one that began
};

struct SimStream {
  int device;
  uint32_t number;  // in the checker
  std::string name;
  std::deque<Operation> queue;
  uint64_t enqueued = 0, finished = 0;
  bool busy = false;
  double time = 0;
  int64_t traced_ns = 0;  // until when it was busy, had each operation begun when it was asked for
  Clock clock;
  std::shared_ptr<Graph> capture;
  Clock captured;      // of the captured streams' work, what this one's follows
  std::thread worker;  // schedule threads
};

struct SimEvent {
  MarkerRef latest;
  std::weak_ptr<Graph> capture;  // in which it was recorded last
  Clock captured;
};

inline thread_local uint64_t t_launch = 0;  // which traces show for what this thread asks for

class Machine {
 public:
  using Lock = std::unique_lock<std::mutex>;
  static Machine& instance();

  Lock lock() { return Lock(mutex_); }
  SimStream* stream(int device, void* native);  // null: the default stream
  SimStream* add_stream(int device);
  void remove_stream(Lock& lock, SimStream* s);

  // Checks and enqueues; `accesses` in the operation feed the checker.
  void enqueue(Lock& lock, SimStream* s, Operation op, Touching kind = Touching::work);
  void record(Lock& lock, SimStream* s, SimEvent* e);
  void wait(Lock& lock, SimStream* s, const MarkerRef& marker);

  // Captures. The texts say what was wrong, and are empty where nothing was.
  void begin_capture(SimStream* s);
  std::string capture_wait(SimStream* s, const SimEvent& e);
  bool captures(int device) const;  // any stream of it
  std::string end_capture(SimStream* s, std::shared_ptr<Graph>& out);

  // Runs until the position is finished; the host's clock then knows of it.
  void finish(Lock& lock, SimStream* s, uint64_t position);
  void finish_device(Lock& lock, int device);
  void finish_marker(Lock& lock, const MarkerRef& marker);
  bool poll(Lock& lock,
            SimStream* s);      // whether all is done; if not, the schedule may advance a little
  bool busy(int device) const;  // whether any of its streams has work left
  bool poll_marker(Lock& lock, const MarkerRef& marker);

  // Faults. A fault is sticky at once and shows from the next synchronisation on.
  struct DeviceState {
    std::string fault;
    bool shown = false;
    int64_t launches_until_fault = 0;  // injected; 0: none
  };
  DeviceState& device(int index) { return devices_[size_t(index)]; }
  bool show_fault(int device);  // at a synchronisation: whether the device is lost
  std::string take_races();     // what the next synchronisation reports; empty if nothing
  std::vector<std::string> all_races() const { return races_; }
  void clear_races() { races_.clear(), unreported_.clear(); }

  // Traces: operations begin when they are asked for and what is before them is done, and take the
  // virtual clock's time.
  bool start_trace();       // false: there is one
  Activities take_trace();  // of what was done since the last look
  void stop_trace() { tracing_ = false; }

  Schedule schedule() const { return schedule_; }
  void set_schedule(Lock& lock, Schedule schedule, uint64_t seed);
  void forget(const void* data, size_t bytes) { checker_.forget(data, bytes); }

 private:
  Machine();
  bool ready(const SimStream& s) const;
  void run_head(Lock& lock, SimStream* s);
  void trace(SimStream* s, const Operation& op);
  void run_until(Lock& lock, SimStream* s, uint64_t position);
  void advance(Lock& lock, SimStream* s, uint64_t position);
  void advance_at_random(Lock& lock, SimStream* s, uint64_t position);
  bool step_at_random(Lock& lock);
  void step_towards(Lock& lock, SimStream* s);
  void serve(SimStream* s);
  void start_worker(SimStream* s);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<SimStream>> streams_;
  std::vector<SimStream*> defaults_;
  std::vector<DeviceState> devices_;
  Checker checker_;
  Clock host_;
  std::vector<std::string> races_, unreported_;
  bool tracing_ = false;
  Activities trace_;
  Schedule schedule_;
  std::mt19937_64 random_;
};

}  // namespace flambeau::sim
