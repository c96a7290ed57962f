// See kernel.h. Operands are copied, so that sockets see no device's memory.
#include "kernel.h"

#include <chrono>
#include <cstring>
#include <string>

#include "base/error.h"

namespace nccl_standin {
namespace {

constexpr const char* kKinds[] = {"all_reduce",     "reduce", "broadcast", "all_gather",
                                  "reduce_scatter", "send",   "recv"};

bool is_transfer(const Enqueued& call) { return call.kind >= Kind::send; }

Label label_of(const Enqueued& call) {
  if (is_transfer(call)) return {int32_t(Kind::send), int32_t(call.type), 0, 0, call.count};
  const bool rooted = call.kind == Kind::reduce || call.kind == Kind::broadcast;
  return {int32_t(call.kind), int32_t(call.type), int32_t(call.operation.kind),
          rooted ? call.root : 0, call.count};
}

std::string text_of(const Label& l) {
  return flambeau::cat_text(kKinds[l.kind], " of ", l.count, " of type ", l.datatype,
                            ", operation ", l.operation, ", root ", l.root);
}

// One call's messages, and where they go.
class Moves {
 public:
  explicit Moves(const Enqueued& call) : call_(call), label_(label_of(call)) {
    own_.resize(call.in_bytes());
    if (!own_.empty()) std::memcpy(own_.data(), call.in, own_.size());
  }

  void add_messages(std::vector<Message>& messages) {
    const Communicator& c = *call_.c;
    const auto send = [&](int to, size_t at) {
      if (to != c.rank) messages.push_back({to, true, own_.data() + at, call_.part(), label_});
    };
    came_.resize(size_t(c.size));
    const auto receive = [&](int from) {
      came_[size_t(from)].resize(call_.part());
      if (from != c.rank)
        messages.push_back({from, false, came_[size_t(from)].data(), call_.part(), label_});
    };
    const bool root = c.rank == call_.root;
    for (int r = 0; r < c.size; ++r) switch (call_.kind) {
        case Kind::all_reduce:
        case Kind::all_gather:
          send(r, 0);
          receive(r);
          break;
        case Kind::reduce_scatter:
          send(r, size_t(r) * call_.part());
          receive(r);
          break;
        case Kind::reduce:
          if (r == call_.root) send(r, 0);
          if (root) receive(r);
          break;
        case Kind::broadcast:
          if (root) send(r, 0);
          if (r == call_.root) receive(r);
          break;
        case Kind::send:
          if (r == call_.root) send(r, 0);
          break;
        case Kind::recv:
          if (r == call_.root) receive(r);
          break;
      }
  }

  const std::vector<char>& sent() const { return own_; }
  void take_own(const std::vector<char>& from) { came_[size_t(call_.c->rank)] = from; }

  void deliver() {
    const Communicator& c = *call_.c;
    const size_t own_at = call_.kind == Kind::reduce_scatter ? size_t(c.rank) * call_.part() : 0;
    if (!is_transfer(call_) && !came_[size_t(c.rank)].empty())
      std::memcpy(came_[size_t(c.rank)].data(), own_.data() + own_at, call_.part());
    auto* const out = static_cast<char*>(call_.out);
    if (!call_.out_bytes()) return;
    switch (call_.kind) {
      case Kind::all_gather:
        for (int r = 0; r < c.size; ++r)
          std::memcpy(out + size_t(r) * call_.part(), came_[size_t(r)].data(), call_.part());
        break;
      case Kind::broadcast:
      case Kind::recv:
        std::memcpy(out, came_[size_t(call_.root)].data(), call_.part());
        break;
      case Kind::send:
        break;
      default: {
        std::vector<const void*> terms;
        for (const auto& term : came_) terms.push_back(term.data());
        std::vector<char> sum(call_.part());
        reduce(sum.data(), terms, call_.count, call_.type, call_.operation);
        std::memcpy(out, sum.data(), sum.size());
      }
    }
  }

 private:
  const Enqueued& call_;
  const Label label_;
  std::vector<char> own_;
  std::vector<std::vector<char>> came_;  // by rank
};

// NCCL does not see that ranks differ: their kernels go on until somebody aborts.
bool well(Communicator& c, End end, const Message* culprit) {
  if (end == End::well) return true;
  if (end == End::differs && !told("lenient"))
    breach("ncclGroupEnd",
           flambeau::cat_text("ranks called different things: ", text_of(culprit->label), "; rank ",
                              culprit->peer, " ", text_of(culprit->other)));
  if (end == End::lost) c.state = nccl::remote_error;
  while (!c.aborted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return false;
}

// A rank's transfers to itself, in their order.
void pass_on(const std::vector<Enqueued>& calls, std::vector<Moves>& moves, int rank) {
  std::vector<size_t> sends;
  for (size_t i = 0; i < calls.size(); ++i)
    if (calls[i].kind == Kind::send && calls[i].root == rank) sends.push_back(i);
  size_t next = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].kind != Kind::recv || calls[i].root != rank) continue;
    if (next == sends.size() || calls[sends[next]].part() != calls[i].part())
      return void(breach("ncclGroupEnd", "a rank receives from itself what it does not send"));
    moves[i].take_own(moves[sends[next++]].sent());
  }
  if (next != sends.size())
    breach("ncclGroupEnd", "a rank sends to itself what it does not receive");
}

bool move(Communicator& c, const std::vector<Enqueued>& calls) {
  std::vector<Moves> moves(calls.begin(), calls.end());
  std::vector<Message> messages;
  for (Moves& m : moves) m.add_messages(messages);
  const Message* culprit = nullptr;
  const End end = c.mesh.exchange(messages, c.aborted, &culprit);
  if (!well(c, end, culprit)) return false;
  pass_on(calls, moves, c.rank);
  for (Moves& m : moves) m.deliver();
  return true;
}

}  // namespace

size_t Enqueued::in_bytes() const {
  const bool reads = kind == Kind::recv ? false : kind != Kind::broadcast || c->rank == root;
  return reads ? part() * (kind == Kind::reduce_scatter ? size_t(c->size) : 1) : 0;
}

size_t Enqueued::out_bytes() const {
  const bool writes = kind == Kind::send ? false : kind != Kind::reduce || c->rank == root;
  return writes ? part() * (kind == Kind::all_gather ? size_t(c->size) : 1) : 0;
}

void run(Kernel& kernel) {
  Communicator& c = *kernel.c;
  const std::lock_guard one(c.work);
  std::vector<Enqueued> together;
  for (const Enqueued& call : kernel.calls) {
    if (c.aborted) break;
    if (is_transfer(call)) {
      together.push_back(call);
    } else if (!move(c, {call})) {
      break;
    }
  }
  if (!c.aborted && !together.empty()) move(c, together);
}

}  // namespace nccl_standin
