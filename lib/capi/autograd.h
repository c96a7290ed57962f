// C++ side of include/flambeau/autograd.h: the targets of its C functions.
#pragma once
#include "capi/objects.h"

namespace flambeau::capi {

void backward(TensorsView tensors, TensorsView grad_tensors, bool retain_graph, bool create_graph,
              TensorsView inputs);
Ref<flam_tensor_list> grad(TensorsView outputs, TensorsView inputs, TensorsView grad_outputs,
                           bool retain_graph, bool create_graph, bool allow_unused);

flam_scope grad_mode_push(bool enabled);
flam_scope inference_mode_push(bool enabled);
void scope_pop(flam_scope scope);
bool grad_enabled();
void set_grad_enabled(bool enabled);
bool inference_enabled();

void tensor_retain_grad(const Tensor& tensor);
bool tensor_retains_grad(const Tensor& tensor);
void tensor_detach_(const Tensor& tensor);
int64_t tensor_output_nr(const Tensor& tensor);
Ref<flam_hook> tensor_register_hook(const Tensor& tensor, const flam_hook_callback* hook);
Ref<flam_hook> tensor_register_post_accumulate_grad_hook(const Tensor& tensor,
                                                         const flam_hook_callback* hook);
void hook_remove(flam_hook* hook);
void hook_release(flam_hook* hook);

Ref<flam_node> tensor_grad_fn(const Tensor& tensor);
const char* node_name(const flam_node* node);
uint64_t node_id(const flam_node* node);
size_t node_next_count(const flam_node* node);
Ref<flam_node> node_next(const flam_node* node, size_t index);
int64_t node_next_output_nr(const flam_node* node, size_t index);
Tensor node_variable(const flam_node* node);
void node_release(flam_node* node);

Ref<flam_tensor_list> function_record(const flam_function* function, TensorsView inputs,
                                      TensorsView outputs, TensorsView dirty,
                                      TensorsView non_differentiable);
bool function_wanted(size_t index);
Ref<flam_saved> saved_make(const Tensor& tensor, int64_t output_nr);
Tensor saved_get(const flam_saved* saved);
void saved_release(flam_saved* saved);

}  // namespace flambeau::capi
