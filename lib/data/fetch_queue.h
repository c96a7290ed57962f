// Batches fetched ahead by threads and delivered in the order of submission. Without threads the
// caller fetches when it asks. A failed fetch is delivered in its turn, as the exception it was.
#pragma once
#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/dataset.h"

namespace flambeau::data {

// Each worker shares the queue until it returns.
class FetchQueue : public std::enable_shared_from_this<FetchQueue> {
 public:
  FetchQueue(Ref<Dataset> dataset, bool pin_memory);
  FetchQueue(const FetchQueue&) = delete;
  void start(int workers);
  // Ends the workers, and waits for fetches that are running; not for that of the calling thread,
  // whose data set drops its own loader.
  void stop();
  // Whether this is a forked child: the workers are in the parent, and the mutex is as one of them
  // may have left it, so that the queue can be neither used nor stopped. It stays: they share it.
  bool lost_workers() const;

  // `seed`: of the random numbers drawn while this batch is fetched, whoever fetches it.
  void submit(std::vector<int64_t> indices, uint64_t seed);
  bool empty() const;
  size_t in_flight() const;
  // Whether next() need not wait for a worker; waits for that as long as `seconds`.
  bool ready_within(double seconds);
  // Waits until a worker has the next batch; throws where that takes longer than `seconds` (0:
  // forever). The queue must not be empty.
  void wait(double seconds);
  Batch next();  // waits; the queue must not be empty
  void clear();  // drops what was submitted and not delivered

 private:
  struct Job {
    std::vector<int64_t> indices;
    uint64_t seed;
    Batch batch;
    std::exception_ptr error;
    enum { waiting, running, done } state = waiting;
  };

  void work();
  std::shared_ptr<Job> take();  // the next one to fetch, which it waits for; null at the end
  void check_process() const;
  void fetch(Job& job) noexcept;

  Ref<Dataset> dataset_;
  bool pin_memory_;
  pid_t process_;  // the one that has the workers
  mutable std::mutex mutex_;
  std::condition_variable work_, ready_;
  std::deque<std::shared_ptr<Job>> jobs_;  // by submission; the front is delivered next
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace flambeau::data
