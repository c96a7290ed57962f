// The stand-in for CUB's radix sort sorts stably by the bits it is given, and refuses what CUB's
// contract forbids.
#include <gtest/gtest.h>
#include <cub/device/device_radix_sort.cuh>

#include <string>
#include <vector>

namespace {

struct Problem {
  std::vector<uint32_t> keys{7, 0x103, 5, 3, 0x205, 1},
      spare = std::vector<uint32_t>(6), places{0, 1, 2, 3, 4, 5}, other = std::vector<uint32_t>(6);
  cub::DoubleBuffer<uint32_t> k{keys.data(), spare.data()}, p{places.data(), other.data()};
  size_t bytes = 0;
  std::vector<char> temporary;

  Problem() {
    cub::DeviceRadixSort::SortPairs(nullptr, bytes, k, p, 6u, 0, 8);
    temporary.resize(bytes);
  }
  std::string refusal(int begin = 0, int end = 8) {
    try {
      cub::DeviceRadixSort::SortPairs(temporary.data(), bytes, k, p, 6u, begin, end);
    } catch (const cuda_on_cpu::KernelError& e) {
      return e.what();
    }
    return "";
  }
};

TEST(RadixSort, IsStableByItsBits) {
  Problem x;
  EXPECT_EQ(x.refusal(), "");
  EXPECT_EQ(std::vector<uint32_t>(x.k.Current(), x.k.Current() + 6),
            (std::vector<uint32_t>{1, 0x103, 3, 5, 0x205, 7}));
  EXPECT_EQ(std::vector<uint32_t>(x.p.Current(), x.p.Current() + 6),
            (std::vector<uint32_t>{5, 1, 3, 2, 4, 0}));
  EXPECT_NE(x.keys[0], 7u) << "where the result is not, nothing may be counted on";
}

TEST(RadixSort, RefusesOtherTemporaryStorage) {
  Problem x;
  x.bytes -= 1;
  EXPECT_NE(x.refusal().find("were asked for"), std::string::npos);
}

TEST(RadixSort, RefusesBuffersThatOverlap) {
  Problem x;
  x.k = {x.keys.data(), x.keys.data() + 3};
  EXPECT_NE(x.refusal().find("overlap"), std::string::npos);
}

TEST(RadixSort, RefusesBitsThatAKeyLacks) {
  EXPECT_NE(Problem().refusal(8, 8).find("bits"), std::string::npos);
  EXPECT_NE(Problem().refusal(0, 33).find("bits"), std::string::npos);
}

}  // namespace
