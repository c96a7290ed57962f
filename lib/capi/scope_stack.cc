// See scope_stack.h. Tokens are unique in the process, so one of another thread never fits.
#include "capi/scope_stack.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/thread_local.h"

namespace flambeau::capi {
namespace {

struct Scope {
  uint64_t token;
  std::function<void()> undo;
};

FLAM_THREAD_LOCAL size_t t_open = 0, t_floor = 0;  // of stack()
FLAM_THREAD_LOCAL std::vector<Scope>* t_stack = nullptr;
FLAM_THREAD_LOCAL bool t_ended = false;  // nobody is left to close what is opened now

std::function<void()> take_innermost(std::vector<Scope>& open) {
  std::function<void()> undo = std::move(open.back().undo);
  open.pop_back();
  --t_open;
  return undo;
}

// What an open scope holds may run the program's code when it goes, which opens scopes in turn: the
// stack outlasts them all.
struct ThreadEnd {
  bool armed = false;
  ~ThreadEnd() {
    while (t_stack && !t_stack->empty()) take_innermost(*t_stack);
    t_ended = true;
    delete std::exchange(t_stack, nullptr);
  }
};

std::vector<Scope>& stack() {
  if (!t_stack) {
    check(!t_ended, Code::scope, "this thread is ending and has closed its scopes: none opens now");
    static thread_local ThreadEnd at_end;
    at_end.armed = true;
    t_stack = new std::vector<Scope>;
  }
  return *t_stack;
}

[[noreturn]] void fail_order(const std::vector<Scope>& open, uint64_t token) {
  const auto found =
      std::find_if(open.begin(), open.end(), [&](const Scope& s) { return s.token == token; });
  const char* why = "this scope was opened on another thread, or popped already";
  if (found != open.end() && found < open.begin() + std::ptrdiff_t(t_floor)) {
    why = "this scope was opened by the caller of the callback that runs; it pops it itself";
  } else if (found != open.end()) {
    why = "scopes are popped in the order opposite to their pushes: an inner one is still open";
  }
  fail(Code::scope, why);
}

}  // namespace

uint64_t push_scope(std::function<void()> undo) {
  static std::atomic<uint64_t> next{0};
  const uint64_t token = ++next;
  stack().push_back({token, std::move(undo)});
  ++t_open;
  return token;
}

void pop_scope(uint64_t token) {
  check(t_open > 0, Code::scope,
        "no scope is open on this thread: it was opened on another one, or popped already");
  std::vector<Scope>& open = stack();
  if (t_open == t_floor || open.back().token != token) fail_order(open, token);
  take_innermost(open)();
}

size_t raise_scope_floor() noexcept { return std::exchange(t_floor, t_open); }
void lower_scope_floor(size_t before) noexcept { t_floor = before; }

void close_scopes_to_floor() noexcept {
  while (t_open > t_floor) {
    try {
      take_innermost(stack())();
    } catch (...) {  // what a scope reports when it ends concerns the program that left it open
    }
  }
}

}  // namespace flambeau::capi
