// The scheduler of one block: runs threads in a shuffled order until each is done, opens barriers
// when every living thread is there, completes a warp's exchange when every lane of its mask is,
// and reports who is stuck otherwise.
#include "grid.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "copies.h"
#include "fiber.h"
#include "traffic.h"

namespace cuda_on_cpu {

Thread* current = nullptr;

namespace {

std::mutex one_grid;
thread_local bool in_kernel = false;

constexpr size_t kSharedLimit = 227 << 10;  // of a block on Hopper
constexpr size_t kCanary = 64;
constexpr unsigned char kPoison = 0xff;  // NaN as a float, -1 as an integer

constexpr uint64_t kFirstSeed = 1;

std::atomic<uint64_t> seed{[] {
  const char* text = std::getenv("FLAMBEAU_EMU_SEED");
  return text ? std::strtoull(text, nullptr, 0) : kFirstSeed;
}()};

uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void run_threads();

class Block {
 public:
  void run(Grid& grid, size_t shared_bytes, uint64_t random);
  bool begin_next();

 private:
  void prepare(Grid& grid, size_t shared_bytes, uint64_t random);
  void shuffle();
  bool run_ready();
  bool open_barrier();
  void check(size_t shared_bytes) const;
  [[noreturn]] void fail(const std::string& what);
  std::string where(const Thread& t) const;

  std::vector<Thread> threads_;
  std::vector<unsigned> order_;
  size_t at_ = 0;                               // in the order: whose turn it is
  std::vector<std::unique_ptr<Fiber>> fibers_;  // every one there is
  std::vector<Fiber*> idle_;
  std::unique_ptr<unsigned char, decltype(&std::free)> shared_{nullptr, &std::free};
  size_t shared_capacity_ = 0;
  Grid* grid_ = nullptr;
  uint64_t random_ = 0;
  size_t alive_ = 0;

  friend void cuda_on_cpu::exchange(const char*, unsigned, uint64_t);
};

Block& block = *new Block;  // a thread may still run a grid while the process ends

void Block::prepare(Grid& grid, size_t shared_bytes, uint64_t random) {
  grid_ = &grid;
  random_ = random;
  const dim3 d = grid.block_dim;
  const unsigned n = d.x * d.y * d.z;
  threads_.resize(n);
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0u);
  uint3 index{0, 0, 0};
  for (unsigned i = 0; i < n; ++i) {
    Thread& t = threads_[i];
    t.index = index;
    if (++index.x == d.x) index.x = 0, ++index.y;
    if (index.y == d.y) index.y = 0, ++index.z;
    t.lane = i % 32;
    t.warp = i / 32;
    t.state = State::fresh;
    t.fiber = nullptr;
    t.grid = &grid;
  }
  alive_ = n;
  forget_copies(int(n));
  if (shared_capacity_ < shared_bytes + kCanary) {
    shared_capacity_ = (shared_bytes + kCanary + 127) / 128 * 128;
    shared_.reset(static_cast<unsigned char*>(std::aligned_alloc(128, shared_capacity_)));
    if (!shared_) throw std::bad_alloc();
  }
  std::memset(shared_.get(), kPoison, shared_bytes + kCanary);
  grid.shared = shared_.get();
}

void Block::shuffle() {
  for (size_t i = order_.size(); i > 1; --i) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    std::swap(order_[i - 1], order_[size_t((random_ >> 32) * i >> 32)]);
  }
}

// Lets every thread that can run go on until it waits or is done; false where none could.
bool Block::run_ready() {
  bool progress = false;
  for (at_ = 0; at_ < order_.size(); ++at_) {
    Thread& t = threads_[order_[at_]];
    if (t.state == State::fresh) {
      if (idle_.empty()) {
        fibers_.push_back(std::make_unique<Fiber>(&run_threads));
        idle_.push_back(fibers_.back().get());
      }
      t.fiber = idle_.back();
      idle_.pop_back();
    } else if (t.state != State::ready) {
      continue;
    }
    progress = true;
    current = &t;
    t.fiber->enter();
    if (grid_->problem) fail(std::string(grid_->problem) + " in " + where(*current));
    if (current->state == State::done) idle_.push_back(current->fiber);
  }
  return progress;
}

// Of the fiber whose thread is done: gives it the next thread, where that is the next to run and
// has not begun, so that threads which never wait cost no switch.
bool Block::begin_next() {
  current->state = State::done;
  --alive_;
  if (grid_->problem) return false;
  for (size_t next = at_ + 1; next < order_.size(); ++next) {
    Thread& t = threads_[order_[next]];
    if (t.state == State::ready) return false;
    if (t.state != State::fresh) continue;
    t.fiber = current->fiber;
    current = &t;
    at_ = next;
    return true;
  }
  return false;
}

// What fibers run: one thread after another, for most finish without ever waiting.
void run_threads() {
  for (;;) {
    do current->grid->body(current->grid->arguments);
    while (block.begin_next());
    Fiber::leave();
  }
}

bool Block::open_barrier() {
  int votes = 0;
  for (const Thread& t : threads_) {
    if (t.state == State::at_warp) return false;
    if (t.state == State::at_barrier) votes += t.predicate;
  }
  for (Thread& t : threads_) {
    if (t.state != State::at_barrier) continue;
    t.votes = votes;
    t.voters = int(alive_);
    t.state = State::ready;
  }
  return true;
}

void Block::run(Grid& grid, size_t shared_bytes, uint64_t random) {
  prepare(grid, shared_bytes, random);
  while (alive_) {
    shuffle();
    while (run_ready()) {
    }
    if (alive_ && !open_barrier()) {
      for (const Thread& t : threads_) {
        if (t.state == State::at_warp)
          fail(where(t) + " waits at " + t.exchange + " for lanes that never come");
      }
    }
  }
  check(shared_bytes);
}

void Block::check(size_t shared_bytes) const {
  for (size_t i = 0; i < kCanary; ++i) {
    if (shared_.get()[shared_bytes + i] != kPoison) {
      throw KernelError(std::string(grid_->name) + ": wrote past its " +
                        std::to_string(shared_bytes) + " bytes of dynamic shared memory");
    }
  }
}

std::string Block::where(const Thread& t) const {
  auto triple = [](const uint3& v) {
    return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) +
           ")";
  };
  return "thread " + triple(t.index) + " of block " + triple(grid_->block);
}

// Threads that are in the middle of the kernel are forgotten where they stand.
void Block::fail(const std::string& what) {
  const std::string text = std::string(grid_->name) + ": " + what;
  idle_.clear();
  for (auto& f : fibers_) {
    f->reset();
    idle_.push_back(f.get());
  }
  throw KernelError(text);
}

void check_launch(const Grid& g, size_t shared_bytes) {
  const dim3 b = g.block_dim, d = g.grid_dim;
  const uint64_t threads = uint64_t(b.x) * b.y * b.z;
  auto refuse = [&](const char* why) {
    throw KernelError(std::string(g.name) + ": CUDA would refuse this launch: " + why);
  };
  if (threads == 0 || threads > 1024 || b.x > 1024 || b.y > 1024 || b.z > 64)
    refuse("threads of a block");
  if (!d.x || !d.y || !d.z || d.x > 2147483647u || d.y > 65535 || d.z > 65535)
    refuse("blocks of the grid");
  if (shared_bytes > kSharedLimit) refuse("more dynamic shared memory than a block may have");
  if (in_kernel) refuse("a kernel launches a kernel");
}

}  // namespace

void set_seed(uint64_t value) { seed = value; }

void run(Grid& grid, size_t shared_bytes) {
  check_launch(grid, shared_bytes);
  const std::lock_guard lock(one_grid);
  forget_sectors();
  struct Kernel {
    Kernel() { in_kernel = true; }
    ~Kernel() {
      in_kernel = false;
      current = nullptr;
    }
  } kernel;
  // Blocks come in their order, or, with another seed, from any of them on, up or down.
  const dim3 d = grid.grid_dim;
  const bool other = seed != kFirstSeed, down = other && mix(seed) >> 63;
  const uint64_t blocks = uint64_t(d.x) * d.y * d.z, from = other ? mix(seed) % blocks : 0;
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t number = (from + (down ? blocks - i : i)) % blocks;
    grid.block = {unsigned(number % d.x), unsigned(number / d.x % d.y),
                  unsigned(number / d.x / d.y)};
    block.run(grid, shared_bytes, mix(seed + mix(number)));
  }
}

void barrier(bool predicate) {
  current->predicate = predicate;
  current->state = State::at_barrier;
  Fiber::leave();
}

void stop(const char* problem) {
  current->grid->problem = problem;
  Fiber::leave();
  __builtin_unreachable();
}

// The last lane to come hands every lane all values and goes on itself.
void exchange(const char* name, unsigned mask, uint64_t value) {
  Thread& self = *current;
  if (!(mask >> self.lane & 1)) stop("a lane that is not in its own mask");
  self.exchange = name;
  self.mask = mask;
  self.value = value;
  self.state = State::at_warp;
  Thread* warp = &block.threads_[self.warp * 32];
  const size_t lanes = std::min<size_t>(32, block.threads_.size() - self.warp * 32);
  bool complete = lanes == 32 || mask >> lanes == 0;
  for (size_t i = 0; complete && i < lanes; ++i) {
    if (!(mask >> i & 1)) continue;
    complete = warp[i].state == State::at_warp && warp[i].mask == mask &&
               !std::strcmp(warp[i].exchange, name);
  }
  if (!complete) return Fiber::leave();
  for (size_t i = 0; i < lanes; ++i) {
    if (!(mask >> i & 1)) continue;
    for (size_t j = 0; j < lanes; ++j) warp[i].gathered[j] = warp[j].value;
    warp[i].state = State::ready;
  }
}

}  // namespace cuda_on_cpu
