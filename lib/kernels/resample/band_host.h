// Images summed by bands on the host: an element of the result is a sum over a box of the input,
// weighted by one factor for each dimension. Resampling is this, and so are averages over windows
// and all their gradients. A line of the result first sums whole lines of the input, which are
// dense, and then sums along the line that this makes. The order depends on the sizes alone, so a
// result's bits do not depend on threads, strides or alignment.
#pragma once
#include <vector>

#include "base/thread_pool.h"
#include "kernels/resample/band_along.h"

namespace flambeau::FLAM_TARGET {

template <class T, class C = BandValue<T>> struct BandImage {
  int64_t images, channels, in[kConvDims], out[kConvDims];
  ConvOperand x, y;
  Taps<C> taps[kConvDims];
  const Divisors<C>*of_x, *of_y;  // elements are divided before they are summed, sums afterwards

  void run() const {
    if (out[0] * out[1] * out[2] == 0) return;
    const BandAlong<C> along(taps[2], out[2], pixel());
    const int64_t lines = images * (is_last() ? 1 : channels) * out[0] * out[1];
    const int64_t work =
        pixel() * (out[2] * (1 + taps[2].most) + in[2] * (1 + taps[0].most * taps[1].most));
    parallel_for(lines, 1 + (1 << 16) / (work + 1), [&](int64_t line, int64_t end) {
      Lines lines(*this, along);
      for (int64_t n; line < end; line += n) {
        const int64_t h = line % out[1], slice = line / out[1];
        n = std::min(end - line, out[1] - h);
        lines.run(slice / out[0], slice % out[0], h, h + n);
      }
    });
  }

 private:
  // Whether the channels of a pixel are neighbours and pixels follow each other: a line then is one
  // of all channels.
  bool is_last() const {
    auto dense = [&](const ConvOperand& o) { return o.inner == 1 && o.space[2] == channels; };
    return channels > 1 && dense(x) && dense(y);
  }
  int64_t pixel() const { return is_last() ? channels : 1; }

  class Lines {
   public:
    Lines(const BandImage& g, const BandAlong<C>& along)
        : g_(g),
          along_(along),
          dense_x_(g.is_last() || g.x.space[2] == 1),
          dense_y_(g.is_last() || g.y.space[2] == 1),
          in_(g.in[2] * g.pixel()),
          out_(g.out[2] * g.pixel()),
          pitch_(in_ + along.overrun()),
          sum_(size_t(pitch_)),
          result_(std::is_same_v<T, C> && dense_y_ ? 0 : size_t(out_)) {}

    void run(int64_t plane, int64_t d, int64_t h, int64_t end) {
      const int64_t image = g_.is_last() ? plane : plane / g_.channels,
                    channel = g_.is_last() ? 0 : plane % g_.channels;
      x_ = reinterpret_cast<const T*>(g_.x.data) + image * g_.x.outer + channel * g_.x.inner;
      T* y = reinterpret_cast<T*>(g_.y.data) + image * g_.y.outer + channel * g_.y.inner +
             d * g_.y.space[0];
      if (!std::is_same_v<T, C> || !dense_x_ || g_.of_x) stage(d, h, end);
      for (const int64_t begin = h; h < end; ++h) {
        T* to = y + h * g_.y.space[1];
        if (h > begin && dense_y_ && repeats(h)) {
          memcpy(to, to - g_.y.space[1], size_t(out_) * sizeof(T));
        } else {
          line(to, d, h);
        }
      }
    }

   private:
    // The input's lines that a range of the result's needs, dense and in the type that is computed
    // in.
    void stage(int64_t d, int64_t h, int64_t end) {
      const Taps<C>&td = g_.taps[0], &th = g_.taps[1];
      first_ = g_.in[1];
      int64_t last = 0;
      for (; h < end; ++h) {
        if (th.count[h] == 0) continue;
        first_ = std::min(first_, th.first[h]);
        last = std::max(last, th.first[h] + th.count[h]);
      }
      lines_ = std::max<int64_t>(0, last - first_);
      const size_t size = size_t(td.count[d] * lines_ * in_);
      if (staged_.size() < size) staged_.resize(size);
      for (int64_t i = 0; i < td.count[d] * lines_; ++i) {
        const int64_t at_d = td.first[d] + i / lines_, at_h = first_ + i % lines_;
        C* to = staged_.data() + i * in_;
        const T* from = x_ + at_d * g_.x.space[0] + at_h * g_.x.space[1];
        widen(to, from, dense_x_ ? 1 : g_.x.space[2], in_);
        if (g_.of_x) g_.of_x->line(at_d, at_h).divide(to, g_.in[2], g_.pixel());
      }
    }

    // Whether line h is the one before it.
    bool repeats(int64_t h) const {
      const Taps<C>& t = g_.taps[1];
      return !t.weights && !g_.of_y && t.first[h] == t.first[h - 1] && t.count[h] == t.count[h - 1];
    }

    const C* input(int64_t i, int64_t d, int64_t h) const {
      if constexpr (std::is_same_v<T, C>) {
        if (staged_.empty()) return x_ + d * g_.x.space[0] + h * g_.x.space[1];
      }
      return staged_.data() + (i * lines_ + h - first_) * in_;
    }

    void line(T* y, int64_t d, int64_t h) {
      const Taps<C>&td = g_.taps[0], &th = g_.taps[1];
      from_.clear();
      weights_.clear();
      for (int64_t i = 0; i < td.count[d]; ++i) {
        for (int64_t j = 0; j < th.count[h]; ++j) {
          from_.push_back(input(i, td.first[d] + i, th.first[h] + j));
          if (td.weights || th.weights) weights_.push_back(td.weight(d, i) * th.weight(h, j));
        }
      }
      C* to = result_.data();
      if constexpr (std::is_same_v<T, C>) {
        if (dense_y_) to = y;
      }
      const C* weights = weights_.empty() ? nullptr : weights_.data();
      sum_lines<C>(sum_.data(), ApartLines<C>{from_.data(), weights, int64_t(from_.size())}, in_);
      along_.run(to, sum_.data());
      if (g_.of_y) g_.of_y->line(d, h).divide(to, g_.out[2], g_.pixel());
      if (!result_.empty()) narrow_line(y, to, dense_y_ ? 1 : g_.y.space[2], out_);
    }

    const BandImage& g_;
    const BandAlong<C>& along_;
    const bool dense_x_, dense_y_;
    const int64_t in_, out_, pitch_;  // elements of a line
    std::vector<C> sum_, result_, staged_;
    const T* x_ = nullptr;
    int64_t first_ = 0, lines_ = 0;
    std::vector<const C*> from_;
    std::vector<C> weights_;
  };
};

}  // namespace flambeau::FLAM_TARGET
