// Targets of include/flambeau/module.h and state.h.
#pragma once
#include <string_view>

#include "flambeau/module.h"
#include "nn/module.h"

namespace flambeau::capi {

Ref<flam_state> state_new();
void state_set(flam_state* state, std::string_view name, const Tensor& tensor);
Tensor state_get(const flam_state* state, std::string_view name);
size_t state_size(const flam_state* state);
const char* state_name(const flam_state* state, size_t index);
Tensor state_tensor(const flam_state* state, size_t index);

Ref<flam_module> module_new(std::string_view type, const flam_module_vtable* vtable, void* user);
const char* module_type(const flam_module* module);
void module_set_parameter(flam_module* module, std::string_view name, const Tensor& tensor);
void module_set_buffer(flam_module* module, std::string_view name, const Tensor& tensor, bool persistent);
void module_set_child(flam_module* module, std::string_view name, flam_module* child);
void module_remove(flam_module* module, std::string_view name);
Tensor module_parameter(const flam_module* module, std::string_view path);
Tensor module_buffer(const flam_module* module, std::string_view path);
Ref<flam_module> module_child(const flam_module* module, std::string_view path);
size_t module_child_count(const flam_module* module);
const char* module_child_name(const flam_module* module, size_t index);
Ref<flam_state> module_named_parameters(const flam_module* module, bool recurse);
Ref<flam_state> module_named_buffers(const flam_module* module, bool recurse);
Ref<flam_state> module_state_dict(const flam_module* module);
void module_load_state_dict(flam_module* module, const flam_state* state, bool strict);
void module_to(flam_module* module, Device device, Dtype dtype, bool non_blocking);
void module_train(flam_module* module, bool mode);
bool module_is_training(const flam_module* module);
void module_zero_grad(flam_module* module, bool set_to_none);
void module_requires_grad(flam_module* module, bool requires_grad);
Tensor module_call(flam_module* module, const Tensor& input);
Tensor module_forward(flam_module* module, TensorsView inputs);
uint64_t module_add_hook(flam_module* module, int32_t moment, const flam_module_hook* hook, void* user);
void module_remove_hook(flam_module* module, uint64_t token);
const char* module_format(const flam_module* module);
int64_t module_numel(const flam_module* module);

}  // namespace flambeau::capi
