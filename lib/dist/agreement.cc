// See agreement.h.
#include "dist/agreement.h"

#include <algorithm>
#include <cstring>

#include "dist/collectives.h"
#include "graph/mode.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

Tensor tensor_of_numbers(const std::vector<int64_t>& numbers, Device via) {
  Tensor t = empty(Dims{int64_t(numbers.size())}, Dtype::i64, kCpu);
  if (!numbers.empty()) std::memcpy(t.data(), numbers.data(), t.nbytes());
  return via.is_cpu() ? t : ops::to_device(t, via, false);
}

std::vector<int64_t> numbers_of(const Tensor& t) {
  const Tensor here = t.device().is_cpu() ? t : ops::to_device(t, kCpu, false);
  const auto* first = here.data_as<const int64_t>();
  return {first, first + here.numel()};
}

// The same number on every machine, another for another shape, dtype or whether it is trained:
// FNV-1a.
int64_t fingerprint(const Tensor& t, const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  add(uint64_t(t.dtype()));
  for (const int64_t n : t.sizes()) add(uint64_t(n) + 1);
  add(requires_grad(t));
  for (const char c : name) add(uint64_t(uint8_t(c)));
  return int64_t(hash);
}

// The first of `n` for which a rank has another number than rank 0; n: none.
size_t first_difference(const std::vector<int64_t>& by_rank, size_t each, size_t n) {
  for (size_t i = 0; i < n; ++i)
    for (size_t at = i; at < by_rank.size(); at += each)
      if (by_rank[at] != by_rank[i]) return i;
  return n;
}

// The first rank that has another value than `rank`; itself where none has.
template <class T>
size_t first_other(const std::vector<T>& by_rank, size_t rank) {
  const auto differs = [&](const T& value) { return value != by_rank[rank]; };
  const auto found = std::ranges::find_if(by_rank, differs);
  return found == by_rank.end() ? rank : size_t(found - by_rank.begin());
}

// "f32[2, 3] on rank 0; f32[2, 4] on ranks 1, 2"
std::string by_rank(const std::vector<std::string>& texts) {
  std::string all;
  for (size_t r = 0; r < texts.size(); ++r) {
    if (std::ranges::find(texts.begin(), texts.begin() + int64_t(r), texts[r]) !=
        texts.begin() + int64_t(r))
      continue;
    std::string ranks;
    size_t n = 0;
    for (size_t s = r; s < texts.size(); ++s) {
      if (texts[s] != texts[r]) continue;
      ranks += (n++ ? ", " : "") + std::to_string(s);
    }
    all += (all.empty() ? "" : "; ") + texts[r] + (n > 1 ? " on ranks " : " on rank ") + ranks;
  }
  return all;
}

// What each rank says, cut where it is long.
std::vector<std::string> gather_texts(Group& g, Device via, const std::string& mine) {
  constexpr size_t words = 16;
  std::vector<int64_t> packed(words, 0);
  std::memcpy(packed.data(), mine.data(), std::min(mine.size(), words * 8 - 1));
  const std::vector<int64_t> all = gather_numbers(g, via, packed);
  std::vector<std::string> texts;
  for (int r = 0; r < g.size(); ++r)
    texts.emplace_back(reinterpret_cast<const char*>(all.data() + size_t(r) * words));
  return texts;
}

}  // namespace

std::vector<int64_t> broadcast_numbers(Group& g, Device via, std::vector<int64_t> numbers,
                                       int root) {
  const Tensor t = tensor_of_numbers(numbers, via);
  broadcast(g, {&t, 1}, root, false);
  return numbers_of(t);
}

std::vector<int64_t> gather_numbers(Group& g, Device via, const std::vector<int64_t>& mine) {
  const Tensor in = tensor_of_numbers(mine, via);
  const Tensor out = empty(Dims{in.numel() * g.size()}, Dtype::i64, via);
  all_gather(g, {&out, 1}, in, false);
  return numbers_of(out);
}

void broadcast_all(Group& g, TensorsView tensors, int root) {
  const GradMode off(false);
  std::vector<std::vector<Tensor>> alike;
  for (const Tensor& t : tensors) {
    auto found = std::ranges::find_if(alike, [&](const auto& list) {
      return list[0].dtype() == t.dtype() && list[0].device() == t.device();
    });
    if (found == alike.end()) found = alike.insert(alike.end(), std::vector<Tensor>());
    found->push_back(t);
  }
  for (const auto& list : alike) broadcast(g, list, root, false);
}

void check_same_parameters(Group& g, TensorsView parameters,
                           const std::vector<std::string>& names) {
  if (g.size() == 1) return;
  const Device via = parameters[0].device();
  const std::vector<int64_t> counts = gather_numbers(g, via, {int64_t(parameters.size())});
  const size_t common = size_t(*std::ranges::min_element(counts));
  std::vector<int64_t> mine;
  for (size_t i = 0; i < common; ++i) mine.push_back(fingerprint(parameters[i], names[i]));
  size_t i = 0;
  if (common) i = first_difference(gather_numbers(g, via, mine), common, common);
  const bool same_count = std::ranges::all_of(counts, [&](int64_t n) { return n == counts[0]; });
  if (i == common && same_count) return;
  const std::string text =
      i < parameters.size()
          ? cat_text(short_name(parameters[i].dtype()), to_string(parameters[i].sizes()),
                     requires_grad(parameters[i]) ? "" : " (frozen)", " ", names[i])
          : "no such parameter";
  const std::vector<std::string> texts = gather_texts(g, via, text);
  const size_t own = size_t(g.rank());
  std::string problem = cat_text("[Rank ", own, "]: ");
  if (const size_t other = first_other(counts, own); !same_count)
    problem += cat_text("DDP expects same model across all ranks, but Rank ", other, " has ",
                        counts[other], " params, while rank ", own, " has inconsistent ",
                        counts[own], " params.");
  else if (const size_t named = first_other(texts, own); texts[named].ends_with(' ' + names[i]))
    problem +=
        cat_text("params[", i, "] in this process with sizes ", ShapeText{parameters[i].sizes()},
                 " appears not to match sizes of the same param in process ", named, ".");
  else
    problem += cat_text("params[", i, "] is ", names[i],
                        " in this process, and another parameter in process ", named, ".");
  throw Error(Code::invalid_argument, problem,
              cat_text("the first parameter that differs is params[", i, "]: ", by_rank(texts)),
              "build the same module on every rank before it is wrapped");
}

}  // namespace flambeau::dist
