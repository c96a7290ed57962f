// C++ side of include/flambeau/tensor.h: the targets of its C functions.
#pragma once
#include "capi/objects.h"

namespace flambeau::capi {

Tensor tensor_retain(const Tensor& tensor);
void tensor_release(const Tensor& tensor);
size_t tensor_list_size(const flam_tensor_list* list);
Tensor tensor_list_get(const flam_tensor_list* list, size_t index);
void tensor_list_release(flam_tensor_list* list);

Dtype tensor_dtype(const Tensor& tensor);
Device tensor_device(const Tensor& tensor);
int64_t tensor_dim(const Tensor& tensor);
int64_t tensor_size(const Tensor& tensor, int64_t dim);
const int64_t* tensor_sizes(const Tensor& tensor);
const int64_t* tensor_strides(const Tensor& tensor);
int64_t tensor_storage_offset(const Tensor& tensor);
int64_t tensor_numel(const Tensor& tensor);
int64_t tensor_element_size(const Tensor& tensor);
int64_t tensor_nbytes(const Tensor& tensor);
bool tensor_is_contiguous(const Tensor& tensor);
bool tensor_is_wrapped_number(const Tensor& tensor);

void* tensor_data_ptr(const Tensor& tensor);
void* tensor_host_data(const Tensor& tensor);
void tensor_mark_written(const Tensor& tensor);
int64_t tensor_version(const Tensor& tensor);
bool tensor_is_pinned(const Tensor& tensor);
Tensor tensor_pin_memory(const Tensor& tensor);
bool tensor_shares_storage(const Tensor& tensor, const Tensor& other);
void* tensor_storage_data(const Tensor& tensor);
int64_t tensor_storage_nbytes(const Tensor& tensor);
void tensor_record_stream(const Tensor& tensor, const flam_stream* stream);
Tensor tensor_from_data(const void* data, DimsView size, Dtype dtype, Device device, bool requires_grad);
Tensor tensor_from_blob(void* data, DimsView size, DimsView stride, Dtype dtype, Device device,
                        void (*drop)(void* user), void* user);
void tensor_to_host(const Tensor& tensor, void* buffer, size_t nbytes);
double tensor_item_f64(const Tensor& tensor);
int64_t tensor_item_i64(const Tensor& tensor);
void tensor_set_data(const Tensor& tensor, const Tensor& src);

bool tensor_requires_grad(const Tensor& tensor);
void tensor_set_requires_grad(const Tensor& tensor, bool requires_grad);
bool tensor_is_leaf(const Tensor& tensor);
Tensor tensor_grad(const Tensor& tensor);
void tensor_set_grad(const Tensor& tensor, const Tensor& grad);
bool tensor_is_view(const Tensor& tensor);
Tensor tensor_base(const Tensor& tensor);
bool tensor_is_inference(const Tensor& tensor);
const char* tensor_grad_fn_name(const Tensor& tensor);

void format_options_init(flam_format_options* options);
const char* tensor_format(const Tensor& tensor, const flam_format_options* options);

void set_default_dtype(Dtype dtype);
Dtype get_default_dtype();
void set_default_device(Device device);
Device get_default_device();

}  // namespace flambeau::capi
