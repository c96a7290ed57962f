// NCCL over its stand-in: ranks are threads with a device each, whose streams run beside each
// other. What the provider enqueues keeps the contract; what breaks it ends a process of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "base/error.h"
#include "contract.h"
#include "device/sim/control.h"
#include "device/streams.h"
#include "dist/collectives.h"
#include "dist/nccl_library.h"
#include "dist/providers.h"
#include "ops/ops.h"
#include "tests/kernels/tensors.h"

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

Device gpu(int rank) { return {DeviceType::cuda, int16_t(rank)}; }

Tensor on(int rank, const std::vector<float>& values) {
  return ops::to_device(tensor_of(values), gpu(rank), false);
}
std::vector<float> back(const Tensor& t) {
  return values_of<float>(ops::to_device(t, kCpu, false));
}

class Nccl : public testing::Test {
 protected:
  Nccl() { sim::set_schedule(sim::Schedule::threads); }
  ~Nccl() override { sim::set_schedule(sim::Schedule::lazy); }

  static void run(const std::function<void(Group&)>& f, const char* backend = "nccl",
                  Millis timeout = 20s) {
    const Ref<Store> store = hash_store();
    std::vector<std::thread> threads;
    for (int r = 0; r < 2; r++)
      threads.emplace_back([&, r] {
        set_current_device(gpu(r));
        GroupOptions options;
        options.backend = backend;
        options.timeout = timeout;
        const std::string failed = text_of([&] { f(*Group::join(store, r, 2, options)); });
        EXPECT_EQ(failed, "no error");
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(cuda_runtime::breaches(), 0);
  }
};

TEST_F(Nccl, EveryCollective) {
  run([](Group& g) {
    const int r = g.rank();
    const float own = float(r + 1);
    Tensor x = on(r, {own, 2, own});
    all_reduce(g, {&x, 1}, {ReduceOp::avg}, false);
    EXPECT_EQ(back(x), (std::vector<float>{1.5, 2, 1.5}));
    all_reduce(g, {&x, 1}, {ReduceOp::premul_sum, 0.5}, false);
    EXPECT_EQ(back(x), (std::vector<float>{1.5, 2, 1.5}));
    reduce(g, x, 1, {}, false);
    EXPECT_EQ(back(x)[0], r == 1 ? 3 : 1.5);
    broadcast(g, {&x, 1}, 1, false);
    EXPECT_EQ(back(x)[1], 4);
    const std::vector<Tensor> parts = {on(r, {0, 0}), on(r, {0, 0})};
    all_gather(g, parts, on(r, {own, -own}), false);
    EXPECT_EQ(back(parts[1]), (std::vector<float>{2, -2}));
    gather(g, r == 0 ? TensorsView(parts) : TensorsView(), on(r, {own, own}), 0, false);
    EXPECT_EQ(back(parts[1])[1], r == 0 ? 2 : -2);
    const Tensor one = on(r, {0});
    const std::vector<Tensor> two = {on(r, {own}), on(r, {10 * own})};
    reduce_scatter(g, one, two, {}, false);
    EXPECT_EQ(back(one)[0], r == 0 ? 3 : 30);
    scatter(g, one, r == 1 ? TensorsView(two) : TensorsView(), 1, false);
    EXPECT_EQ(back(one)[0], r == 0 ? 2 : 20);
    const Tensor out = on(r, {0, 0, 0}), in = on(r, {own, own + 0.25f, own + 0.5f});
    const int64_t rows[] = {1 + r, 2 - r};  // to and from each rank
    all_to_all(g, {&out, 1}, {&in, 1}, rows, rows, false);
    const std::vector<float> wanted[] = {{1, 2, 2.25}, {1.25, 1.5, 2.5}};
    EXPECT_EQ(back(out), wanted[r]);
    barrier(g, false);
  });
}

// A tensor that has gaps is reduced through memory of the device, in the order of the streams.
TEST_F(Nccl, StridedOperands) {
  run([](Group& g) {
    const int r = g.rank();
    const Tensor x = ops::reshape(on(r, {1, 2, 3, 4, 5, 6}), Dims{2, 3});
    const Tensor t = transposed(x, 0, 1), column = ops::select(x, 1, 1);
    all_reduce(g, {&t, 1}, {}, true)->wait();
    all_reduce(g, {&column, 1}, {}, false);
    EXPECT_EQ(back(ops::reshape(x, Dims{6})), (std::vector<float>{2, 8, 6, 8, 20, 12}));
  });
}

TEST_F(Nccl, WaitsLetTheStreamWaitAndNotTheProgram) {
  const Ref<Store> go = hash_store();
  run([&](Group& g) {
    Tensor x = on(g.rank(), {1, 2});
    all_reduce(g, {&x, 1}, {}, false);  // makes the communicator
    synchronize(gpu(g.rank()));
    if (g.rank() == 1) go->wait({"go"}, 10s);
    const Ref<Work> work = all_reduce(g, {&x, 1}, {}, true);
    work->wait();
    if (g.rank() == 0) {
      EXPECT_FALSE(work->done());
      EXPECT_TRUE(says(text_of([&] { work->wait(50ms); }), "has not ended after 0.05 s"));
      EXPECT_TRUE(g.now().under_way && g.now().sequence == 2);
      go->set("go", "");
    }
    EXPECT_EQ(back(x), (std::vector<float>{4, 8}));
    EXPECT_TRUE(work->done());
  });
}

TEST_F(Nccl, TransfersInBothDirectionsBeginAsOne) {
  run([](Group& g) {
    const int r = g.rank();
    Tensor in = on(r, {float(r), 7}), out = on(r, {0, 0});
    g.start_coalescing();
    const Ref<Work> sent = send(g, in, 1 - r, 0), got = recv(g, out, 1 - r, 0);
    EXPECT_TRUE(says(text_of([&] { got->wait(); }), "begins at the end of the block"));
    g.end_coalescing();
    got->wait();
    sent->wait();
    EXPECT_EQ(back(out), (std::vector<float>{float(1 - r), 7}));
    EXPECT_EQ(got->source(), 1 - r);
    EXPECT_TRUE(says(text_of([&] { g.end_coalescing(); }), "has begun no block"));
    EXPECT_TRUE(says(text_of([&] { recv(g, out, -1, 0); }), "name the rank that sends"));
  });
}

// The whole group again is split from the former communicator; one part of it is made anew.
TEST_F(Nccl, GroupsOfAGroup) {
  run([](Group& g) {
    Tensor x = on(g.rank(), {float(g.rank() + 1)});
    all_reduce(g, {&x, 1}, {}, false);
    GroupOptions options;
    options.backend = "nccl";
    options.timeout = 20s;
    const Ref<Group> turned = g.split({1, 0}, options);
    EXPECT_EQ(turned->rank(), 1 - g.rank());
    Tensor y = on(g.rank(), {float(turned->rank())});
    broadcast(*turned, {&y, 1}, 0, false);
    all_reduce(*turned, {&x, 1}, {}, false);
    EXPECT_EQ(back(x)[0], 6);
    EXPECT_EQ(back(y)[0], 0);
  });
}

TEST_F(Nccl, BesideAProviderForTheHost) {
  run(
      [](Group& g) {
        Tensor here = tensor_of(std::vector<float>{1, 2}), there = on(g.rank(), {1, 2});
        all_reduce(g, {&here, 1}, {}, false);
        all_reduce(g, {&there, 1}, {}, false);
        barrier(g, false);
        EXPECT_EQ(values_of<float>(here), back(there));
      },
      "cpu:local,cuda:nccl");
}

TEST_F(Nccl, WhatItDoesNotReduceIsNamedAndEndsNothing) {
  run([](Group& g) {
    Tensor small = ops::to(on(g.rank(), {1, 2}), Device{}, Dtype::i16), x = on(g.rank(), {1});
    const std::string text = text_of([&] { all_reduce(g, {&small, 1}, {}, false); });
    EXPECT_TRUE(says(text, "all_reduce(int16[2], sum): NCCL does not reduce int16")) << text;
    broadcast(g, {&small, 1}, 0, false);
    all_reduce(g, {&x, 1}, {}, false);
    EXPECT_EQ(back(x)[0], 2);
  });
}

// One rank never calls: the other's stream is let go at the deadline, and says why at once.
TEST_F(Nccl, TheDeadlineEndsWhatWaitsOnADevice) {
  const Ref<Store> done = hash_store();
  run(
      [&](Group& g) {
        Tensor x = on(g.rank(), {1});
        all_reduce(g, {&x, 1}, {}, false);
        synchronize(gpu(g.rank()));
        if (g.rank() == 1) return done->wait({"done"}, 20s);
        all_reduce(g, {&x, 1}, {}, false);
        const std::string text = text_of([&] { synchronize(gpu(0)); });
        EXPECT_TRUE(says(text, "all_reduce(float32[1], sum) #2") && says(text, "rank 1")) << text;
        EXPECT_TRUE(says(text_of([&] { barrier(g, false); }), "was not answered within 1.0 s"));
        synchronize(gpu(0));
        EXPECT_EQ(back(on(0, {5}))[0], 5);
        done->set("done", "");
      },
      "nccl", 1s);
}

TEST_F(Nccl, WhatItReportsEndsTheGroup) {
  setenv("FLAMBEAU_STANDIN_NCCL", "loses", 1);
  const Ref<Store> seen = hash_store();
  run([&](Group& g) {
    Tensor x = on(g.rank(), {1});
    const std::string text = text_of([&] { all_reduce(g, {&x, 1}, {}, false); });
    EXPECT_TRUE(says(text, "failed: NCCL: remote process exited")) << text;
    EXPECT_TRUE(says(text, "Connection closed by remote peer")) << text;
    EXPECT_EQ(text_of([&] { barrier(g, false); }), text);
    seen->set(g.rank() ? "1" : "0", "");
    seen->wait({"0", "1"}, 10s);  // who leaves is another reason to fail
  });
  unsetenv("FLAMBEAU_STANDIN_NCCL");
}

// ---- the stand-in's contract

const auto kBroken = testing::ExitedWithCode(97);

struct Alone {  // a communicator of one rank on device 0
  const NcclLibrary& n = nccl_library();
  nccl::UniqueId id{};
  nccl::Comm comm = nullptr;
  Tensor x = on(0, {1, 2, 3});
  void* stream = native_stream(create_stream(gpu(0)));

  Alone() {
    synchronize(gpu(0));
    n.GetUniqueId(&id);
    join(&comm);
  }
  void join(nccl::Comm* out) {
    nccl::Config config;
    n.CommInitRankConfig(out, 1, id, 0, &config);
    settle(*out);
  }
  void settle(nccl::Comm c) {
    nccl::Result now = nccl::in_progress;
    while (n.CommGetAsyncError(c, &now) == nccl::success && now == nccl::in_progress) {
    }
  }
  nccl::Result reduce(void* out, size_t count = 3) {
    return n.AllReduce(x.data(), out, count, nccl::float32, nccl::sum, comm, stream);
  }
};

void breaks(void (*wrong)(Alone&), const char* text) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto all = [wrong] {
    Alone one;
    wrong(one);
    std::exit(0);
  };
  EXPECT_EXIT(all(), kBroken, text);
}

TEST(NcclContract, HoldsCommunicatorsToTheirLife) {
  breaks([](Alone& a) { a.n.CommAbort(a.comm), a.reduce(a.x.data()); }, "after its end");
  breaks([](Alone& a) { a.n.CommDestroy(a.comm); }, "before it was finalized");
  breaks([](Alone& a) { a.n.CommFinalize(a.comm), a.reduce(a.x.data()); }, "after ncclCommFinal");
  breaks([](Alone& a) { a.reduce(a.x.data()), a.reduce(a.x.data()); }, "was taken in");
  breaks(
      [](Alone& a) {
        nccl::Comm more = nullptr;
        a.join(&more);
      },
      "an id that was used before");
}

TEST(NcclContract, HoldsCallsToTheirDevice) {
  breaks([](Alone& a) { cudaSetDevice(1), a.reduce(a.x.data()); }, "not the current one");
  breaks([](Alone& a) { a.stream = native_stream(create_stream(gpu(1))), a.reduce(a.x.data()); },
         "a stream of device 1");
  breaks([](Alone& a) { a.reduce(on(1, {1, 2, 3}).data()); }, "are not the device's");
  breaks([](Alone& a) { a.reduce(a.x.data(), 1 << 24); }, "are not the device's");
  breaks([](Alone& a) { a.n.GroupStart(); }, "a group that its thread did not end");
  breaks([](Alone& a) { a.n.GroupEnd(); }, "without ncclGroupStart");
}

TEST(NcclContract, HoldsRanksToTheSameCall) {
  breaks(
      [](Alone& a) {
        sim::set_schedule(sim::Schedule::threads);
        std::vector<std::thread> threads;
        a.n.GetUniqueId(&a.id);
        for (int r = 0; r < 2; ++r)
          threads.emplace_back([&a, r] {
            cudaSetDevice(r);
            nccl::Comm comm = nullptr;
            nccl::Config config;
            a.n.CommInitRankConfig(&comm, 2, a.id, r, &config);
            a.settle(comm);
            const Tensor x = on(r, {1, 2, 3});
            synchronize(gpu(r));
            a.n.AllReduce(x.data(), x.data(), size_t(2 + r), nccl::float32, nccl::sum, comm,
                          native_stream(create_stream(gpu(r))));
            std::this_thread::sleep_for(300ms);
            a.n.CommAbort(comm);
          });
        for (std::thread& t : threads) t.join();
      },
      "ranks called different things: all_reduce of 3 .* rank . all_reduce of 2");
}

}  // namespace
}  // namespace flambeau::dist
