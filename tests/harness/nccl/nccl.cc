// A stand-in for NCCL with its ABI, as far as dist/nccl_library.h binds it, which carries data
// between ranks of one process or several. It holds callers to communicators that are alive, taken
// in and of the current device, ids that are used once, groups that end on their thread, operands
// that are whole in memory of the device, one stream for what is one call, and all ranks to calling
// the same. FLAMBEAU_STANDIN_NCCL tells it to be too old (old), to refuse communicators (refuses),
// to lose the other ranks (loses), to hand out what a split makes late (splits late), or to leave
// ranks that differ waiting, as NCCL does (lenient).
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "driver.h"
#include "kernel.h"

using namespace nccl_standin;
using nccl::Comm;
using nccl::Datatype;
using nccl::Result;
using nccl::Stream;
using nccl::UniqueId;

namespace {

constexpr int kFirstMade = 5;  // number of an operation that a program made

struct Group {
  int depth = 0;
  std::vector<Enqueued> calls;
  bool wrong = false;
  ~Group() {
    if (depth) standin_breach("ncclGroupStart: a group that its thread did not end");
  }
};
thread_local Group t_group;

std::mutex g_mutex;
std::set<std::string>& used_ids() {
  static auto& all = *new std::set<std::string>;
  return all;
}

std::string text_of(const UniqueId& id) { return {id.bytes, strnlen(id.bytes, sizeof id.bytes)}; }

bool is_config(const nccl::Config* config) {
  return config && config->magic == nccl::kMagic && config->size >= 16;
}

std::unique_ptr<Communicator> new_communicator(const char* function, const nccl::Config& config) {
  auto made = std::make_unique<Communicator>();
  made->device = standin_enters(function).device;
  made->blocking = config.blocking != 0;
  return made;
}

// Calls of one group, of one communicator each: one kernel.
Result launch(Communicator& c, std::vector<Enqueued> calls) {
  std::vector<standin_access> touched;
  for (const Enqueued& call : calls) {
    if (call.stream != calls[0].stream)
      return breach("ncclGroupEnd", "calls of one communicator on two streams");
    const size_t in = call.in_bytes(), out = call.out_bytes();
    if ((in && !standin_holds(call.in, in)) || (out && !standin_holds(call.out, out)))
      return breach("ncclGroupEnd", "operands that are not the device's");
    if (in) touched.push_back({call.in, in, 0});
    if (out) touched.push_back({call.out, out, 1});
  }
  auto* kernel = new Kernel{&c, std::move(calls)};
  const Stream stream = kernel->calls[0].stream;
  const auto work = [](void*, const void* p) {
    const std::unique_ptr<Kernel> given(*static_cast<Kernel* const*>(p));
    run(*given);
    --given->c->running;
  };
  ++c.running;
  c.taken_in = c.blocking;
  standin_enters("ncclGroupEnd");
  standin_enqueues(stream, "ncclDevKernel", work, &kernel, sizeof kernel, touched.data(),
                   touched.size());
  return standin_failed() ? nccl::unhandled_cuda_error : nccl::success;
}

Result end_group() {
  Group group = std::exchange(t_group, {});
  group.depth = 0;
  if (group.wrong) return nccl::invalid_usage;
  bool pending = false;
  std::vector<Communicator*> order;
  for (const Enqueued& call : group.calls)
    if (std::ranges::find(order, call.c) == order.end()) order.push_back(call.c);
  for (Communicator* c : order) {
    std::vector<Enqueued> calls;
    for (const Enqueued& call : group.calls)
      if (call.c == c) calls.push_back(call);
    if (const Result r = launch(*c, std::move(calls)); r != nccl::success) return r;
    pending |= !c->blocking;
  }
  return pending ? nccl::in_progress : nccl::success;
}

Result enqueue(const char* function, Comm comm, Enqueued call) {
  Communicator* const c = idle(function, comm);
  const auto wrong = [](Result r) { return t_group.wrong = t_group.depth > 0, r; };
  if (!c) return wrong(nccl::invalid_usage);
  if (!size_of(call.type)) return wrong(breach(function, "no such type"));
  if (call.root < 0 || call.root >= c->size) return wrong(breach(function, "no such rank"));
  if (told("loses")) c->state = nccl::remote_error;
  call.c = c;
  t_group.calls.push_back(call);
  return t_group.depth ? nccl::success : end_group();
}

// Of a number that the communicator knows.
bool find_operation(const char* function, Comm comm, nccl::Operation number, Operation* out) {
  if (number < kFirstMade) return out->kind = number, true;
  Communicator* const c = alive(function, comm);
  const size_t i = size_t(number) - kFirstMade;
  if (!c || i >= c->operations.size() || !c->operations[i].scaled)
    return breach(function, "a dead operation"), false;
  return *out = c->operations[i], true;
}

}  // namespace

#define SHOWN extern "C" __attribute__((visibility("default")))

SHOWN Result ncclGetVersion(int* version) {
  *version = told("old") ? 21703 : 22809;
  return nccl::success;
}

SHOWN Result ncclGetUniqueId(UniqueId* out) {
  unsigned char bytes[12];
  if (getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes)) return nccl::system_error;
  std::memset(out, 0, sizeof *out);
  char* at = out->bytes + std::snprintf(out->bytes, 32, "flam-nccl-");
  for (const unsigned char b : bytes) at += std::snprintf(at, 3, "%02x", b);
  return nccl::success;
}

SHOWN Result ncclCommInitRankConfig(Comm* out, int size, UniqueId id, int rank,
                                    nccl::Config* config) {
  if (!is_config(config)) return breach(__func__, "a configuration that was not initialised");
  if (rank < 0 || rank >= size) return breach(__func__, "no such rank");
  if (told("refuses"))
    return failed(nccl::invalid_usage, "Duplicate GPU detected : rank 0 and rank 1");
  auto made = new_communicator(__func__, *config);
  made->name = text_of(id);
  made->size = size, made->rank = rank;
  {
    const std::lock_guard lock(g_mutex);
    if (!used_ids().insert(made->name + "-" + std::to_string(rank)).second)
      return breach(__func__, "an id that was used before");
  }
  Communicator* const c = add(std::move(made));
  *out = c;
  c->begin();
  return Result(c->blocking ? c->state.load() : int(nccl::in_progress));
}

// Who gets which rank is agreed on through a mesh of all, in the background.
SHOWN Result ncclCommSplit(Comm comm, int color, int key, Comm* out, nccl::Config* config) {
  Communicator* const all = idle(__func__, comm);
  if (!all) return nccl::invalid_usage;
  if (!is_config(config)) return breach(__func__, "a configuration that was not initialised");
  if (config->blocking || all->blocking) return breach(__func__, "not made to block");
  Communicator* const c = add(new_communicator(__func__, *config));
  const std::string name = all->name + "s" + std::to_string(all->splits++);
  *out = nullptr;
  c->beginning = std::thread([=] {
    Mesh mesh;
    std::vector<std::pair<int, int>> keys(size_t(all->size), {color, key});
    std::vector<Message> messages;
    bool agreed = mesh.connect(name, all->size, all->rank, c->aborted) == End::well;
    for (int r = 0; agreed && r < all->size; ++r) {
      if (r == all->rank) continue;
      std::pair<int, int>&own = keys[size_t(all->rank)], &other = keys[size_t(r)];
      messages.push_back({r, true, &own, sizeof own, {}});
      messages.push_back({r, false, &other, sizeof other, {}});
    }
    agreed = agreed && mesh.exchange(messages, c->aborted) == End::well;
    std::map<std::pair<int, int>, bool> places;  // key and former rank; whether it is this one
    for (int r = 0; r < all->size; ++r)
      if (keys[size_t(r)].first == color) places[{keys[size_t(r)].second, r}] = r == all->rank;
    c->name = name + "c" + std::to_string(color);
    c->size = int(places.size());
    c->rank = 0;
    for (const auto& [place, own] : places) {
      if (own) break;
      ++c->rank;
    }
    const bool met = agreed && c->mesh.connect(c->name, c->size, c->rank, c->aborted) == End::well;
    if (told("splits late")) std::this_thread::sleep_for(std::chrono::seconds(4));
    __atomic_store_n(out, static_cast<Comm>(c), __ATOMIC_RELEASE);
    c->state = met ? nccl::success : nccl::invalid_usage;
  });
  return nccl::in_progress;
}

SHOWN Result ncclCommGetAsyncError(Comm comm, Result* out) {
  Communicator* const c = alive(__func__, comm);
  if (!c) return nccl::invalid_argument;
  *out = Result(c->state.load());
  if (*out == nccl::success && !c->taken_in.exchange(true)) *out = nccl::in_progress;
  if (*out == nccl::success && c->finalized && c->running) *out = nccl::in_progress;
  if (*out == nccl::remote_error) failed(*out, "Connection closed by remote peer");
  return nccl::success;
}

SHOWN const char* ncclGetErrorString(Result result) {
  switch (result) {
    case nccl::invalid_usage:
      return "invalid usage";
    case nccl::remote_error:
      return "remote process exited or there was a network error";
    case nccl::unhandled_cuda_error:
      return "unhandled cuda error";
    default:
      return "unknown result code";
  }
}

SHOWN const char* ncclGetLastError(Comm) {
  static thread_local std::string text;
  text = last_error();
  return text.c_str();
}

SHOWN Result ncclCommFinalize(Comm comm) {
  Communicator* const c = alive(__func__, comm);
  if (!c) return nccl::invalid_argument;
  if (c->state == nccl::in_progress || !c->taken_in)
    return breach(__func__, "before the last call was taken in");
  if (c->finalized.exchange(true)) return breach(__func__, "for the second time");
  return c->blocking ? nccl::success : nccl::in_progress;
}

SHOWN Result ncclCommDestroy(Comm comm) {
  Communicator* const c = alive(__func__, comm);
  if (!c) return nccl::invalid_argument;
  if (!c->finalized || c->running) return breach(__func__, "before it was finalized");
  c->dead = true;
  if (c->beginning.joinable()) c->beginning.join();
  const std::lock_guard idle_now(c->work);
  c->mesh.close();
  return nccl::success;
}

SHOWN Result ncclCommAbort(Comm comm) {
  Communicator* const c = alive(__func__, comm);
  if (!c) return nccl::invalid_argument;
  c->aborted = c->dead = true;
  if (c->beginning.joinable()) c->beginning.join();
  const std::lock_guard idle_now(c->work);
  c->mesh.close();
  return nccl::success;
}

SHOWN Result ncclRedOpCreatePreMulSum(nccl::Operation* out, void* scalar, Datatype type,
                                      int residence, Comm comm) {
  Communicator* const c = idle(__func__, comm);
  if (!c) return nccl::invalid_usage;
  if (residence != nccl::scalar_on_host) return breach(__func__, "no scalar of the host");
  c->operations.push_back({nccl::sum, number_at(scalar, type), true});
  *out = nccl::Operation(kFirstMade + int(c->operations.size()) - 1);
  return nccl::success;
}

SHOWN Result ncclRedOpDestroy(nccl::Operation number, Comm comm) {
  Operation found;
  if (!find_operation(__func__, comm, number, &found)) return nccl::invalid_argument;
  static_cast<Communicator*>(comm)->operations[size_t(number) - kFirstMade] = {};
  return nccl::success;
}

SHOWN Result ncclAllReduce(const void* in, void* out, size_t count, Datatype type,
                           nccl::Operation number, Comm comm, Stream stream) {
  Operation op;
  if (!find_operation(__func__, comm, number, &op)) return nccl::invalid_argument;
  return enqueue(__func__, comm, {nullptr, Kind::all_reduce, in, out, count, type, op, 0, stream});
}

SHOWN Result ncclReduce(const void* in, void* out, size_t count, Datatype type,
                        nccl::Operation number, int root, Comm comm, Stream stream) {
  Operation op;
  if (!find_operation(__func__, comm, number, &op)) return nccl::invalid_argument;
  return enqueue(__func__, comm, {nullptr, Kind::reduce, in, out, count, type, op, root, stream});
}

SHOWN Result ncclBroadcast(const void* in, void* out, size_t count, Datatype type, int root,
                           Comm comm, Stream stream) {
  return enqueue(__func__, comm,
                 {nullptr, Kind::broadcast, in, out, count, type, {}, root, stream});
}

SHOWN Result ncclAllGather(const void* in, void* out, size_t count, Datatype type, Comm comm,
                           Stream stream) {
  return enqueue(__func__, comm, {nullptr, Kind::all_gather, in, out, count, type, {}, 0, stream});
}

SHOWN Result ncclReduceScatter(const void* in, void* out, size_t count, Datatype type,
                               nccl::Operation number, Comm comm, Stream stream) {
  Operation op;
  if (!find_operation(__func__, comm, number, &op)) return nccl::invalid_argument;
  return enqueue(__func__, comm,
                 {nullptr, Kind::reduce_scatter, in, out, count, type, op, 0, stream});
}

SHOWN Result ncclSend(const void* in, size_t count, Datatype type, int to, Comm comm,
                      Stream stream) {
  return enqueue(__func__, comm, {nullptr, Kind::send, in, nullptr, count, type, {}, to, stream});
}

SHOWN Result ncclRecv(void* out, size_t count, Datatype type, int from, Comm comm, Stream stream) {
  return enqueue(__func__, comm,
                 {nullptr, Kind::recv, nullptr, out, count, type, {}, from, stream});
}

SHOWN Result ncclGroupStart() {
  ++t_group.depth;
  return nccl::success;
}

SHOWN Result ncclGroupEnd() {
  if (t_group.depth == 0) return breach(__func__, "without ncclGroupStart");
  return --t_group.depth ? nccl::success : end_group();
}
