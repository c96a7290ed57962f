// See mail.h.
#include "dist/mail.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "device/current.h"
#include "dist/collectives.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

constexpr size_t kPiece = size_t{16} << 20;

void send_bytes(Group& g, int to, const void* data, size_t bytes) {
  const PurposeScope own(Purpose::own);
  Tensor t = empty(Dims{int64_t(bytes)}, Dtype::u8, kCpu);
  std::memcpy(t.data(), data, bytes);
  if (const Device via = carrier(g); !via.is_cpu()) t = ops::to_device(t, via, false);
  send(g, t, to, kMailTag)->wait();
}

void recv_bytes(Group& g, int from, void* data, size_t bytes) {
  const PurposeScope own(Purpose::own);
  Tensor t = empty(Dims{int64_t(bytes)}, Dtype::u8, carrier(g));
  recv(g, t, from, kMailTag)->wait();
  if (!t.device().is_cpu()) t = ops::to_device(t, kCpu, false);
  std::memcpy(data, t.data(), bytes);
}

}  // namespace

Device carrier(const Group& g) { return g.takes_cpu() ? kCpu : current_choice().cuda; }

void send_numbers(Group& g, int to, const std::vector<int64_t>& numbers) {
  send_bytes(g, to, numbers.data(), numbers.size() * sizeof(int64_t));
}

std::vector<int64_t> recv_numbers(Group& g, int from, int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  recv_bytes(g, from, numbers.data(), numbers.size() * sizeof(int64_t));
  return numbers;
}

void send_text(Group& g, int to, std::string_view text) {
  send_numbers(g, to, {int64_t(text.size())});
  for (size_t at = 0; at < text.size(); at += kPiece) {
    const std::string_view piece = text.substr(at, kPiece);
    send_bytes(g, to, piece.data(), piece.size());
  }
}

void recv_text(Group& g, int from, const std::function<void(std::string_view)>& take) {
  std::exception_ptr failed;
  size_t left = size_t(recv_numbers(g, from, 1)[0]);
  std::string piece;
  while (left > 0) {
    piece.resize(std::min(left, kPiece));
    recv_bytes(g, from, piece.data(), piece.size());
    left -= piece.size();
    try {
      if (!failed) take(piece);
    } catch (...) {
      failed = std::current_exception();
    }
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace flambeau::dist
