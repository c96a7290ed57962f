// Which element of images [n, c, d, h, w] a thread of a device has: threads that follow each other
// have elements that do so in memory, whether channels come before the space or after it.
#pragma once
#include "kernels/conv/conv.h"
#include "kernels/far_divide.h"

namespace flambeau::FLAM_TARGET {

struct ImagePlace {
  int64_t image, channel, d, h, w;
};

struct ImageWalk {
  FarDivide d, h, w, channels;
  bool channels_last;

  // Of images of `count` channels and of these sizes, written to `out`.
  ImageWalk(const int64_t* sizes, int64_t count, const ConvOperand& out)
      : d(sizes[0]),
        h(sizes[1]),
        w(sizes[2]),
        channels(count),
        channels_last(count > 1 && out.inner == 1) {}

  __device__ ImagePlace at(int64_t i) const {
    ImagePlace p{};
    if (channels_last) p.channel = rest(i, channels);
    p.w = rest(i, w);
    p.h = rest(i, h);
    p.d = rest(i, d);
    if (!channels_last) p.channel = rest(i, channels);
    p.image = i;
    return p;
  }

 private:
  static __device__ int64_t rest(int64_t& i, const FarDivide& by) {
    int64_t left = i;
    i = divide(left, by);
    return left;
  }
};

}  // namespace flambeau::FLAM_TARGET
