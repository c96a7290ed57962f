// Groups whose ranks are threads: what each collective leaves on each rank, for every dtype and
// layout, in what order calls run, and what a failure is to those who wait. Expected values are
// made from all ranks' operands, which a test knows.
#include "dist/group.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "base/interrupt.h"
#include "dist/collectives.h"
#include "dist/rendezvous.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

using namespace std::chrono_literals;

constexpr int kRanks = 3;

// Runs `body` on as many threads as there are ranks and gives what each of them threw.
std::vector<std::string> on_ranks(int size, const std::function<void(Group&)>& body,
                                  Millis timeout = 10s) {
  std::vector<std::string> errors(size);
  std::vector<std::thread> threads;
  const Ref<Store> store = hash_store();
  for (int rank = 0; rank < size; rank++)
    threads.emplace_back([&, rank] {
      try {
        const auto group = Group::join(store, rank, size, {"local", "", timeout});
        body(*group);
        group->leave();
      } catch (const Error& e) {
        errors[rank] = e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  return errors;
}

void all_well(int size, const std::function<void(Group&)>& body) {
  for (const std::string& error : on_ranks(size, body)) EXPECT_EQ(error, "");
}

Tensor values(std::initializer_list<double> list, Dtype dtype = Dtype::f32) {
  Tensor t = empty(Dims{int64_t(list.size())}, Dtype::f64, kCpu);
  std::copy(list.begin(), list.end(), t.data_as<double>());
  return ops::to(t, kCpu, dtype);
}

std::vector<double> numbers(const Tensor& t) {
  const Tensor plain = ops::contiguous(ops::to(t, kCpu, Dtype::f64));
  return {plain.data_as<double>(), plain.data_as<double>() + plain.numel()};
}

using Numbers = std::vector<double>;

TEST(Group, ReducesEveryDtype) {
  all_well(kRanks, [](Group& g) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::i64,
                              Dtype::i32, Dtype::i16, Dtype::i8, Dtype::u8}) {
      const Tensor t = values({1.0 + g.rank(), 2}, dtype);
      const Tensor list[] = {t};
      all_reduce(g, list, {}, false);
      EXPECT_EQ(numbers(t), (Numbers{6, 6})) << name_of(dtype);
    }
    const Tensor flags = values({double(g.rank() == 1), 0}, Dtype::boolean);
    const Tensor list[] = {flags};
    all_reduce(g, list, {}, false);
    EXPECT_EQ(numbers(flags), (Numbers{1, 0}));
  });
}

TEST(Group, ReducesByEveryOperation) {
  all_well(kRanks, [](Group& g) {
    const auto by = [&](ReduceOp op, Dtype dtype, double factor = 1) {
      const Tensor t = values({double(g.rank() + 1)}, dtype);
      const Tensor list[] = {t};
      all_reduce(g, list, {op, factor}, false);
      return numbers(t)[0];
    };
    EXPECT_EQ(by(ReduceOp::sum, Dtype::f32), 6);
    EXPECT_EQ(by(ReduceOp::avg, Dtype::f32), 2);
    EXPECT_EQ(by(ReduceOp::product, Dtype::i32), 6);
    EXPECT_EQ(by(ReduceOp::min, Dtype::f32), 1);
    EXPECT_EQ(by(ReduceOp::max, Dtype::i64), 3);
    EXPECT_EQ(by(ReduceOp::band, Dtype::i32), 0);
    EXPECT_EQ(by(ReduceOp::bor, Dtype::u8), 3);
    EXPECT_EQ(by(ReduceOp::bxor, Dtype::i16), 0);
    EXPECT_EQ(by(ReduceOp::premul_sum, Dtype::f64, 0.5), 3);
  });
}

TEST(Group, RefusesReductionsThatDoNotExistBeforeAnythingIsSent) {
  for (const auto& [op, dtype, part] :
       {std::tuple(ReduceOp::avg, Dtype::i32, "a mean needs floating point, got int32"),
        std::tuple(ReduceOp::band, Dtype::f32, "needs integers or bool, got float32")}) {
    for (const std::string& error : on_ranks(2, [&](Group& g) {
           const Tensor list[] = {values({1}, dtype)};
           all_reduce(g, list, {op}, false);
         }))
      EXPECT_NE(error.find(part), error.npos) << error;
  }
}

TEST(Group, WorksOnViewsAndLists) {
  all_well(2, [](Group& g) {
    const Tensor whole = ops::mul(ops::ones(Dims{4, 2}), wrapped_number(double(g.rank() + 1)));
    const Tensor column = ops::select(whole, 1, 0);
    const Tensor pair[] = {column, ops::ones(Dims{3})};
    all_reduce(g, pair, {}, false);
    EXPECT_EQ(numbers(column), (Numbers{3, 3, 3, 3}));
    EXPECT_EQ(numbers(ops::select(whole, 1, 1)), Numbers(4, g.rank() + 1));
    EXPECT_EQ(numbers(pair[1]), (Numbers{2, 2, 2}));
  });
}

TEST(Group, MovesPartsWhereTheyBelong) {
  all_well(kRanks, [](Group& g) {
    const double own = g.rank();
    const Tensor one = values({own, own + 10});
    const Tensor flat = ops::zeros(Dims{6});
    const Tensor into[] = {flat};
    all_gather(g, into, one, false);
    EXPECT_EQ(numbers(flat), (Numbers{0, 10, 1, 11, 2, 12}));

    const Tensor list[] = {ops::zeros(Dims{2}), ops::zeros(Dims{2}), ops::zeros(Dims{2})};
    const bool root = g.rank() == 1;
    gather(g, root ? TensorsView(list) : TensorsView(), one, 1, false);
    EXPECT_EQ(numbers(list[2]), root ? (Numbers{2, 12}) : (Numbers{0, 0}));

    const Tensor part = ops::zeros(Dims{2});
    scatter(g, part, g.rank() == 1 ? TensorsView(list) : TensorsView(), 1, false);
    EXPECT_EQ(numbers(part), (Numbers{own, own + 10}));

    const Tensor same[] = {values({own})};
    broadcast(g, same, 2, false);
    EXPECT_EQ(numbers(same[0]), (Numbers{2}));

    const Tensor sum = ops::zeros(Dims{1});
    const Tensor three[] = {values({own, 1, 2})};
    reduce_scatter(g, sum, three, {}, false);
    EXPECT_EQ(numbers(sum), (Numbers{double(g.rank() == 0 ? 3 : 3 * g.rank())}));

    const Tensor on_root = values({own});
    reduce(g, on_root, 0, {ReduceOp::avg}, false);
    EXPECT_EQ(numbers(on_root), (Numbers{g.rank() == 0 ? 1.0 : own}));
  });
}

TEST(Group, ExchangesUnevenRows) {
  all_well(2, [](Group& g) {
    const Tensor rows = ops::add(ops::reshape(values({0, 1, 2, 3, 4, 5}), Dims{3, 2}),
                                 wrapped_number(100.0 * g.rank()));
    // Rank 0 keeps one row and gives two, rank 1 keeps two and gives one.
    const std::vector<int64_t> sent =
        g.rank() == 0 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1, 2};
    const std::vector<int64_t> got =
        g.rank() == 0 ? std::vector<int64_t>{1, 1} : std::vector<int64_t>{2, 2};
    const Tensor out[] = {ops::zeros(Dims{g.rank() == 0 ? 2 : 4, 2})};
    const Tensor in[] = {rows};
    all_to_all(g, out, in, got, sent, false);
    if (g.rank() == 0)
      EXPECT_EQ(numbers(out[0]), (Numbers{0, 1, 100, 101}));
    else
      EXPECT_EQ(numbers(out[0]), (Numbers{2, 3, 4, 5, 102, 103, 104, 105}));
  });
}

TEST(Group, SendsInAnyOrderBesideCollectives) {
  all_well(2, [](Group& g) {
    const int other = 1 - g.rank();
    const Tensor first = values({10.0 + g.rank()}), second = values({20.0 + g.rank()});
    const Tensor a = ops::zeros(Dims{1}), b = ops::zeros(Dims{1});
    const auto s1 = send(g, first, other, 1), s2 = send(g, second, other, 2);
    barrier(g, false);
    const auto r2 = recv(g, b, other, 2), r1 = recv(g, a, -1, 1);
    for (const auto& work : {r1, r2, s1, s2}) work->wait();
    EXPECT_TRUE(r1->done());
    EXPECT_EQ(r1->source(), other);
    EXPECT_EQ(numbers(a), (Numbers{10.0 + other}));
    EXPECT_EQ(numbers(b), (Numbers{20.0 + other}));
  });
}

TEST(Group, KeepsTheProgramsOrderWhereSomeCallsAreNotAwaited) {
  all_well(kRanks, [](Group& g) {
    const Tensor t = values({1}, Dtype::f64);
    const Tensor list[] = {t};
    std::vector<Ref<Work>> works;
    for (int i = 0; i < 20; i++) works.push_back(all_reduce(g, list, {}, true));
    broadcast(g, list, 0, false);
    for (const auto& work : works) EXPECT_TRUE(work->done());
    EXPECT_EQ(numbers(t), (Numbers{std::pow(3.0, 20)}));
  });
}

TEST(Group, HoldsNoOperandAfterTheWait) {
  all_well(2, [](Group& g) {
    for (int i = 0; i < 300; i++) {
      const Tensor t = values({1});
      const Tensor list[] = {t};
      const int before = t.impl()->use_count();
      all_reduce(g, list, {}, true)->wait();
      ASSERT_EQ(t.impl()->use_count(), before) << i;
    }
  });
}

TEST(Group, SplitsIntoGroupsOfTheirOwnRanks) {
  all_well(kRanks, [](Group& g) {
    const auto some = g.split({2, 0}, {"local", "", 10s});
    EXPECT_EQ(some->rank(), g.rank() == 2 ? 0 : g.rank() == 0 ? 1 : -1);
    const Tensor t = values({double(g.rank())});
    const Tensor list[] = {t};
    if (some->rank() < 0) {
      EXPECT_THROW(all_reduce(*some, list, {}, false), Error);
      return;
    }
    EXPECT_EQ(some->world_ranks(), (std::vector<int32_t>{2, 0}));
    broadcast(*some, list, 0, false);
    EXPECT_EQ(numbers(t), (Numbers{2}));
  });
}

TEST(Group, RefusesWhatDoesNotFitByName) {
  const auto error_of = [](const std::function<void(Group&)>& body) {
    return on_ranks(2, body)[0];
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), text.npos) << text;
  };
  has(error_of([](Group& g) {
        const Tensor list[] = {values({1})};
        broadcast(g, list, 2, false);
      }),
      "invalid root rank: 2; the group has 2 ranks");
  has(error_of([](Group& g) {
        const Tensor into[] = {ops::zeros(Dims{3})};
        all_gather(g, into, values({1}), false);
      }),
      "must have 2 times the elements of");
  has(error_of([](Group& g) {
        const Tensor mixed[] = {values({1}), values({1}, Dtype::f64)};
        all_reduce(g, mixed, {}, false);
      }),
      "tensors must have one dtype");
  has(error_of([](Group& g) { send(g, values({1}), g.rank(), 0); }), "is this rank itself");
  has(error_of([](Group& g) { g.split({0, 0}, {"local", "", 1s}); }), "is named twice");
}

TEST(Group, NamesWhoDidNotAnswer) {
  const auto errors = on_ranks(
      2,
      [](Group& g) {
        const Tensor list[] = {ops::ones(Dims{2, 3})};
        set_place("train.cc:12 in step");
        if (g.rank() == 0) all_reduce(g, list, {}, false);
        if (g.rank() == 1) std::this_thread::sleep_for(3s);
      },
      1s);
  for (const char* part :
       {"all_reduce(float32[2, 3], sum) #1", "was not answered within 1.0 s", "rank 0: waits in",
        "at train.cc:12 in step", "rank 1: has called nothing yet"})
    EXPECT_NE(errors[0].find(part), std::string::npos) << part << " in " << errors[0];
}

TEST(Group, NamesDifferentCallsLongBeforeTheDeadline) {
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = on_ranks(2, [](Group& g) {
    const Tensor list[] = {ops::ones(Dims{4})};
    if (g.rank() == 0)
      all_reduce(g, list, {}, false);
    else
      broadcast(g, list, 0, false);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 6s);
  for (const std::string& error : errors)
    for (const char* part :
         {"called different collectives", "all_reduce(float32[4], sum) #1 on rank 0",
          "broadcast(float32[4], root 0) #1 on rank 1"})
      EXPECT_NE(error.find(part), error.npos) << part << " in " << error;
}

TEST(Group, NamesTransfersThatNeverMeetLongBeforeTheDeadline) {
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = on_ranks(
      2,
      [](Group& g) {
        const Tensor x = ops::ones(Dims{g.rank() ? 5 : 3});
        const Ref<Work> meets =
            g.rank() ? recv(g, ops::ones(Dims{2}), 0, 7) : send(g, ops::ones(Dims{2}), 1, 7);
        meets->wait();
        (g.rank() ? recv(g, x, 0, 0) : send(g, x, 1, 0))->wait();
      },
      60s);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  for (const std::string& error : errors)
    for (const char* part :
         {"send and receive different things", "rank 0: waits in send(float32[3], to rank 1)",
          "rank 1: waits in recv(float32[5], from rank 0)"})
      EXPECT_NE(error.find(part), error.npos) << part << " in " << error;
}

TEST(Transfer, MeetsWhoeverHasTheSameTag) {
  const auto of = [](Kind kind, int32_t peer, int64_t count, int64_t label = 0) {
    What what;
    what.kind = kind, what.peer = peer, what.count = count, what.label = label;
    what.dtype = Dtype::f32;
    const auto read = Transfer::parsed(Transfer::of(what, 2.5).text());
    EXPECT_TRUE(read && read->seconds == 2.5);
    return *read;
  };
  const Transfer sent = of(Kind::send, 1, 3);
  EXPECT_FALSE(never_meet(sent, 0, of(Kind::recv, 0, 3), 1));
  EXPECT_TRUE(never_meet(sent, 0, of(Kind::recv, 0, 5), 1));
  EXPECT_TRUE(never_meet(of(Kind::recv, 0, 5), 1, sent, 0));
  EXPECT_FALSE(never_meet(sent, 0, of(Kind::recv, 2, 5), 1)) << "from somebody else";
  EXPECT_FALSE(never_meet(sent, 0, of(Kind::recv, 0, 5, 9), 1)) << "of another label";
  EXPECT_FALSE(never_meet(sent, 0, of(Kind::send, 0, 5), 1)) << "both send";
  EXPECT_FALSE(Transfer::parsed(""));
}

TEST(Group, SaysInWhichOtherGroupARankWaits) {
  const auto errors = on_ranks(
      2,
      [](Group& g) {
        const Tensor list[] = {ops::ones(Dims{4})};
        const auto first = g.split({0, 1}, {"local", "first", 2s}),
                   second = g.split({0, 1}, {"local", "second", 6s});
        all_reduce(g.rank() ? *second : *first, list, {}, false);
      },
      2s);
  EXPECT_NE(errors[0].find("rank 1: has called nothing yet; in the group \"second\" it waits in "
                           "all_reduce(float32[4], sum) #1"),
            std::string::npos)
      << errors[0];
}

TEST(Group, IsThereForItsRanksBeforeOthersGoOn) {
  std::atomic<int> came = 0;
  all_well(kRanks, [&](Group& g) {
    if (g.rank()) std::this_thread::sleep_for(50ms * g.rank());
    if (g.rank()) ++came;
    const auto two = g.split({1, 2}, {"local", "two", 10s});
    EXPECT_EQ(came, 2);
    EXPECT_EQ(two->rank(), g.rank() - 1);
  });
  const auto errors = on_ranks(
      kRanks,
      [&](Group& g) {
        if (g.rank() == 0) g.split({1, 2}, {"local", "never", 500ms});
      },
      10s);
  EXPECT_NE(errors[0].find("the group \"never\" of 2 other ranks was not made"), std::string::npos)
      << errors[0];
}

TEST(Group, IsOverAfterAFailure) {
  on_ranks(
      2,
      [](Group& g) {
        const Tensor list[] = {ops::ones(Dims{4})};
        if (g.rank() == 1) return;
        std::string first;
        try {
          all_reduce(g, list, {}, false);
        } catch (const Error& e) {
          first = e.what();
        }
        const auto begin = std::chrono::steady_clock::now();
        try {
          barrier(g, false);
          ADD_FAILURE() << "a group that failed went on";
        } catch (const Error& e) {
          EXPECT_EQ(first, e.what());
        }
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 500ms);
      },
      1s);
}

// What `body` returns in a forked child, or false where that does not end.
bool in_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    bool ok = false;
    try {
      ok = body();
    } catch (...) {
    }
    ::_exit(ok ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Group, StaysInTheProcessThatWasForked) {
  std::atomic<bool> forked{false};
  all_well(2, [&](Group& g) {
    const Tensor list[] = {ops::ones(Dims{4})};
    const auto ended = all_reduce(g, list, {}, true);
    ended->wait();  // its thread waits for more
    while (g.rank() == 1 && !forked) std::this_thread::sleep_for(1ms);
    const auto pending = barrier(g, true);
    if (g.rank() == 1) return pending->wait();
    const auto refused = [&](const std::function<void()>& call) {
      try {
        call();
      } catch (const Error& e) {
        return e.code == Code::unsupported;
      }
      return false;
    };
    EXPECT_TRUE(in_child([&] {
      ended->wait();
      const bool said = refused([&] { all_reduce(g, list, {}, false); }) &&
                        refused([&] { all_reduce(g, list, {}, true); }) &&
                        refused([&] { send(g, list[0], 1, 0); }) &&
                        refused([&] { g.split({0}, {"local", "", 1s}); }) &&
                        refused([&] { pending->wait(); });
      g.leave();
      Ref<Group>::adopt(&g);  // the last one goes, as it does when a program ends
      return said;
    }));
    forked = true;
    pending->wait();
  });
}

TEST(Group, ThatIsNotMadeLeavesNoThread) {
  const Ref<Store> store = hash_store();
  EXPECT_THROW(Group::join(store, 0, 2, {"local", "", 100ms}), Error);
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (store->use_count() > 1 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(10ms);
  EXPECT_EQ(store->use_count(), 1);
}

// A tensor may hold what holds a group; the group's thread may be the last to hold the tensor.
TEST(Group, MayGoWithATensorOfItsOwnCall) {
  const Ref<Store> store = hash_store();
  std::atomic<bool> let_go{false};
  std::thread other([&] {
    const auto group = Group::join(store, 1, 2, {"local", "", 10s});
    while (!let_go) std::this_thread::sleep_for(1ms);
    const Tensor list[] = {ops::ones(Dims{1})};
    all_reduce(*group, list, {}, false);
  });
  static std::atomic<bool> dropped;
  dropped = false;
  const auto drop = [](void* group) {
    delete static_cast<Ref<Group>*>(group);
    dropped = true;
  };
  float memory = 1;
  Ref<Work> first, second;
  {
    const auto group = Group::join(store, 0, 2, {"local", "", 10s});
    const auto storage =
        make_ref<Storage>(kCpu, sizeof memory, &memory, drop, new Ref<Group>(group));
    const Tensor list[] = {tensor_of(storage, Dims{1}, Dims{1}, Dtype::f32)};
    first = all_reduce(*group, list, {}, true);
    second = barrier(*group, true);
  }
  let_go = true;
  first->wait();
  EXPECT_THROW(second->wait(), Error);
  while (!dropped) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(memory, 2);
  other.join();
}

TEST(Work, SaysWhoSentWhileItEnds) {
  const auto work = make_ref<Work>();
  std::thread other([&] { work->finish({}, 3); });
  while (work->source() < 0) std::this_thread::yield();
  EXPECT_EQ(work->source(), 3);
  other.join();
}

TEST(Group, OfOneNeedsNoProvider) {
  const auto group = Group::join(hash_store(), 0, 1, {"gloo", "", 1s});
  const Tensor t = values({4});
  const Tensor list[] = {t};
  all_reduce(*group, list, {ReduceOp::avg}, true)->wait();
  EXPECT_EQ(numbers(t), (Numbers{4}));
}

TEST(Rendezvous, SaysWhatIsMissing) {
  const auto message = [](const char* method, int64_t rank, int64_t size) -> std::string {
    try {
      find_others(method, rank, size, 1s);
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  };
  const auto has = [&](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), text.npos) << text;
  };
  ::unsetenv("MASTER_ADDR");
  has(message("env://", 0, 2), "environment variable MASTER_ADDR expected, but not set");
  has(message("tcp://host", 0, 2), "lacks a host or a port");
  has(message("tcp://host:99999", 0, 2), "port 99999 is out of range");
  has(message("tcp://host:port", 0, 2), "the port is no number: \"port\"");
  has(message("mpi://", 0, 2), "it begins with env://, tcp:// or file://");
  has(message("tcp://host:1", -1, 2), "needs a rank and a world_size");
}

TEST(Group, NobodyAnswersTheOnlyRank) {
  const auto errors = on_ranks(1, [](Group& g) { recv(g, values({0}), -1, 0)->wait(); }, 50ms);
  EXPECT_NE(errors[0].find("recv("), errors[0].npos) << errors[0];
  EXPECT_NE(errors[0].find("within"), errors[0].npos) << errors[0];
}

TEST(Group, WaitsEndWhereTheProgramSaysSoAndWhatTheyWaitForGoesOn) {
  struct Enough final : InterruptSource {
    void check() override {
      if (++asked % 2 == 0) throw Error(Code::callback, "enough");
    }
    int asked = 0;
  };
  std::promise<void> interrupted;
  all_well(2, [&](Group& g) {
    const Tensor sum = values({1}), moved = values({7.0 * g.rank()});
    if (g.rank() == 1) {  // asks nobody
      interrupted.get_future().wait();
      all_reduce(g, {&sum, 1}, {}, false);
      send(g, moved, 0, 0)->wait();
    } else {
      set_interrupt_source(std::make_shared<Enough>());
      EXPECT_THROW(all_reduce(g, {&sum, 1}, {}, false), Error);
      const Ref<Work> received = recv(g, moved, 1, 0);
      EXPECT_THROW(received->wait(), Error);
      EXPECT_FALSE(received->done());
      set_interrupt_source(nullptr);
      interrupted.set_value();
      received->wait();
    }
    barrier(g, false);
    EXPECT_EQ(numbers(sum)[0], 2);
    EXPECT_EQ(numbers(moved)[0], 7);
  });
}

}  // namespace
}  // namespace flambeau::dist
