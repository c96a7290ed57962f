// Backends by their names, and groups that a rank leaves: ranks are threads over one store.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "base/error.h"
#include "dist/collectives.h"
#include "dist/providers.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

using namespace std::chrono_literals;

std::string text_of(const std::function<void()>& fails) {
  try {
    fails();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

bool says(const std::string& text, const char* part) { return text.find(part) != text.npos; }

TEST(Backend, NamesKindsOfDevices) {
  const Backend all = backend("local", 2);
  EXPECT_TRUE(all.cpu && all.gpu);
  EXPECT_EQ(all.provider, &local_provider());
  const Backend cpu = backend("cpu:local", 2);
  EXPECT_TRUE(cpu.cpu && !cpu.gpu);
  EXPECT_EQ(backend("nccl", 1).provider, &local_provider());  // one rank needs no library
}

TEST(Backend, SaysWhatIsNotKnown) {
  for (const int size : {1, 2}) {
    EXPECT_TRUE(says(text_of([&] { backend("foo", size); }), "Invalid backend: 'foo'"));
    EXPECT_TRUE(says(text_of([&] { backend("cpu:local,tpu:local", size); }), "names no device"));
  }
  EXPECT_TRUE(says(text_of([] { backend("ucc", 2); }), "ucc is unsupported"));
}

// One group of as many threads, each of which runs `f` with its own.
void run(int size, const std::function<void(Group&)>& f) {
  const Ref<Store> store = hash_store();
  std::vector<std::thread> threads;
  for (int r = 0; r < size; r++)
    threads.emplace_back([&, r] {
      GroupOptions options;
      options.backend = "local";
      options.timeout = 5s;
      const std::string failed = text_of([&] { f(*Group::join(store, r, size, options)); });
      EXPECT_EQ(failed, "no error");
    });
  for (std::thread& t : threads) t.join();
}

Tensor ones() { return ops::full(Dims{4}, wrapped_number(1.0), Dtype::f32, kCpu); }

TEST(Group, SaysThatARankHasLeft) {
  run(3, [](Group& group) {
    Tensor x = ones();
    all_reduce(group, {&x, 1}, {}, false);
    if (group.rank() == 2) return group.leave();
    const std::string text = text_of([&] { barrier(group, false); });
    EXPECT_TRUE(says(text, "rank 2 ") && says(text, "has left the job")) << text;
  });
}

TEST(Group, AllToAllNeedsRoomForItsOwnPart) {
  run(2, [](Group& group) {
    const Tensor in = ones(), out = ones();
    const int64_t more[] = {3, 1}, less[] = {1, 3};
    const bool first = group.rank() == 0;
    const std::string text = text_of([&] {
      all_to_all(group, {&out, 1}, {&in, 1}, first ? more : less, first ? less : more, false);
    });
    EXPECT_TRUE(says(text, "elements for itself")) << text;
  });
}

}  // namespace
}  // namespace flambeau::dist
