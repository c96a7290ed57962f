// What accounts say: one figure by its name, all of them as JSON, and a table for people.
#include <cstdio>

#include "base/error.h"
#include "base/json.h"
#include "base/text_table.h"
#include "dist/account.h"

namespace flambeau::dist {
namespace {

constexpr std::pair<const char*, double (*)(const Figures&)> kFigures[] = {
    {"calls", [](const Figures& f) { return double(f.calls); }},
    {"bytes", [](const Figures& f) { return double(f.bytes); }},
    {"seconds", [](const Figures& f) { return f.seconds(); }},
    {"hidden_seconds", [](const Figures& f) { return f.hidden_seconds(); }},
    {"hidden_share", [](const Figures& f) { return f.hidden_share(); }},
    {"algorithm_bandwidth", [](const Figures& f) { return f.algorithm_bandwidth(); }},
    {"bus_bandwidth", [](const Figures& f) { return f.bus_bandwidth(); }},
};

constexpr bool of_gradients(size_t purpose) { return Purpose(purpose) == Purpose::gradients; }

// Of the calls that `wanted` takes, by kind and purpose.
template <class F> Figures sum(const Account::Rows& rows, F wanted) {
  Figures all;
  for (size_t k = 0; k < Account::kKinds; ++k)
    for (size_t p = 0; p < Account::kPurposes; ++p)
      if (wanted(k, p)) all.add(rows[k][p]);
  return all;
}

Figures chosen(const Account& account, std::string_view word, std::string_view key) {
  const Account::Rows rows = account.rows();
  if (word == "all") return sum(rows, [](size_t, size_t) { return true; });
  if (word == "ddp") return sum(rows, [](size_t, size_t p) { return of_gradients(p); });
  for (size_t k = 0; k < Account::kKinds; ++k)
    if (word == name_of(Kind(k))) return sum(rows, [k](size_t row, size_t) { return row == k; });
  fail(Code::invalid_argument, "a group has no figure \"", key, "\"; before the point stands a ",
       "collective such as all_reduce, or all, or ddp");
}

// A collective of a group, for one purpose.
struct Row {
  const probe::Channel* channel;
  Kind kind;
  bool gradients;
  Figures figures;
};

template <class F> void each_row(F f) {
  for (const auto& account : all_accounts()) {
    const Account::Rows rows = account->rows();
    for (size_t k = 0; k < Account::kKinds; ++k)
      for (size_t p = Account::kPurposes; p-- > 0;)
        if (rows[k][p].calls) f(Row{&account->channel(), Kind(k), of_gradients(p), rows[k][p]});
  }
}

std::string printed(const char* format, double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, format, value, unit);
  return text;
}

std::string scaled(double value, double step, std::initializer_list<const char*> units) {
  const char* const* unit = units.begin();
  for (; value >= step && unit + 1 != units.end(); ++unit) value /= step;
  return printed(value == double(int64_t(value)) && unit == units.begin() ? "%.0f %s" : "%.2f %s",
                 value, *unit);
}

std::string bytes_text(double bytes) {
  return scaled(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}
std::string time_text(double s) {
  return s >= 1 ? printed("%.2f %s", s, "s") : scaled(1e6 * s, 1000, {"us", "ms", "s"});
}
// As network links and nccl-tests count them, in powers of ten.
std::string bandwidth_text(double bytes_per_second) {
  return printed("%.2f %s", bytes_per_second / 1e9, "GB/s");
}
std::string share_text(double share) { return printed("%.1f %s", 100 * share, "%"); }

std::vector<std::string> cells(const Row& row) {
  const Figures& f = row.figures;
  const bool moves = f.bytes > 0;
  return {cat_text(name_of(row.kind), row.gradients ? " (DDP)" : ""),
          row.channel->group,
          cat_text(row.channel->ranks.size()),
          cat_text(f.calls),
          bytes_text(double(f.bytes)),
          time_text(f.seconds()),
          time_text(f.seconds() / double(f.calls)),
          moves ? bandwidth_text(f.algorithm_bandwidth()) : "",
          moves ? bandwidth_text(f.bus_bandwidth()) : "",
          time_text(f.hidden_seconds()),
          share_text(f.hidden_share())};
}

std::string sentence(const char* what, const Figures& f) {
  return cat_text(what, ": ", time_text(f.seconds()), ", of which backward hid ",
                  time_text(f.hidden_seconds()), " (", share_text(f.hidden_share()), ")\n");
}

}  // namespace

double figure(const Account& account, std::string_view key) {
  const size_t point = key.find('.');
  const std::string_view word = key.substr(0, point);
  const std::string_view name = point == key.npos ? "" : key.substr(point + 1);
  const Figures found = chosen(account, word, key);
  std::string known;
  for (const auto& [figure_name, value] : kFigures) {
    if (name == figure_name) return value(found);
    known += cat_text(known.empty() ? "" : ", ", figure_name);
  }
  fail(Code::invalid_argument, "a group has no figure \"", key, "\"; behind the point stands ",
       "one of ", known);
}

std::string accounts_json() {
  std::string out;
  each_row([&](const Row& row) {
    std::string ranks;
    for (const int32_t r : row.channel->ranks) ranks += cat_text(ranks.empty() ? "" : ",", r);
    out +=
        cat_text(out.empty() ? "" : ",\n", "{\"collective\":\"", name_of(row.kind),
                 "\",\"ddp\":", row.gradients ? "true" : "false",
                 ",\"group\":", json::quoted(row.channel->group),
                 ",\"backend\":", json::quoted(row.channel->backend), ",\"ranks\":[", ranks, "]");
    for (const auto& [name, value] : kFigures)
      out += cat_text(",\"", name, "\":", json::number(value(row.figures)));
    out += "}";
  });
  return "[" + out + "]";
}

std::string accounts_table() {
  std::vector<std::vector<std::string>> rows;
  Figures all, gradients;
  each_row([&](const Row& row) {
    rows.push_back(cells(row));
    all.add(row.figures);
    if (row.gradients) gradients.add(row.figures);
  });
  if (rows.empty()) return "no collective was counted; those of NCCL are not\n";
  std::string out = text_table({{"Collective", true},
                                {"Group", true},
                                {"Ranks"},
                                {"Calls"},
                                {"Bytes"},
                                {"Time"},
                                {"Average"},
                                {"Alg. bandwidth"},
                                {"Bus bandwidth"},
                                {"Hidden"},
                                {"Hidden %"}},
                               std::move(rows));
  out += sentence("Communication", all);
  if (gradients.calls) out += sentence("DistributedDataParallel's gradients", gradients);
  return out;
}

}  // namespace flambeau::dist
