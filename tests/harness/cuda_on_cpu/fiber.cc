// Switching stacks: a few instructions on x86-64, where a block of 1024 threads switches thousands
// of times, and ucontext elsewhere. The sanitizers are told of every switch, or they would take
// another stack for a corrupt one.
#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace cuda_on_cpu {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStack = 256 << 10;  // instrumented frames are several times larger
#else
constexpr size_t kStack = 64 << 10;
#endif
constexpr size_t kGuard = 4096;

static thread_local Fiber* running = nullptr;

// Frames that were abandoned would go on looking like red zones to the address sanitizer.
static void forget_frames([[maybe_unused]] char* stack) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack, kStack);
#endif
}

#if defined(__x86_64__)

// Saves what the ABI lets a callee change nothing of, and swaps stacks.
extern "C" void cuda_on_cpu_switch(void** save, void* to);
__asm__(R"(
  .text
  .hidden cuda_on_cpu_switch
  .globl cuda_on_cpu_switch
  .type cuda_on_cpu_switch, @function
cuda_on_cpu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size cuda_on_cpu_switch, . - cuda_on_cpu_switch
)");

void Fiber::reset() {
  forget_frames(memory_ + kGuard);
  // As if first_entry had been called from a frame of zeros: six registers, where to go, and no way
  // back.
  auto* top = reinterpret_cast<uintptr_t*>(memory_ + kGuard + kStack);
  top[-1] = 0;
  top[-2] = reinterpret_cast<uintptr_t>(&Fiber::first_entry);
  for (int i = 3; i <= 8; ++i) top[-i] = 0;
  stack_pointer_ = top - 8;
}

void Fiber::switch_in() { cuda_on_cpu_switch(&caller_, stack_pointer_); }
void Fiber::switch_out() { cuda_on_cpu_switch(&stack_pointer_, caller_); }

#else

void Fiber::reset() {
  forget_frames(memory_ + kGuard);
  getcontext(&context_);
  context_.uc_stack.ss_sp = memory_ + kGuard;
  context_.uc_stack.ss_size = kStack;
  context_.uc_link = nullptr;
  makecontext(&context_, &Fiber::first_entry, 0);
}

void Fiber::switch_in() { swapcontext(&caller_, &context_); }
void Fiber::switch_out() { swapcontext(&context_, &caller_); }

#endif

Fiber::Fiber(void (*entry)()) : entry_(entry) {
  void* p = mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<char*>(p);
  mprotect(memory_, kGuard, PROT_NONE);
#if defined(__SANITIZE_THREAD__)
  sanitizer_ = __tsan_create_fiber(0);
#endif
  reset();
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(sanitizer_);
#endif
  munmap(memory_, kGuard + kStack);
}

void Fiber::first_entry() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &running->caller_bottom_, &running->caller_size_);
#endif
  running->entry_();
}

void Fiber::enter() {
  running = this;
#if defined(__SANITIZE_THREAD__)
  sanitizer_caller_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(sanitizer_, 0);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&sanitizer_caller_, memory_ + kGuard, kStack);
#endif
  switch_in();
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(sanitizer_caller_, nullptr, nullptr);
#endif
  running = nullptr;
}

void Fiber::leave() {
  Fiber* fiber = running;
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(fiber->sanitizer_caller_, 0);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fiber->sanitizer_, fiber->caller_bottom_, fiber->caller_size_);
#endif
  fiber->switch_out();
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fiber->sanitizer_, &fiber->caller_bottom_, &fiber->caller_size_);
#endif
}

}  // namespace cuda_on_cpu
