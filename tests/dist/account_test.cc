// What is counted of communication: calls, bytes and bandwidths as nccl-tests defines them, and the
// seconds that backward hid, which are those in which a pass computed and did not wait.
#include "dist/account.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "base/clock.h"
#include "dist/clock.h"
#include "dist/collectives.h"
#include "dist/rendezvous.h"
#include "engine/pass_time.h"
#include "observe/profile.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

using namespace std::chrono_literals;

// Runs `body` on as many threads as there are ranks and gives what each of them threw.
std::vector<std::string> on_ranks(int size, const std::function<void(Group&)>& body,
                                  Millis timeout = 10s) {
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  const Ref<Store> store = hash_store();
  for (int rank = 0; rank < size; rank++)
    threads.emplace_back([&, rank] {
      try {
        const auto group = Group::join(store, rank, size, {"local", "", timeout});
        body(*group);
        group->leave();
      } catch (const Error& e) {
        errors[size_t(rank)] = e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  return errors;
}

void all_well(int size, const std::function<void(Group&)>& body) {
  for (const std::string& error : on_ranks(size, body)) EXPECT_EQ(error, "");
}

Figures of(const Group& g, Kind kind, Purpose purpose = Purpose::program) {
  return g.account().rows()[size_t(kind)][size_t(purpose)];
}

TEST(Account, CountsBytesAsNcclTestsDo) {
  reset_accounts();
  all_well(3, [](Group& g) {
    const Tensor one = ops::ones(Dims{4}), all = ops::ones(Dims{12});
    const Tensor list[] = {one}, wide[] = {all};
    const bool root = g.rank() == 0;
    for (int i = 0; i < 2; i++) all_reduce(g, list, {}, false);
    reduce(g, one, 0, {}, false);
    broadcast(g, list, 0, false);
    all_gather(g, wide, one, false);
    reduce_scatter(g, one, wide, {}, false);
    gather(g, root ? TensorsView(wide) : TensorsView(), one, 0, false);
    scatter(g, one, root ? TensorsView(wide) : TensorsView(), 0, false);
    all_to_all(g, wide, {&all, 1}, {}, {}, false);
    barrier(g, false);
    const auto expect = [&](Kind kind, int calls, int bytes, double factor) {
      const Figures f = of(g, kind);
      EXPECT_EQ(f.calls, calls) << name_of(kind);
      EXPECT_EQ(f.bytes, bytes) << name_of(kind);
      EXPECT_DOUBLE_EQ(f.bus_bytes, factor * bytes) << name_of(kind);
      EXPECT_GT(f.ns, 0) << name_of(kind);
      EXPECT_DOUBLE_EQ(f.algorithm_bandwidth(), bytes / f.seconds()) << name_of(kind);
      EXPECT_EQ(f.hidden_ns, 0) << name_of(kind);
    };
    expect(Kind::all_reduce, 2, 32, 2.0 * 2 / 3);
    expect(Kind::reduce, 1, 16, 1);
    expect(Kind::broadcast, 1, 16, 1);
    for (const Kind kind :
         {Kind::all_gather, Kind::reduce_scatter, Kind::gather, Kind::scatter, Kind::all_to_all})
      expect(kind, 1, 48, 2.0 / 3);
    expect(Kind::barrier, 1, 0, 0);
  });
}

TEST(Account, CountsTransfersAndUnevenParts) {
  reset_accounts();
  all_well(2, [](Group& g) {
    const Tensor t = ops::ones(Dims{5}), room = ops::zeros(Dims{g.rank() ? 4 : 2});
    const int64_t mine[] = {1, 3}, from[] = {1, 1}, into[] = {3, 1};
    if (g.rank())
      recv(g, t, 0, 0)->wait();
    else
      send(g, t, 1, 0)->wait();
    EXPECT_EQ(of(g, g.rank() ? Kind::recv : Kind::send).bytes, 20);
    EXPECT_EQ(of(g, g.rank() ? Kind::send : Kind::recv).calls, 0);
    const Tensor gives = ops::ones(Dims{g.rank() ? 2 : 4});
    all_to_all(g, {&room, 1}, {&gives, 1}, g.rank() ? std::span<const int64_t>(into) : from,
               g.rank() ? std::span<const int64_t>(from) : mine, false);
    EXPECT_EQ(of(g, Kind::all_to_all).bytes, g.rank() ? 8 : 16);
  });
}

TEST(Account, DoesNotCountWhatFailsOrIsTheEnginesOwn) {
  reset_accounts();
  on_ranks(
      2,
      [](Group& g) {
        {
          const PurposeScope own(Purpose::own);
          barrier(g, false);
        }
        EXPECT_EQ(of(g, Kind::barrier).calls, 0);
        if (g.rank()) return;
        EXPECT_THROW(barrier(g, false), Error);
        EXPECT_EQ(of(g, Kind::barrier).calls, 0);
      },
      500ms);
}

// Rank 1 comes late to a reduction that rank 0 began in a pass: for 60 ms rank 0 computes, then it
// waits for 60 more.
TEST(Account, HidesWhatAPassComputesBesideAndNotWhatItWaits) {
  reset_accounts();
  all_well(2, [](Group& g) {
    const Tensor t = ops::ones(Dims{4});
    const Tensor list[] = {t};
    barrier(g, false);
    if (g.rank()) {
      std::this_thread::sleep_for(120ms);
      all_reduce(g, list, {}, false);
      return;
    }
    const pass_time::Pass pass;
    const auto work = all_reduce(g, list, {}, true);
    std::this_thread::sleep_for(60ms);
    work->wait();
    const Figures f = of(g, Kind::all_reduce);
    EXPECT_GE(f.hidden_seconds(), 0.05);
    EXPECT_GE(f.seconds() - f.hidden_seconds(), 0.03);
    EXPECT_GT(f.hidden_share(), 0);
    EXPECT_LT(f.hidden_share(), 1);
  });
}

TEST(Account, HidesNothingOfACallThatThePassItselfMakes) {
  reset_accounts();
  all_well(2, [](Group& g) {
    if (g.rank()) std::this_thread::sleep_for(20ms);
    std::optional<pass_time::Pass> pass;
    if (!g.rank()) pass.emplace();
    barrier(g, false);
    if (!g.rank()) {
      EXPECT_EQ(of(g, Kind::barrier).hidden_ns, 0);
    }
  });
}

TEST(Account, AnswersByNamesAndRefusesOthers) {
  reset_accounts();
  all_well(2, [](Group& g) {
    barrier(g, false);
    {
      const PurposeScope of_ddp(Purpose::gradients);
      const Tensor list[] = {ops::ones(Dims{2})};
      all_reduce(g, list, {}, false);
    }
    const Account& a = g.account();
    EXPECT_EQ(figure(a, "all.calls"), 2);
    EXPECT_EQ(figure(a, "ddp.calls"), 1);
    EXPECT_EQ(figure(a, "ddp.bytes"), 8);
    EXPECT_EQ(figure(a, "all_reduce.bus_bandwidth"), figure(a, "all_reduce.algorithm_bandwidth"));
    EXPECT_EQ(figure(a, "send.seconds"), 0);
    for (const char* key : {"", "all", "all.speed", "reduce_all.calls", "all.", ".calls"})
      EXPECT_THROW(figure(a, key), Error) << key;
  });
  const std::string table = accounts_table();
  for (const char* part : {"all_reduce (DDP)", "barrier", "world", "of which backward hid",
                           "DistributedDataParallel's gradients"})
    EXPECT_NE(table.find(part), table.npos) << part << '\n' << table;
  EXPECT_NE(accounts_json().find("\"ddp\":true"), std::string::npos);
  reset_accounts();
  EXPECT_EQ(accounts_json(), "[]");
  EXPECT_EQ(accounts_table(), "no collective was counted; those of NCCL are not\n");
}

TEST(Account, OneOfTheSameNameAndRanksGoesOn) {
  reset_accounts();
  for (int i = 0; i < 2; i++) all_well(2, [](Group& g) { barrier(g, false); });
  size_t of_world = 0;
  for (const auto& a : all_accounts()) {
    if (a->channel().ranks.size() != 2) continue;
    of_world++;
    EXPECT_EQ(figure(*a, "barrier.calls"), 2);
  }
  EXPECT_EQ(of_world, 2u);  // ranks that are threads
}

TEST(Clock, OffsetsFollowFromFourTimes) {
  const ClockSample even{1000, 5100, 5200, 1300};  // 4000 ahead, 100 there and 100 back
  EXPECT_EQ(even.offset(), 4000);
  EXPECT_EQ(even.delay(), 200);
  const ClockSample slow_back{1000, 5100, 5200, 1500};  // off by half of what one way took longer
  EXPECT_EQ(slow_back.offset(), 3900);
  EXPECT_EQ(slow_back.delay(), 400);
}

TEST(Clock, OfOneMachineIsOne) {
  const auto system = [] {
    return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  };
  all_well(3, [&](Group& g) {
    const int64_t offset = align_clocks(g);
    EXPECT_LT(std::abs(offset), 100'000'000);  // half of a round trip, on a busy machine
    EXPECT_LT(std::abs(steady_ns() + job_epoch_ns - system()), 200'000'000);
    EXPECT_EQ(of(g, Kind::send).calls, 0);
  });
  job_epoch_ns = 0;
}

// Transfers that are under way at a time have lanes of their own, calls that follow each other one.
TEST(Transfers, HaveLanes) {
  const auto channel = std::make_shared<probe::Channel>();
  const auto told = [&](int64_t begin, int64_t end) {
    probe::Transfer t;
    t.channel = channel;
    t.call = "send";
    t.begin_ns = begin, t.end_ns = end;
    return t;
  };
  probe::start({});
  const int64_t now = steady_ns();
  constexpr int64_t kTimes = 2000;  // from begins on that differ, as numbers of microseconds round
  for (int64_t i = 0; i < kTimes; ++i)
    for (const auto& [begin, end] : {std::pair(0, 10), {10, 30}, {20, 40}, {35, 50}, {45, 60}})
      probe::note_transfer(told(now + 61 * i + begin, now + 61 * i + end), false);
  const auto profile = make_ref<flam_profile>(probe::stop());
  ASSERT_EQ(profile->transfers.size(), size_t(5 * kTimes));
  for (size_t i = 0; i < profile->transfers.size(); i += 5) {
    std::vector<int64_t> lanes;
    for (size_t k = i; k < i + 5; ++k)
      lanes.push_back(profile->transfers[k].lane - profile->transfers[0].lane);
    ASSERT_EQ(lanes, (std::vector<int64_t>{0, 0, 1, 0, 1})) << "from " << 61 * int64_t(i / 5);
  }
}

}  // namespace
}  // namespace flambeau::dist
