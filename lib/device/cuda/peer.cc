// Asked and told once for each pair. A refusal is no error: copies take the other way.
#include "device/cuda/peer.h"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>

#include "device/cuda/status.h"
#include "device/limits.h"

namespace flambeau::cuda {
namespace {

std::array<std::array<std::atomic<bool>, kMaxDevices>, kMaxDevices> g_asked{};

}  // namespace

void open_way(int device, int peer) {
  if (g_asked[size_t(device)][size_t(peer)].exchange(true)) return;
  const RelaxedCapture relaxed;
  int can = 0;
  ignore(cudaDeviceCanAccessPeer(&can, device, peer));
  if (can) ignore(cudaDeviceEnablePeerAccess(peer, 0));
}

}  // namespace flambeau::cuda
