// Autograd behind handles: modes and scopes, hooks, custom functions and borrowed memory, each
// with its callbacks counted: what the program hands over is dropped exactly once, also on failure.
#include "capi/gen/targets.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "base/error.h"
#include "capi/callback.h"
#include "graph/autograd_data.h"
#include "graph/mode.h"
#include "nn/gen/layers.h"
#include "nn/module.h"
#include "ops/ops.h"

namespace flambeau {
namespace {

Tensor values(std::vector<float> v, bool requires_grad = false) {
  const Dims size{int64_t(v.size())};
  return capi::tensor_from_data(v.data(), size, Dtype::f32, kCpu, requires_grad);
}

std::vector<float> read(const Tensor& t) {
  std::vector<float> v(size_t(t.numel()));
  capi::tensor_to_host(t, v.data(), v.size() * sizeof(float));
  return v;
}

template <class F> std::string error_of(Code code, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(int(e.code), int(code)) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

void backward_ones(const Tensor& y) {
  const Tensor g = ops::ones(y.sizes());
  capi::autograd_backward({&y, 1}, {&g, 1}, false, false, {});
}

struct Counter {
  int calls = 0, drops = 0, released = 0;
  float factor = 1;
  flam_status status = FLAM_OK;
};

flam_hook_callback hook_of(Counter& c) {
  flam_hook_callback h{};
  h.struct_size = sizeof h;
  h.user = &c;
  h.call = [](void* user, const flam_tensor* grad, flam_tensor** out) -> flam_status {
    Counter& c = *static_cast<Counter*>(user);
    ++c.calls;
    const Tensor g(
        Ref<TensorImpl>::share(reinterpret_cast<TensorImpl*>(const_cast<flam_tensor*>(grad))));
    if (c.factor != 1) {
      *out = reinterpret_cast<flam_tensor*>(
          ops::mul(g, wrapped_number(double(c.factor))).detach_handle());
    }
    return c.status;
  };
  h.drop = [](void* user) { ++static_cast<Counter*>(user)->drops; };
  return h;
}

TEST(Scopes, RestoreInReverseOrderOnly) {
  const flam_scope outer = capi::grad_mode_push(false);
  const flam_scope inner = capi::inference_mode_push(true);
  EXPECT_TRUE(capi::inference_enabled());
  EXPECT_NE(
      error_of(Code::scope, [&] { capi::scope_pop(outer); }).find("an inner one is still open"),
      std::string::npos);
  EXPECT_TRUE(capi::inference_enabled());
  std::thread([&] {
    EXPECT_NE(error_of(Code::scope, [&] { capi::scope_pop(inner); }).find("another"),
              std::string::npos);
    EXPECT_TRUE(capi::grad_enabled());
  }).join();
  capi::scope_pop(inner);
  EXPECT_FALSE(capi::inference_enabled());
  EXPECT_FALSE(capi::grad_enabled());
  capi::set_grad_enabled(true);
  capi::scope_pop(outer);
  EXPECT_TRUE(capi::grad_enabled());
  error_of(Code::scope, [&] { capi::scope_pop(outer); });
}

TEST(Hooks, ReplaceGradientsOfLeavesAndOthers) {
  Counter on_leaf, on_result;
  on_leaf.factor = 10;
  on_result.factor = 2;
  {
    const Tensor x = values({1, 2}, true);
    const Tensor y = ops::mul(x, x);
    const auto a = hook_of(on_leaf), b = hook_of(on_result);
    const Ref<flam_hook> first = capi::tensor_register_hook(x, &a);
    const Ref<flam_hook> second = capi::tensor_register_hook(y, &b);
    backward_ones(y);
    EXPECT_EQ(read(x.impl()->autograd->grad), (std::vector<float>{40, 80}));
    capi::hook_remove(first.get());
    EXPECT_EQ(on_leaf.drops, 1);
    capi::hook_remove(first.get());
    backward_ones(ops::mul(x, x));
    EXPECT_EQ(on_leaf.calls, 1);
  }
  EXPECT_EQ(on_leaf.drops, 1);
  EXPECT_EQ(on_result.drops, 1);
}

TEST(Hooks, RunAfterAccumulation) {
  Counter c;
  const Tensor x = values({3}, true);
  const auto h = hook_of(c);
  const auto handle = capi::tensor_register_post_accumulate_grad_hook(x, &h);
  backward_ones(ops::mul(x, x));
  EXPECT_EQ(c.calls, 1);
}

TEST(Hooks, DropOnceWhereRefusedAndStopBackwardWhereTheyFail) {
  Counter c;
  const auto h = hook_of(c);
  error_of(Code::autograd, [&] { capi::tensor_register_hook(values({1}), &h); });
  EXPECT_EQ(c.drops, 1);
  Counter failing;
  failing.status = FLAM_ERROR_CALLBACK;
  const auto f = hook_of(failing);
  const Tensor x = values({1}, true);
  const Tensor y = ops::mul(x, x);
  const auto handle = capi::tensor_register_hook(y, &f);
  error_of(Code::callback, [&] { backward_ones(y); });
  EXPECT_FALSE(x.impl()->autograd->grad.defined());
}

flam_function cube(Counter& c) {
  flam_function f{};
  f.struct_size = sizeof f;
  f.user = &c;
  f.name = "CubeBackward";
  f.materialize_grads = 1;
  f.backward = [](void* user, flam_tensor* const* grads, size_t n_grads, flam_tensor** out,
                  size_t n_out) -> flam_status {
    Counter& c = *static_cast<Counter*>(user);
    ++c.calls;
    EXPECT_EQ(n_grads, 2u);
    EXPECT_EQ(n_out, 2u);
    EXPECT_TRUE(capi::function_wanted(0));
    EXPECT_FALSE(capi::function_wanted(1));
    EXPECT_NE(grads[1], nullptr);  // materialised zeros
    const Tensor g(
        Ref<TensorImpl>::share(reinterpret_cast<TensorImpl*>(const_cast<flam_tensor*>(grads[0]))));
    out[0] = reinterpret_cast<flam_tensor*>(
        ops::mul(g, wrapped_number(double(c.factor))).detach_handle());
    return FLAM_OK;
  };
  f.release_saved = [](void* user) { ++static_cast<Counter*>(user)->released; };
  f.drop = [](void* user) { ++static_cast<Counter*>(user)->drops; };
  return f;
}

// A program that sets and removes a hook in every step does not make its lists longer.
TEST(Hooks, RemovedOnesLeaveTheirList) {
  Counter c;
  const flam_hook_callback on_gradient = hook_of(c);
  const flam_node_hook_callback on_node{
      sizeof on_node, &c,
      [](void*, flam_tensor* const*, size_t, flam_tensor* const*, size_t, flam_tensor**,
         size_t) -> flam_status { return FLAM_OK; },
      nullptr};
  const flam_module_hook_callback on_module{sizeof on_module, &c,
                                            [](void*, const flam_tensor*, const flam_tensor*,
                                               flam_tensor**) -> flam_status { return FLAM_OK; },
                                            nullptr};
  const Tensor leaf = values({1}, true), y = ops::neg(leaf);
  const Ref<flam_node> node = capi::tensor_grad_fn(y);
  const auto module = make_ref<flam_module>("Empty");
  for (int i = 0; i < 3; ++i) {
    for (const Ref<flam_hook>& hook :
         {capi::tensor_register_hook(leaf, &on_gradient),
          capi::tensor_register_hook(y, &on_gradient),
          capi::tensor_register_post_accumulate_grad_hook(leaf, &on_gradient),
          capi::node_register_hook(node.get(), &on_node, true),
          capi::node_register_hook(node.get(), &on_node, false),
          capi::module_register_hook(module.get(), FLAM_HOOK_FORWARD_PRE, &on_module),
          capi::module_register_hook(module.get(), FLAM_HOOK_FORWARD, &on_module)}) {
      hook->remove();
    }
  }
  EXPECT_EQ(c.drops, 9);
  const AutogradData& data = autograd_data(leaf);
  const Node& recorded = *grad_fn(y);
  EXPECT_EQ(data.hooks.size(), 1u);
  EXPECT_EQ(data.accumulated_hooks.size(), 1u);
  EXPECT_EQ(recorded.hooks.size(), 1u);
  EXPECT_EQ(recorded.node_hooks->before.size(), 1u);
  EXPECT_EQ(recorded.node_hooks->after.size(), 1u);
  EXPECT_EQ(module->hooks_before.size(), 1u);
  EXPECT_EQ(module->hooks_after.size(), 1u);
}

// Forwards of one module may meet; its hook's data goes once, after the last of them.
TEST(Hooks, RunOnSeveralThreadsAndDropOnce) {
  struct Shared {
    std::atomic<int> running = 0, drops = 0, after = 0;
  } shared;
  flam_module_hook_callback callback{};
  callback.struct_size = sizeof callback;
  callback.user = &shared;
  callback.call = [](void* user, const flam_tensor*, const flam_tensor*,
                     flam_tensor**) -> flam_status {
    Shared& s = *static_cast<Shared*>(user);
    ++s.running;
    if (s.drops) ++s.after;
    --s.running;
    return FLAM_OK;
  };
  callback.drop = [](void* user) {
    Shared& s = *static_cast<Shared*>(user);
    if (s.running) ++s.after;
    ++s.drops;
  };
  const Ref<flam_module> module = nn::relu();
  Ref<flam_hook> hook = capi::module_register_hook(module.get(), FLAM_HOOK_FORWARD, &callback);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Tensor x = values({1});
      for (int k = 0; k < 2000; ++k) capi::module_call(module.get(), x);
    });
  }
  hook->remove();
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(shared.drops, 1);
  EXPECT_EQ(shared.after, 0);
}

TEST(Function, GradientComesFromTheProgram) {
  Counter c;
  c.factor = 7;
  {
    const Tensor x = values({1, 2}, true), plain = values({0, 0});
    Tensor y, z;
    {
      const GradMode off(false);
      y = ops::mul(x, x);
      z = ops::add(x, x);
    }
    const flam_function f = cube(c);
    const Tensor in[] = {x, plain}, out[] = {y, z};
    const auto list = capi::function_record(&f, in, out, {}, {});
    const Tensor recorded = capi::tensor_list_get(list.get(), 0);
    EXPECT_STREQ(capi::tensor_grad_fn_name(recorded), "CubeBackward");
    EXPECT_EQ(capi::tensor_output_nr(capi::tensor_list_get(list.get(), 1)), 1);
    error_of(Code::index, [&] { capi::tensor_list_get(list.get(), 2); });
    const auto node = capi::tensor_grad_fn(recorded);
    ASSERT_EQ(capi::node_next_count(node.get()), 2u);
    EXPECT_STREQ(capi::node_name(capi::node_next(node.get(), 0).get()), "AccumulateGrad");
    EXPECT_TRUE(capi::node_variable(capi::node_next(node.get(), 0).get()).is_same(x));
    EXPECT_FALSE(capi::node_next(node.get(), 1));
    backward_ones(recorded);
    EXPECT_EQ(read(x.impl()->autograd->grad), (std::vector<float>{7, 7}));
    EXPECT_EQ(c.calls, 1);
    EXPECT_EQ(c.released, 1);
    EXPECT_EQ(c.drops, 0);
  }
  EXPECT_EQ(c.drops, 1);
}

TEST(Function, DropsOnceWhereNothingIsRecorded) {
  Counter c;
  const flam_function f = cube(c);
  const Tensor in[] = {values({1}), values({1})}, out[] = {values({2}), values({3})};
  const auto list = capi::function_record(&f, in, out, {}, {});
  EXPECT_TRUE(capi::tensor_is_leaf(capi::tensor_list_get(list.get(), 0)));
  EXPECT_EQ(c.drops, 1);
  flam_function broken = cube(c);
  broken.backward = nullptr;
  error_of(Code::invalid_argument, [&] { capi::function_record(&broken, in, out, {}, {}); });
  EXPECT_EQ(c.drops, 2);
}

TEST(Function, ResultThatIsAnOperandIsAnotherHandle) {
  Counter c;
  const flam_function f = cube(c);
  const Tensor x = values({1}, true), plain = values({1});
  const Tensor in[] = {x, plain}, out[] = {x, values({3})};
  const auto list = capi::function_record(&f, in, out, {}, {});
  EXPECT_TRUE(capi::tensor_is_leaf(x));
  const Tensor y = capi::tensor_list_get(list.get(), 0);
  EXPECT_FALSE(y.is_same(x));
  EXPECT_TRUE(capi::tensor_shares_storage(x, y));
  EXPECT_FALSE(capi::tensor_is_leaf(y));
  const Tensor dirty[] = {x};
  error_of(Code::autograd, [&] { capi::function_record(&f, in, out, dirty, {}); });
}

TEST(SavedValue, NoticesWrites) {
  const Tensor x = values({1, 2});
  const auto saved = capi::saved_new(x, -1);
  EXPECT_TRUE(capi::saved_get(saved.get()).is_same(x));
  ops::zero_(x);
  EXPECT_NE(error_of(Code::autograd, [&] { capi::saved_get(saved.get()); }).find("\"zero_\" wrote"),
            std::string::npos);
}

TEST(RetainGrad, FollowsTheTensorThroughWritesAndDeath) {
  const Tensor x = values({1, 2}, true);
  Tensor y = ops::mul(x, x);
  capi::tensor_retain_grad(y);
  ops::mul_(y, wrapped_number(3.0));
  backward_ones(y);
  EXPECT_EQ(read(y.impl()->autograd->grad), (std::vector<float>{1, 1}));
  EXPECT_EQ(read(x.impl()->autograd->grad), (std::vector<float>{6, 12}));
  Tensor z = ops::mul(x, x);
  const Tensor w = ops::mul(z, wrapped_number(2.0));
  capi::tensor_retain_grad(z);
  ops::add_(z, wrapped_number(1.0));
  z = Tensor();
  backward_ones(w);
  EXPECT_EQ(read(x.impl()->autograd->grad), (std::vector<float>{10, 20}));
}

TEST(Detach, InPlaceMakesALeaf) {
  const Tensor x = values({1}, true);
  const Tensor y = ops::mul(x, x);
  capi::tensor_retain_grad(y);
  capi::tensor_detach_(y);
  EXPECT_TRUE(capi::tensor_is_leaf(y));
  EXPECT_FALSE(capi::tensor_requires_grad(y));
}

TEST(Blob, DropsExactlyOnce) {
  int drops = 0;
  const auto drop = [](void* user) { ++*static_cast<int*>(user); };
  float data[6] = {0, 1, 2, 3, 4, 5};
  {
    const Dims size{3, 2}, stride{1, 3};
    const Tensor t = capi::tensor_from_blob(data, size, stride, Dtype::f32, kCpu, drop, &drops);
    EXPECT_EQ(t.data(), data);
    EXPECT_EQ(read(t), (std::vector<float>{0, 3, 1, 4, 2, 5}));
    const Tensor v = ops::select(t, 1, 1);
    ops::zero_(v);
    EXPECT_EQ(data[4], 0);
  }
  EXPECT_EQ(drops, 1);
  const Dims bad{-1};
  error_of(Code::shape,
           [&] { capi::tensor_from_blob(data, bad, {}, Dtype::f32, kCpu, drop, &drops); });
  EXPECT_EQ(drops, 2);
}

TEST(Tensors, ItemsAndFlags) {
  EXPECT_EQ(capi::tensor_item_f64(values({2.5f})), 2.5);
  EXPECT_EQ(capi::tensor_item_i64(values({-2.5f})), -2);
  error_of(Code::shape, [&] { capi::tensor_item_f64(values({1, 2})); });
  error_of(Code::invalid_argument, [&] { capi::tensor_item_i64(values({NAN})); });
  const Tensor x = values({1}, true);
  const Tensor y = ops::mul(x, x);
  EXPECT_NE(error_of(Code::autograd, [&] { capi::tensor_set_requires_grad(y, false); })
                .find("you can only change requires_grad flags of leaf variables"),
            std::string::npos);
  const Tensor i = ops::to_dtype(x, Dtype::i64);
  error_of(Code::dtype, [&] { capi::tensor_set_requires_grad(i, true); });
  error_of(Code::shape, [&] { capi::tensor_set_grad(x, values({1, 2})); });
  capi::tensor_set_grad(x, values({4}));
  EXPECT_EQ(read(capi::tensor_grad(x)), std::vector<float>{4});
  capi::tensor_set_grad(x, {});
  EXPECT_FALSE(capi::tensor_grad(x).defined());
}

}  // namespace
}  // namespace flambeau
