// Statistics as text: the flat keys of torch.cuda.memory_stats and the table of
// torch.cuda.memory_summary.
#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "device/stats.h"

namespace flambeau {
namespace {

struct NamedStat {
  const char* key;
  PoolStat MemoryStats::* stat;
};
constexpr NamedStat kNamed[] = {
    {"active", &MemoryStats::active},
    {"active_bytes", &MemoryStats::active_bytes},
    {"allocated_bytes", &MemoryStats::allocated_bytes},
    {"allocation", &MemoryStats::allocation},
    {"inactive_split", &MemoryStats::inactive_split},
    {"inactive_split_bytes", &MemoryStats::inactive_split_bytes},
    {"requested_bytes", &MemoryStats::requested_bytes},
    {"reserved_bytes", &MemoryStats::reserved_bytes},
    {"segment", &MemoryStats::segment},
};
constexpr const char* kPoolNames[kPoolKinds] = {"all", "small_pool", "large_pool"};

void append(FlatStats& out, const std::string& key, const Stat& s) {
  out.emplace_back(key + ".allocated", s.allocated);
  out.emplace_back(key + ".current", s.current);
  out.emplace_back(key + ".freed", s.freed);
  out.emplace_back(key + ".peak", s.peak);
}

// The unit follows `scale_by`, the value for all pools, so that a column of a section reads in one
// unit.
std::string in_unit(int64_t value, int64_t scale_by, int64_t step, int64_t limit,
                    const char* const* units, int width) {
  while (scale_by >= limit && units[1]) {
    value /= step;
    scale_by /= step;
    ++units;
  }
  char text[40];
  std::snprintf(text, sizeof text, "%*lld %s", width, static_cast<long long>(value), *units);
  return text;
}

std::string size_cell(int64_t value, int64_t scale_by) {
  static const char* const units[] = {"B  ", "KiB", "MiB", "GiB", "TiB", nullptr};
  return in_unit(value, scale_by, 1024, 768 * 1024, units, 6);
}

std::string count_cell(int64_t value, int64_t scale_by) {
  static const char* const units[] = {"  ", "K ", "M ", nullptr};
  return in_unit(value, scale_by, 1000, 750 * 1000, units, 7);
}

using Cell = std::string (*)(int64_t value, int64_t scale_by);

struct Section {
  const char* title;
  PoolStat MemoryStats::* stat;
  Cell cell;
  const char* on_cpu = nullptr;  // another title there
};
constexpr Section kSections[] = {
    {"Allocated memory", &MemoryStats::allocated_bytes, size_cell},
    {"Active memory", &MemoryStats::active_bytes, size_cell},
    {"Requested memory", &MemoryStats::requested_bytes, size_cell},
    {"GPU reserved memory", &MemoryStats::reserved_bytes, size_cell, "Reserved memory"},
    {"Non-releasable memory", &MemoryStats::inactive_split_bytes, size_cell},
    {"Allocations", &MemoryStats::allocation, count_cell},
    {"Active allocs", &MemoryStats::active, count_cell},
    {"GPU reserved segments", &MemoryStats::segment, count_cell, "Reserved segments"},
    {"Non-releasable allocs", &MemoryStats::inactive_split, count_cell},
};

constexpr int kWidth = 75;

std::string centred(const std::string& text, int width) {
  const int rest = std::max(0, width - int(text.size()));
  return std::string(size_t(rest / 2), ' ') + text + std::string(size_t(rest - rest / 2), ' ');
}

std::string rule(char c) { return "|" + std::string(kWidth, c) + "|\n"; }

std::string row(const char* title, const Stat& s, const Stat& all, Cell cell) {
  char head[40];
  std::snprintf(head, sizeof head, "| %-21s ", title);
  std::string line = head;
  for (int64_t Stat::* column : {&Stat::current, &Stat::peak, &Stat::allocated, &Stat::freed})
    line += "| " + cell(s.*column, all.*column) + " ";
  return line + "|\n";
}

}  // namespace

FlatStats memory_stats_flat(Device d) { return flatten(memory_stats(d)); }

FlatStats flatten(const MemoryStats& m) {
  FlatStats out;
  for (const NamedStat& n : kNamed)
    for (int pool = 0; pool < kPoolKinds; ++pool)
      append(out, cat_text(n.key, '.', kPoolNames[pool]), (m.*n.stat).of[pool]);
  append(out, "oversize_allocations", m.oversize_allocations);
  append(out, "oversize_segments", m.oversize_segments);
  out.emplace_back("max_split_size", m.max_split_size);
  out.emplace_back("num_alloc_retries", m.num_alloc_retries);
  out.emplace_back("num_device_alloc", m.num_device_alloc);
  out.emplace_back("num_device_free", m.num_device_free);
  out.emplace_back("num_ooms", m.num_ooms);
  out.emplace_back("num_sync_all_streams", m.num_sync_all_streams);
  std::sort(out.begin(), out.end());
  return out;
}

std::string memory_summary(Device d, bool abbreviated) {
  const MemoryStats m = memory_stats(d);
  const std::string ooms = cat_text("OOMs: ", m.num_ooms),
                    retries = cat_text("device malloc retries: ", m.num_alloc_retries);
  std::string out = rule('=');
  out += "|" + centred(cat_text("flambeau memory summary, device ", to_string(d)), kWidth) + "|\n" +
         rule('-');
  out += "|" + centred(ooms, 36) + "|" + centred(retries, 38) + "|\n" + rule('=');
  out += "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n";
  for (const Section& s : kSections) {
    const Stat* of = (m.*s.stat).of;
    const char* const title = d.is_cpu() && s.on_cpu ? s.on_cpu : s.title;
    out += rule('-') + row(title, of[kAllPools], of[kAllPools], s.cell);
    if (abbreviated) continue;
    out += row("      from large pool", of[kLargePool], of[kAllPools], s.cell);
    out += row("      from small pool", of[kSmallPool], of[kAllPools], s.cell);
  }
  out += rule('-') +
         row("Oversize allocations", m.oversize_allocations, m.oversize_allocations, count_cell);
  out += rule('-') + row(d.is_cpu() ? "Oversize segments" : "Oversize GPU segments",
                         m.oversize_segments, m.oversize_segments, count_cell);
  return out + rule('=');
}

}  // namespace flambeau
