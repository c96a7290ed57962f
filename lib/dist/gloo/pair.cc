// Sends and receives between two ranks: begun by one call, waited for or asked about by another.
#include <algorithm>
#include <future>
#include <vector>

#include "dist/gloo/exchange.h"
#include "dist/gloo/transfers.h"

namespace flambeau::gloo_adaptor {
namespace {

using Clock = std::chrono::steady_clock;

class Request {
 public:
  Request(const Communicator& c, void* data, const flam_dist_call& call, bool sends)
      : buffer(c.buffer(data, call.count * call.element_size)),
        sends_(sends),
        deadline_(Clock::now() + std::chrono::milliseconds(call.timeout_ms)) {}

  // A wait of Gloo's whose time has run out ends all connections, so that none can ask: who asks
  // has a thread wait to the end.
  bool over() {
    if (!waiting_.valid())
      waiting_ = std::async(std::launch::async, [this] {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
        return finish(std::max(left, std::chrono::milliseconds(1)));
      });
    return waiting_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  // The rank on the other side.
  int wait(std::chrono::milliseconds limit) {
    return waiting_.valid() ? waiting_.get() : finish(limit);
  }

  const std::unique_ptr<::gloo::transport::UnboundBuffer> buffer;

 private:
  int finish(std::chrono::milliseconds limit) {
    int who = -1;
    const bool done = sends_ ? buffer->waitSend(&who, limit) : buffer->waitRecv(&who, limit);
    if (!done) throw ::gloo::IoException("the transfer was aborted");
    return who;
  }

  const bool sends_;
  const Clock::time_point deadline_;
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

bool wait(void* given, int64_t timeout_ms, int32_t* peer) {
  auto* request = static_cast<Request*>(given);
  if (timeout_ms == 0 && !request->over()) return false;
  const std::unique_ptr<Request> owned(request);
  const int who = request->wait(std::chrono::milliseconds(timeout_ms));
  if (peer) *peer = who;
  return true;
}

}  // namespace flambeau::gloo_adaptor
