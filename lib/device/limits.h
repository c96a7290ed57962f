// Sizes of per-device tables.
#pragma once
#include "base/device.h"

namespace flambeau {

inline constexpr int kMaxDevices = 16;  // of one type

// 0..15 for cuda, 16..31 for sim: an index into tables that have a row per device but the cpu.
inline int device_slot(Device d) { return (d.type == DeviceType::sim ? kMaxDevices : 0) + d.index; }

}  // namespace flambeau
