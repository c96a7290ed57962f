// Tables of vectors that are looked up by index, one by one or by the bag.
#include "base/error.h"
#include "flambeau/embedding.h"
#include "nn/blocks.h"
#include "nn/init.h"

namespace flambeau::nn {

namespace {

class Table : public Module {
 protected:
  Table(const char* name, int64_t count, int64_t size, std::optional<int64_t> padding_idx,
        const Made& made)
      : Module(name), padding_idx_(padding_idx), count_(count), size_(size) {
    check(count >= 0 && size >= 0, Code::invalid_argument, type,
          ": sizes must not be negative, got ", count, " and ", size);
    if (padding_idx_) {
      check(*padding_idx >= -count && *padding_idx < count, Code::invalid_argument,
            "Padding_idx must be within num_embeddings");
      if (*padding_idx < 0) padding_idx_ = *padding_idx + count;
    }
    const Tensor weight = uninitialized(Dims{count, size}, made);
    init_normal(weight, 0, 1, nullptr);
    if (padding_idx_) ops::zero_(ops::select(weight, 0, *padding_idx_));
    set_parameter("weight", trainable(weight));
  }
  std::string sizes() const { return cat_text(count_, ", ", size_); }
  std::string padding() const {
    return padding_idx_ ? cat_text(", padding_idx=", *padding_idx_) : std::string();
  }
  std::optional<int64_t> padding_idx_;

 private:
  int64_t count_, size_;
};

class Embedding final : public Table {
 public:
  Embedding(int64_t count, int64_t size, std::optional<int64_t> padding_idx, const Made& made)
      : Table("Embedding", count, size, padding_idx, made) {}
  Tensor forward(TensorsView inputs) override {
    return ops::embedding(only(*this, inputs), Module::parameter("weight"), padding_idx_);
  }
  std::string extra_repr() const override { return sizes() + padding(); }
};

class EmbeddingBag final : public Table {
 public:
  EmbeddingBag(int64_t count, int64_t size, const EmbeddingBagOptions& o)
      : Table("EmbeddingBag", count, size, o.padding_idx, o.made), o_(o) {}
  // Indices, then optionally where bags start, then optionally factors.
  Tensor forward(TensorsView inputs) override {
    const size_t n = inputs.size();
    check(n >= 1 && n <= 3, Code::invalid_argument, type,
          " takes indices, and optionally offsets and weights of samples; got ", n, " tensors");
    check_given(*this, inputs, {"input"});
    return ops::embedding_bag(inputs[0], Module::parameter("weight"), at_or_none(inputs, 1),
                              o_.mode, at_or_none(inputs, 2), o_.include_last_offset, padding_idx_);
  }
  std::string extra_repr() const override {
    const char* mode = o_.mode == FLAM_BAG_SUM ? "sum" : o_.mode == FLAM_BAG_MAX ? "max" : "mean";
    return cat_text(sizes(), ", mode='", mode, "'", padding());
  }

 private:
  EmbeddingBagOptions o_;
};

}  // namespace

Ref<Module> embedding(int64_t count, int64_t size, std::optional<int64_t> padding_idx,
                      const Made& made) {
  return make_ref<Embedding>(count, size, padding_idx, made);
}

Ref<Module> embedding_bag(int64_t count, int64_t size, const EmbeddingBagOptions& o) {
  return make_ref<EmbeddingBag>(count, size, o);
}

}  // namespace flambeau::nn
