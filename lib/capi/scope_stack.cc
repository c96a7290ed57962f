// See scope_stack.h. Tokens are unique in the process, so one of another thread never fits.
#include "capi/scope_stack.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"

namespace flambeau::capi {
namespace {

struct Scope {
  uint64_t token;
  std::function<void()> undo;
};

std::vector<Scope>& stack() {
  static thread_local std::unique_ptr<std::vector<Scope>> scopes;
  if (!scopes) scopes = std::make_unique<std::vector<Scope>>();
  return *scopes;
}

}  // namespace

uint64_t push_scope(std::function<void()> undo) {
  static std::atomic<uint64_t> next{0};
  const uint64_t token = ++next;
  stack().push_back({token, std::move(undo)});
  return token;
}

void pop_scope(uint64_t token) {
  std::vector<Scope>& open = stack();
  check(!open.empty(), Code::scope,
        "no scope is open on this thread: it was opened on another one, or popped already");
  if (open.back().token != token) {
    const bool below =
        std::any_of(open.begin(), open.end(), [&](const Scope& s) { return s.token == token; });
    fail(Code::scope,
         below
             ? "scopes are popped in the order opposite to their pushes: an inner one is still open"
             : "this scope was opened on another thread, or popped already");
  }
  const std::function<void()> undo = std::move(open.back().undo);
  open.pop_back();
  undo();
}

}  // namespace flambeau::capi
