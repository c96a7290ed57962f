// Which module a parameter belongs to, so that errors can name it by its path: "weight of \"net.0\"
// (Linear)". A side table keyed by addresses; modules and tensors are taken out when they die.
#pragma once
#include <string>
#include <string_view>

#include "tensor/tensor.h"

struct flam_module;

namespace flambeau::nn {

void remember_owner(const Tensor& t, const ::flam_module* m, std::string_view name);
void forget_owner(const TensorImpl* t, const ::flam_module* m, std::string_view name);
void remember_parent(const ::flam_module& child, const ::flam_module* parent,
                     std::string_view name);
void forget_parent(const ::flam_module& child, const ::flam_module* parent, std::string_view name);
std::string path_of(const ::flam_module& m);  // from its outermost parent; "" where it has none
// `"net.0" (Linear)` of a label that a module has; without the type where several modules share the
// path, the type alone for a root.
std::string describe_label(const char* label);
void forget_module(const ::flam_module* m);  // as a parent and as a child

}  // namespace flambeau::nn
