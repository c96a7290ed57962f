// What a TCP store's server does with a request. What waits is parked with one key that it watches,
// the first that is missing, so that a wait for many keys costs as much as they are.
#include <algorithm>

#include "base/error.h"
#include "dist/tcp_server.h"

namespace flambeau::dist {

namespace {

constexpr size_t kMaxWills = 256;  // of a connection
constexpr size_t kMaxWillBytes = size_t{1} << 20;

}  // namespace

void TcpServer::greet(Connection& c, const Message& hello) {
  const bool worker = hello.number == (kProtocol | kWorker);
  if (hello.op != Op::hello || (!worker && hello.number != kProtocol)) return drop(c);
  if (!same_secret(hello.values[0], key_)) {
    answer(c, {Op::stranger, hello.id, 0, {}, {}});  // which the socket's own memory takes
    return drop(c);
  }
  c.greeted = true;
  --strangers_;
  set_deadline(c, Clock::time_point::max());
  if (worker) {
    const std::lock_guard lock(mutex_);
    ++workers_;
    joined_.notify_all();
  }
  answer(c, {Op::ok, hello.id, kProtocol, {}, {""}});
}

void TcpServer::handle(Connection& c, Message& request) {
  if (!c.parked.keys.empty()) unpark(c);  // its time was over there, too: nobody waits for it
  Message reply{Op::ok, request.id, 0, {}, {""}};
  switch (request.op) {
    case Op::get:
    case Op::wait:
      return park(c, request);
    case Op::check:
      reply.number = table_.missing(request.keys) == request.keys.size();
      break;
    case Op::num_keys:
      reply.number = table_.size();
      break;
    case Op::list_keys:
      list_keys(reply);
      break;
    case Op::remove:
      reply.number = table_.remove(request.keys[0]);
      break;
    case Op::will:
      c.will_bytes += request.keys[0].size() + request.values[0].size();
      if (c.wills.size() >= kMaxWills || c.will_bytes > kMaxWillBytes) {
        reply = {Op::refused, request.id, 0, {}, {"store: too many last wills"}};
      } else {
        c.wills.emplace_back(std::move(request.keys[0]), std::move(request.values[0]));
      }
      break;
    case Op::withdraw:
      c.wills.clear();
      c.will_bytes = 0;
      break;
    case Op::set:
    case Op::append:
    case Op::add:
    case Op::compare_set:
      change(request, reply);
      break;
    default:
      return drop(c);  // answers are the server's
  }
  answer(c, reply);
}

// Keys that are too many are found before they are copied: this thread serves all workers.
void TcpServer::list_keys(Message& reply) {
  if (table_.key_list_bytes() <= kMaxValue) {
    reply.values[0] = key_list(table_.keys());
    return;
  }
  const std::string problem =
      cat_text("store: list_keys of ", table_.size(), " keys, more than ", kMaxValue,
               " bytes; num_keys counts them, check asks for named ones");
  reply = {Op::refused, reply.id, 0, {}, {problem}};
}

void TcpServer::change(Message& request, Message& reply) {
  const std::string& key = request.keys[0];
  try {
    if (request.op == Op::set) table_.set(key, std::move(request.values[0]));
    if (request.op == Op::append) table_.append(key, request.values[0]);
    if (request.op == Op::add) reply.number = table_.add(key, request.number);
    if (request.op == Op::compare_set)
      reply.values[0] = table_.compare_set(key, request.values[0], request.values[1]);
  } catch (const Error& e) {
    reply = {Op::refused, request.id, 0, {}, {e.problem}};
    return;
  }
  wake(key);
}

void TcpServer::park(Connection& c, Message& request) {
  c.parked = std::move(request);
  c.present = 0;
  const int64_t timeout = std::max<int64_t>(c.parked.number, 0);
  if (!c.parked.keys.empty()) set_deadline(c, deadline_after(Millis(timeout)));
  resume(c);
}

void TcpServer::resume(Connection& c) {
  const Keys& keys = c.parked.keys;
  c.present = table_.missing(keys, c.present);
  if (c.present == keys.size()) c.present = table_.missing(keys);  // one may be gone again
  if (c.present < keys.size()) {
    c.watched = keys[c.present];
    watchers_.emplace(c.watched, &c);
    return;
  }
  Message reply{Op::ok, c.parked.id, 0, {}, {""}};
  if (c.parked.op == Op::get) reply.values[0] = *table_.find(keys[0]);
  unpark(c);
  answer(c, reply);
}

void TcpServer::unpark(Connection& c) {
  if (c.deadline != Clock::time_point::max()) set_deadline(c, Clock::time_point::max());
  const auto [begin, end] = watchers_.equal_range(c.watched);
  const auto at = std::find_if(begin, end, [&](const auto& w) { return w.second == &c; });
  if (at != end) watchers_.erase(at);
  c.parked = {};
  c.watched.clear();
}

void TcpServer::wake(const std::string& key) {
  std::vector<Connection*> woken;
  const auto [begin, end] = watchers_.equal_range(key);
  for (auto at = begin; at != end; ++at) woken.push_back(at->second);
  watchers_.erase(begin, end);
  for (Connection* c : woken)
    if (!c->closing) resume(*c);
}

}  // namespace flambeau::dist
