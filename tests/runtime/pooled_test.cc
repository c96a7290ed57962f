// Pooled objects: freed memory comes back for the same size class, on whichever thread freed it,
// and objects that outlive a thread's lists go to the heap (the address sanitizer sees leaks).
#include "base/pooled.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace flambeau {
namespace {

template <size_t Bytes> struct Object : Pooled {
  char bytes[Bytes];
};

TEST(Pooled, ReusesTheLatestFreedOfItsSizeClass) {
  auto* first = new Object<100>;
  const void* address = first;
  delete first;
  const std::unique_ptr<Object<300>> other(new Object<300>);
  EXPECT_NE(static_cast<void*>(other.get()), address);
  const std::unique_ptr<Object<128>> same_class(new Object<128>);
  EXPECT_EQ(static_cast<void*>(same_class.get()), address);
}

TEST(Pooled, LiveObjectsNeverShareMemory) {
  std::vector<std::unique_ptr<Object<64>>> objects;
  std::set<void*> addresses;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3000; ++i) objects.emplace_back(new Object<64>);
    for (const auto& o : objects) addresses.insert(o.get());
    EXPECT_EQ(addresses.size(), objects.size());
    objects.clear();
    addresses.clear();
  }
}

TEST(Pooled, MemoryJoinsTheListOfTheThreadThatFreesIt) {
  auto* made_here = new Object<200>;
  const void* address = made_here;
  const void* seen_there = nullptr;
  std::thread([&] {
    delete made_here;
    const std::unique_ptr<Object<200>> there(new Object<200>);
    seen_there = there.get();
  }).join();
  EXPECT_EQ(seen_there, address);
}

TEST(Pooled, ObjectsOutliveTheirThreadsLists) {
  struct Keeper {
    std::unique_ptr<Object<64>> kept;
  };
  std::thread([] {
    thread_local Keeper keeper;  // made before the lists, so it goes after them
    keeper.kept.reset(new Object<64>);
    delete new Object<64>;
  }).join();
}

TEST(Pooled, LargeObjectsComeFromTheHeap) {
  const std::unique_ptr<Object<4096>> large(new Object<4096>);
  large->bytes[4095] = 1;
  EXPECT_EQ(large->bytes[4095], 1);
}

}  // namespace
}  // namespace flambeau
