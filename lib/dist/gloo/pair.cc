// Sends and receives between two ranks: begun by one call, waited for or asked about by another.
#include <algorithm>
#include <future>
#include <vector>

#include "dist/gloo/exchange.h"
#include "dist/gloo/transfers.h"

namespace flambeau::gloo_adaptor {
namespace {

using Clock = std::chrono::steady_clock;
using Millis = std::chrono::milliseconds;

class Request {
 public:
  Request(const Communicator& c, void* data, const flam_dist_call& call, bool sends)
      : buffer(c.buffer(data, call.count * call.element_size)),
        sends_(sends),
        deadline_(Clock::now() + Millis(call.timeout_ms)) {}

  // Whether it is over by then. A wait of Gloo's whose time has run out ends all connections: what
  // ends this one is an alarm, or where it is only asked, a thread waits to the end.
  bool over_within(Alarms& alarms, Millis limit) {
    if (limit == Millis(0) && !waiting_.valid())
      waiting_ = std::async(std::launch::async, [this] { return finish(left()); });
    if (waiting_.valid()) return waiting_.wait_for(limit) == std::future_status::ready;
    const Alarms::Alarm set(alarms, Clock::now() + limit,
                            [this] { sends_ ? buffer->abortWaitSend() : buffer->abortWaitRecv(); });
    // The alarm comes first, however late; who asked looks at the deadline.
    return over_ = wait_once(left() + std::chrono::seconds(1));
  }
  // The rank on the other side.
  int wait(Millis limit) {
    return over_ ? who_ : waiting_.valid() ? waiting_.get() : finish(limit);
  }

  const std::unique_ptr<::gloo::transport::UnboundBuffer> buffer;

 private:
  Millis left() const {
    return std::max(std::chrono::ceil<Millis>(deadline_ - Clock::now()), Millis(1));
  }
  bool wait_once(Millis limit) {
    return sends_ ? buffer->waitSend(&who_, limit) : buffer->waitRecv(&who_, limit);
  }
  int finish(Millis limit) {
    while (!wait_once(limit)) {  // an alarm that came when its wait was over
    }
    return who_;
  }

  const bool sends_;
  const Clock::time_point deadline_;
  bool over_ = false;
  int who_ = -1;
  std::future<int> waiting_;  // destroyed first: waits for its thread
};

std::vector<int> others(const Communicator& c) {
  std::vector<int> ranks;
  for (int r = 0; r < c.size(); r++)
    if (r != c.rank()) ranks.push_back(r);
  return ranks;
}

}  // namespace

void* send(Communicator& c, const flam_dist_call& call) {
  auto request = std::make_unique<Request>(c, const_cast<void*>(call.in), call, true);
  request->buffer->send(call.peer, slot(Slots::pair, call.tag), 0, request->buffer->size);
  return request.release();
}

void* recv(Communicator& c, const flam_dist_call& call) {
  auto request = std::make_unique<Request>(c, call.out, call, false);
  const uint64_t where = slot(Slots::pair, call.tag);
  const size_t bytes = request->buffer->size;
  if (call.peer >= 0)
    request->buffer->recv(call.peer, where, 0, bytes);
  else
    request->buffer->recv(others(c), where, 0, bytes);
  return request.release();
}

bool wait(Communicator& c, void* given, int64_t timeout_ms, bool stays, int32_t* peer) {
  auto* request = static_cast<Request*>(given);
  std::unique_ptr<Request> owned(stays ? nullptr : request);
  if (stays) {
    try {
      if (!request->over_within(c.alarms(), Millis(timeout_ms))) return false;
    } catch (...) {
      delete request;
      throw;
    }
    owned.reset(request);
  }
  const int who = request->wait(Millis(timeout_ms));
  if (peer) *peer = who;
  return true;
}

}  // namespace flambeau::gloo_adaptor
