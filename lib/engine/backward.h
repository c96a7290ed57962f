// The backward walk.
#pragma once
#include <atomic>
#include <functional>
#include <span>

#include "tensor/tensor.h"

namespace flambeau {

// Whether a backward pass looks for NaN in the results of every node.
inline std::atomic<bool> detect_anomaly{false};

// Accumulates gradients of `roots` into the leaves' .grad. Undefined entries of `grads` stand for
// ones, for roots of one element. `inputs`, where given, limits the accumulation to those tensors.
void backward(TensorsView roots, TensorsView grads, bool retain_graph, bool create_graph,
              TensorsView inputs = {});

// Gradients of `roots` with respect to `inputs`, undefined where there is no path (an error unless
// allow_unused). Nothing is accumulated.
Tensors gradients(TensorsView roots, TensorsView grads, TensorsView inputs, bool retain_graph,
                  bool create_graph, bool allow_unused);

// Lets a tensor that is no leaf keep its gradient.
void retain_grad(const Tensor& t);

// Calls f on this thread once all gradients are there of the outermost pass that runs on it: a pass
// inside another is a part of that one. Not where it fails.
void after_pass(std::function<void()> f);

// Whether the pass that runs on this thread computes the gradient of t.
bool backward_reaches(const Tensor& t);

}  // namespace flambeau
