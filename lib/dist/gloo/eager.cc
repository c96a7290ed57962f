// See eager.h.
#include "dist/gloo/eager.h"

#include <gloo/transport/pair.h>

#include <cstring>
#include <exception>
#include <utility>

namespace flambeau::gloo_adaptor {

Eager::Eager(std::shared_ptr<Mesh> mesh, size_t most)
    : mesh_(std::move(mesh)),
      most_(most),
      stride_((sizeof(Head) + most + sizeof(Tail) + 63) / 64 * 64),
      own_(new uint8_t[stride_]),
      places_(new uint8_t[2 * mesh_->size * stride_]) {
  for (int turn = 0; turn < 2; turn++) {
    sent_[turn].resize(mesh_->size);
    received_[turn].resize(mesh_->size);
    for (int r = 0; r < mesh_->size; r++) {
      if (r == mesh_->rank) continue;
      auto& pair = mesh_->getPair(r);
      sent_[turn][r] = pair->createSendBuffer(turn, own_.get(), stride_);
      received_[turn][r] = pair->createRecvBuffer(turn, place(turn, r), stride_);
    }
  }
}

Eager::Terms Eager::exchange(uint64_t tag, const void* own, size_t bytes) {
  const int turn = turn_, ranks = mesh_->size, rank = mesh_->rank;
  turn_ = 1 - turn;
  const Head head{tag, bytes};
  std::memcpy(own_.get(), &head, sizeof head);
  if (bytes) std::memcpy(own_.get() + sizeof head, own, bytes);
  std::memcpy(own_.get() + sizeof head + bytes, &tag, sizeof(Tail));
  const size_t whole = sizeof head + bytes + sizeof(Tail);
  for (int k = 1; k < ranks; k++) sent_[turn][(rank + k) % ranks]->send(0, whole, 0);
  for (int k = 1; k < ranks; k++) receive(turn, (rank + k) % ranks, head);
  for (int k = 1; k < ranks; k++) sent_[turn][(rank + k) % ranks]->waitSend();
  return {place(turn, 0) + sizeof head, stride_, own_.get() + sizeof head};
}

bool Eager::is_there(int turn, int rank, const Head& expected) const {
  const uint8_t* at = place(turn, rank);
  Tail tail;
  std::memcpy(&tail, at + sizeof expected + expected.bytes, sizeof tail);
  return std::memcmp(at, &expected, sizeof expected) == 0 && tail == expected.tag;
}

void Eager::receive(int turn, int rank, const Head& expected) {
  try {
    received_[turn][rank]->waitRecv();
  } catch (const std::exception&) {
    // Who sent it may have left since, which Gloo says first. Nothing more is written here then.
    if (is_there(turn, rank, expected)) return;
    throw;
  }
  if (is_there(turn, rank, expected)) return;
  for (;;) received_[1 - turn][rank]->waitRecv();  // they never meet: until the deadline ends this
}

}  // namespace flambeau::gloo_adaptor
