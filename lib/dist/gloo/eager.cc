// See eager.h.
#include "dist/gloo/eager.h"

#include <gloo/transport/pair.h>

#include <cstring>
#include <utility>

namespace flambeau::gloo_adaptor {

Eager::Eager(std::shared_ptr<Mesh> mesh, size_t most)
    : mesh_(std::move(mesh)),
      most_(most),
      stride_((sizeof(Head) + most + 63) / 64 * 64),
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
  for (int k = 1; k < ranks; k++) sent_[turn][(rank + k) % ranks]->send(0, sizeof head + bytes, 0);
  for (int k = 1; k < ranks; k++) receive(turn, (rank + k) % ranks, head);
  for (int k = 1; k < ranks; k++) sent_[turn][(rank + k) % ranks]->waitSend();
  return {place(turn, 0) + sizeof head, stride_, own_.get() + sizeof head};
}

void Eager::receive(int turn, int rank, const Head& expected) {
  received_[turn][rank]->waitRecv();
  Head came;
  std::memcpy(&came, place(turn, rank), sizeof came);
  if (came.tag == expected.tag && came.bytes == expected.bytes) return;
  for (;;) received_[1 - turn][rank]->waitRecv();  // they never meet: until the deadline ends this
}

}  // namespace flambeau::gloo_adaptor
