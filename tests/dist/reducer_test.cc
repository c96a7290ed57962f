// What ranks are left with after backward, for ranks that are threads over the local provider: the
// mean, in buckets of any size, whatever of the model was used and whoever had no data. The order
// of events says that buckets are reduced while backward goes on.
#include "dist/reducer.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "dist/collectives.h"
#include "engine/backward.h"
#include "graph/mode.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

using namespace std::chrono_literals;

// Runs `body` on each of `size` ranks; what the first of them threw is thrown.
void on_ranks(int size, const std::function<void(Ref<Group>)>& body) {
  const Ref<Store> store = hash_store();
  std::vector<std::exception_ptr> problems(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      try {
        body(Group::join(store, r, size, {"local", "", 10s}));
      } catch (...) {
        problems[size_t(r)] = std::current_exception();
      }
    });
  for (std::thread& t : threads) t.join();
  for (const auto& p : problems)
    if (p) std::rethrow_exception(p);
}

Tensor parameter(double value, int64_t n = 4) {
  const Tensor t = ops::full(Dims{n}, wrapped_number(value), Dtype::f32, kCpu);
  autograd_data(t).requires_grad = true;
  return t;
}

double first(const Tensor& t) { return *t.data_as<const float>(); }
const Tensor& grad(const Tensor& t) { return autograd_data(t).grad; }

// Three factors; one that `skip` names is left out.
struct Chain {
  std::vector<Tensor> w{parameter(2), parameter(3), parameter(5)};

  Tensor operator()(double x, int skip = -1) const {
    Tensor y = ops::full(Dims{4}, wrapped_number(x), Dtype::f32, kCpu);
    for (int i = 0; i < 3; ++i)
      if (i != skip) y = ops::mul(y, w[size_t(i)]);
    return ops::sum(y);
  }
  Ref<Reducer> over(const Ref<Group>& g, ReducerOptions o = {}) const {
    return make_ref<Reducer>(g, Reducer::Named{{"a", "b", "c"}, w}, std::vector<Tensor>(), o);
  }
  void clear() const {
    for (const Tensor& t : w) autograd_data(t).grad = Tensor();
  }
};

void step(Reducer& r, const Chain& chain, double x, int skip = -1) {
  r.prepare_forward();
  const Tensor loss = chain(x, skip);
  r.prepare_backward({&loss, 1});
  backward({&loss, 1}, {}, false, false);
}

ReducerOptions tiny() {
  ReducerOptions o;
  o.limits = {1, 1};
  return o;
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Buckets, AreFilledInOrderByDtype) {
  const std::vector<Tensor> p{parameter(1, 100), parameter(1, 100), parameter(1, 300),
                              ops::full(Dims{8}, wrapped_number(1.0), Dtype::f64, kCpu)};
  const std::vector<size_t> order{3, 2, 1, 0};
  const auto b = assign_buckets(p, order, {1000, 400});
  const std::vector<std::vector<size_t>> want{{2}, {1}, {0}};
  ASSERT_EQ(b.size(), 4u);
  EXPECT_EQ(b[0], std::vector<size_t>{3}) << "another dtype, which is complete first";
  EXPECT_EQ(std::vector(b.begin() + 1, b.end()), want);
  const auto one = assign_buckets(p, order, {});
  ASSERT_EQ(one.size(), 2u);
  EXPECT_EQ(one[1], (std::vector<size_t>{2, 1, 0}));
}

TEST(Reducer, LeavesTheMeanWhateverTheBuckets) {
  for (const bool views : {false, true})
    for (ReducerOptions o : {ReducerOptions(), tiny()}) {
      o.gradient_as_bucket_view = views;
      on_ranks(3, [&](Ref<Group> g) {
        const Chain chain;
        const auto r = chain.over(g, o);
        for (int i = 0; i < 3; ++i) {
          chain.clear();
          step(*r, chain, g->rank() + 1);
          EXPECT_FLOAT_EQ(first(grad(chain.w[0])), 2 * 15);
          EXPECT_FLOAT_EQ(first(grad(chain.w[2])), 2 * 6);
        }
        EXPECT_TRUE(r->rebuilt());
        EXPECT_EQ(r->bucket_count(), o.limits.first == 1 ? 3u : 1u);
        const Bucket& last = r->bucket(r->bucket_count() - 1);
        EXPECT_EQ(grad(chain.w[0]).storage() == last.flat.storage(), views);
      });
    }
}

TEST(Reducer, ReducesWhileBackwardGoesOn) {
  on_ranks(2, [](Ref<Group> g) {
    struct Noting final : CommHook {
      struct Pending final : PendingReduction {
        explicit Pending(Ref<Work> w) : work(std::move(w)) {}
        Tensor wait() override { return work->wait(), Tensor(); }
        Ref<Work> work;
      };
      Ref<PendingReduction> begin(Reducer& r, size_t b) override {
        works.push_back(all_reduce(r.group(), {&r.bucket(b).flat, 1}, {ReduceOp::avg}, true));
        return make_ref<Pending>(works.back());
      }
      std::vector<Ref<Work>> works;
    };
    // In the middle of backward: waits until the first bucket has come back from all ranks.
    struct InTheMiddle final : TensorHook {
      explicit InTheMiddle(Ref<Noting> n) : noting(std::move(n)) {}
      Tensor call(const Tensor&) override {
        begun = noting->works.size();
        noting->works.at(0)->wait(Millis(5000));
        done = noting->works[0]->done();
        return {};
      }
      Ref<Noting> noting;
      size_t begun = 0;
      bool done = false;
    };
    const Chain chain;
    const auto r = chain.over(g, tiny());
    const auto noting = make_ref<Noting>();
    r->set_hook(noting);
    const auto middle = make_ref<InTheMiddle>(noting);
    add_hook(autograd_data(chain.w[0]).hooks, Ref<TensorHook>(middle));
    step(*r, chain, g->rank() + 1);
    EXPECT_GE(middle->begun, 1u);
    EXPECT_LT(middle->begun, 3u) << "the last gradient is not there yet";
    EXPECT_TRUE(middle->done);
    EXPECT_EQ(noting->works.size(), 3u);
    EXPECT_FLOAT_EQ(first(grad(chain.w[0])), 1.5 * 15);
  });
}

TEST(Reducer, NamesWhatGotNoGradient) {
  on_ranks(2, [](Ref<Group> g) {
    const Chain chain;
    const auto r = chain.over(g);
    step(*r, chain, 1, 1);
    const std::string text = message_of([&] { step(*r, chain, 1, 1); });
    EXPECT_NE(text.find("Expected to have finished reduction"), std::string::npos) << text;
    EXPECT_NE(text.find("did not receive grad for rank " + std::to_string(g->rank()) + ": b"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("find_unused_parameters=True"), std::string::npos) << text;
  });
}

TEST(Reducer, FindsWhatIsNotUsedOnSomeRankOrOnNone) {
  ReducerOptions o = tiny();
  o.find_unused_parameters = true;
  on_ranks(2, [&](Ref<Group> g) {
    const Chain chain;
    const auto r = chain.over(g, o);
    for (int i = 0; i < 2; ++i) {
      chain.clear();
      step(*r, chain, 1, g->rank() == 0 ? 1 : -1);  // b on rank 1 alone
      EXPECT_FLOAT_EQ(first(grad(chain.w[1])), 10.0 / 2);
      EXPECT_FLOAT_EQ(first(grad(chain.w[0])), (5.0 + 15) / 2);
    }
    chain.clear();
    step(*r, chain, 1, 1);
    EXPECT_FALSE(grad(chain.w[1]).defined()) << "on no rank";
    EXPECT_FLOAT_EQ(first(grad(chain.w[0])), 5);
  });
}

TEST(Reducer, LearnsAStaticGraphFromItsFirstPass) {
  ReducerOptions o = tiny();
  o.static_graph = true;
  on_ranks(2, [&](Ref<Group> g) {
    const Chain chain;
    const auto r = chain.over(g, o);
    for (int i = 0; i < 3; ++i) {
      chain.clear();
      step(*r, chain, g->rank() + 1, 1);
      EXPECT_FALSE(grad(chain.w[1]).defined());
      EXPECT_FLOAT_EQ(first(grad(chain.w[0])), 1.5 * 5);
    }
  });
}

TEST(Reducer, AddsUpWithoutSynchronization) {
  on_ranks(2, [](Ref<Group> g) {
    const Chain chain;
    const auto r = chain.over(g);
    r->set_synchronizing(false);
    step(*r, chain, g->rank() + 1);
    EXPECT_FLOAT_EQ(first(grad(chain.w[0])), 15 * (g->rank() + 1));
    r->set_synchronizing(true);
    step(*r, chain, g->rank() + 1);
    EXPECT_FLOAT_EQ(first(grad(chain.w[0])), 15 * 3);
  });
}

TEST(Reducer, ReducesOnceForTwoHalvesOfABackward) {
  on_ranks(2, [](Ref<Group> g) {
    const Chain chain;
    const auto r = chain.over(g);
    r->prepare_forward();
    const Tensor a = ops::sum(ops::mul(chain.w[0], chain.w[1])), c = ops::sum(chain.w[2]);
    r->prepare_backward({});
    backward({&a, 1}, {}, false, false);
    backward({&c, 1}, {}, false, false);
    EXPECT_FLOAT_EQ(first(grad(chain.w[0])), 3);
    EXPECT_FLOAT_EQ(first(grad(chain.w[2])), 1);
    r->prepare_forward();
  });
}

TEST(Reducer, TakesPartWithoutData) {
  on_ranks(2, [](Ref<Group> g) {
    const Chain chain;
    const auto r = chain.over(g, tiny());
    for (int i = 0; i < 3; ++i) {
      chain.clear();
      if (g->rank() == 0 && i > 0) {
        r->shadow();
        EXPECT_FALSE(grad(chain.w[0]).defined());
      } else {
        step(*r, chain, 1);
        EXPECT_FLOAT_EQ(first(grad(chain.w[0])), i == 0 ? 15 : 7.5);
      }
    }
  });
}

TEST(Reducer, RefusesModelsThatDiffer) {
  on_ranks(3, [](Ref<Group> g) {
    Chain chain;
    if (g->rank() == 2) chain.w[1] = parameter(3, 7);
    const std::string text = message_of([&] { chain.over(g); });
    EXPECT_NE(text.find("params[1]"), std::string::npos) << text;
    EXPECT_NE(text.find("f32[4] b on ranks 0, 1; f32[7] b on rank 2"), std::string::npos) << text;
  });
}

TEST(Reducer, RefusesParametersOfOneShapeInAnotherOrder) {
  on_ranks(2, [](Ref<Group> g) {
    const std::vector<Tensor> w{parameter(2), parameter(2)};
    const std::vector<std::string> names =
        g->rank() ? std::vector<std::string>{"b", "a"} : std::vector<std::string>{"a", "b"};
    const std::string text = message_of([&] {
      make_ref<Reducer>(g, Reducer::Named{names, w}, std::vector<Tensor>(), ReducerOptions());
    });
    const std::string own = g->rank() ? "b" : "a";
    EXPECT_NE(text.find("params[0] is " + own + " in this process"), std::string::npos) << text;
    EXPECT_NE(text.find("a on rank 0; f32[4] b on rank 1"), std::string::npos) << text;
  });
}

TEST(Reducer, BeginsWithTheValuesOfRankZero) {
  on_ranks(2, [](Ref<Group> g) {
    Chain chain;
    if (g->rank() == 1) chain.w[0] = parameter(9);
    const auto r = chain.over(g);
    EXPECT_FLOAT_EQ(first(chain.w[0]), 2);
  });
}

TEST(Reducer, SendsHalfPrecision) {
  on_ranks(2, [](Ref<Group> g) {
    const Chain chain;
    const auto r = chain.over(g);
    r->set_hook(compressing_hook(Dtype::bf16));
    step(*r, chain, g->rank() + 1.001);
    EXPECT_NEAR(first(grad(chain.w[0])), 22.515, 0.1);
    EXPECT_NE(float(first(grad(chain.w[0]))), 22.515f);
    EXPECT_NE(message_of([&] { r->set_hook(compressing_hook(Dtype::f16)); }), "");
  });
}

}  // namespace
}  // namespace flambeau::dist
