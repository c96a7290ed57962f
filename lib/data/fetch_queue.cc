// See fetch_queue.h. Threads hold the queue, so that it outlives a loader that goes while they
// fetch; a forked child has none of them and says so.
#include "data/fetch_queue.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "base/error.h"
#include "base/thread_pool.h"
#include "graph/generator.h"
#include "ops/ops.h"

namespace flambeau::data {

namespace {

Tensor pinned(const Tensor& t) {
  if (!t.device().is_cpu() || t.storage()->pinned()) return t;
  return ops::copy_(empty_pinned(t.sizes(), contiguous_strides(t.sizes()), t.dtype()),
                    ops::detach(t));
}

}  // namespace

FetchQueue::FetchQueue(Ref<Dataset> dataset, bool pin_memory)
    : dataset_(std::move(dataset)), pin_memory_(pin_memory), process_(::getpid()) {}

void FetchQueue::start(int workers) {
  threads_.reserve(size_t(workers));
  try {
    for (int i = 0; i < workers; ++i)
      threads_.emplace_back([self = shared_from_this()] { self->work(); });
  } catch (const std::system_error& e) {
    const size_t started = threads_.size();
    stop();
    fail(Code::unsupported, "DataLoader: the system started ", started, " of ", workers,
         " workers: ", e.what(), "; use a smaller num_workers");
  } catch (...) {
    stop();
    throw;
  }
}

bool FetchQueue::lost_workers() const { return !threads_.empty() && process_ != ::getpid(); }

void FetchQueue::stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& t : threads_) {
    if (t.get_id() == std::this_thread::get_id())
      t.detach();
    else
      t.join();
  }
  threads_.clear();
}

void FetchQueue::check_process() const {
  check(
      !lost_workers(), Code::unsupported,
      "DataLoader: its workers stayed in the process that was forked; make a loader in the child");
}

void FetchQueue::submit(std::vector<int64_t> indices, uint64_t seed) {
  check_process();
  auto job = std::make_shared<Job>();
  job->indices = std::move(indices);
  job->seed = seed;
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  work_.notify_one();
}

bool FetchQueue::empty() const { return in_flight() == 0; }

size_t FetchQueue::in_flight() const {
  check_process();
  std::lock_guard lock(mutex_);
  return jobs_.size();
}

void FetchQueue::fetch(Job& job) noexcept {
  try {
    // Draws of a data set follow from the batch, not from the thread that happens to fetch it.
    const auto generator = make_ref<Generator>(kCpu, job.seed);
    const GeneratorScope scope(*generator);
    job.batch = dataset_->fetch(job.indices);
    if (pin_memory_ && (is_available(DeviceType::cuda) || is_available(DeviceType::sim))) {
      for (Tensor& t : job.batch.tensors) t = pinned(t);
    }
  } catch (...) {
    job.error = std::current_exception();
  }
}

std::shared_ptr<FetchQueue::Job> FetchQueue::take() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    for (const auto& job : jobs_) {
      if (job->state != Job::waiting) continue;
      job->state = Job::running;
      return job;
    }
    work_.wait(lock);
  }
  return nullptr;
}

void FetchQueue::work() {
  const InlineLoops one_thread;  // the workers are the parallelism
  // What was cleared meanwhile is destroyed here, without the lock: batches may call the host.
  while (const std::shared_ptr<Job> job = take()) {
    fetch(*job);
    {
      std::lock_guard lock(mutex_);
      job->state = Job::done;
    }
    ready_.notify_all();
  }
}

bool FetchQueue::ready_within(double seconds) {
  std::shared_ptr<Job> job;  // outlives the lock, as above
  std::unique_lock lock(mutex_);
  if (threads_.empty() || jobs_.empty()) return true;
  job = jobs_.front();
  const auto limit = std::chrono::duration<double>(std::min(seconds, 1e9));  // fits the clock
  return ready_.wait_for(lock, limit, [&] { return job->state == Job::done; });
}

void FetchQueue::wait(double seconds) {
  if (seconds > 0 && !ready_within(seconds)) {
    throw Error(Code::callback, cat_text("DataLoader timed out after ", seconds, " seconds"),
                "the data set is still fetching the batch",
                "give the loader a larger timeout, more workers or a larger prefetch_factor");
  }
}

Batch FetchQueue::next() {
  check_process();
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Job> job = jobs_.front();
  if (threads_.empty()) {
    job->state = Job::running;
    lock.unlock();
    fetch(*job);
    lock.lock();
  } else {
    ready_.wait(lock, [&] { return job->state == Job::done; });
  }
  if (!jobs_.empty() && jobs_.front() == job) jobs_.pop_front();
  lock.unlock();
  if (job->error) std::rethrow_exception(job->error);
  return std::move(job->batch);
}

void FetchQueue::clear() {
  check_process();
  std::deque<std::shared_ptr<Job>> dropped;  // destroyed after the lock: batches may call the host
  {
    std::lock_guard lock(mutex_);
    dropped.swap(jobs_);
  }
}

}  // namespace flambeau::data
