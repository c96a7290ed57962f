// See wording.h: a walk over the text that knows a call when it sees one, and two tables of what
// such calls and words are in C and in Rust. What is in neither table stays as it is.
#include "base/wording.h"

#include <algorithm>
#include <cctype>
#include <span>

namespace flambeau {
namespace {

struct Phrase {
  std::string_view python, c, rust;
};

// What is said in other words as it stands.
constexpr Phrase kSentences[] = {
    {"use none, mean or sum", "use FLAM_REDUCTION_NONE, FLAM_REDUCTION_MEAN or FLAM_REDUCTION_SUM",
     "use Reduction::None, Reduction::Mean or Reduction::Sum"},
    {"must be either sum, prod, mean, amax or amin",
     "must be FLAM_SCATTER_SUM, FLAM_SCATTER_PROD, FLAM_SCATTER_MEAN, FLAM_SCATTER_AMAX or "
     "FLAM_SCATTER_AMIN",
     "must be either Sum, Prod, Mean, Amax or Amin"},
    {"one of prod, mean, amax or amin",
     "one of FLAM_SCATTER_PROD, FLAM_SCATTER_MEAN, FLAM_SCATTER_AMAX or FLAM_SCATTER_AMIN",
     "one of Prod, Mean, Amax or Amin"},
    {"supported for mode='sum'", "supported for mode FLAM_BAG_SUM", "supported for mode Sum"},
    {"`None`", "`NULL`", "`None`"},
    {"set_static_graph()", "flam_ddp_set_static_graph()", "set_static_graph()"},
    {"torch.cuda.set_device(local_rank)",
     "flam_device_set_current(flam_device_make(FLAM_CUDA, local_rank))",
     "Device::cuda(local_rank).set_current()?"},
    {"tuple of Ints", "list of numbers", "slice of numbers"},
    {"mean(x, dtype=float32)",
     "flam_reduce_options options = FLAM_REDUCE_OPTIONS_INIT; options.dtype = FLAM_F32; "
     "flam_mean(x, &options)",
     "x.mean_with(ReduceOptions::default().dtype(Dtype::F32))?"},
    {"x != 0", "flam_ne(x, flam_scalar_i64(0))", "x.ne(0)?"},
    {"len(dims)", "n_dims", "dims.len()"},
};

// Calls by their last name. `$x` is what the call is a method of, `$a` its arguments, `$p` a dtype
// and a device of which one is meant. What C reads is compiled by tests/headers/test_suggested.py,
// what Rust reads in the crate's tests/suggested.rs.
constexpr Phrase kCalls[] = {
    {"to", "flam_to($x, $p, NULL)", "$x.$to($a)?"},
    {"double", "flam_to($x, FLAM_F64, FLAM_DEVICE_NONE, NULL)", "$x.to_dtype(Dtype::F64)?"},
    {"no_grad", "flam_grad_mode_push(FLAM_FALSE)", "Scope::no_grad()"},
    {"autocast",
     "flam_autocast_push_options options = FLAM_AUTOCAST_PUSH_OPTIONS_INIT; options.enabled = "
     "FLAM_FALSE; flam_autocast_push(device_type, &scope, &options)",
     "Scope::autocast_with(device_type, None, false, true)?"},
    {"clone", "flam_clone($x)", "deep_clone()"},
    {"detach", "flam_detach($x)", "detach()"},
    {"reshape", "flam_reshape($x, shape, n_shape)", "reshape()"},
    {"contiguous", "flam_contiguous($x)", "contiguous()"},
    {"flatten",
     "flam_flatten_options options = FLAM_FLATTEN_OPTIONS_INIT; options.start_dim = $a; "
     "flam_flatten($x, &options)",
     "$x.flatten_with(FlattenOptions::default().start_dim($a))?"},
    {"backward", "flam_backward(loss)", "backward()"},
    {"state_dict", "flam_module_state_dict($x)", "$x.state_dict()?"},
    {"resize_", "flam_resize_($x, (const int64_t[]){$a}, 1)", "$x.resize_(&[$a])?"},
    {"Size", "$a", "$a"},
    {"squeeze", "flam_squeeze($x, (const int64_t[]){$a}, 1)", "$x.squeeze_with(Some(&[$a]))?"},
};

// Calls of methods of a certain object: these come first.
constexpr Phrase kMethods[] = {
    {"model.to", "flam_module_to(model, $p, NULL)", "model.to_device($a)?"},
    {"scaler.scale", "flam_grad_scaler_scale(scaler, loss)", "scaler.scale(&loss)?"},
    {"scaler.step", "flam_grad_scaler_step(scaler, optimizer)", "scaler.step(&optimizer)?"},
};

constexpr Phrase kWords[] = {
    {"backward(retain_graph=True)",
     "flam_autograd_backward_options options = FLAM_AUTOGRAD_BACKWARD_OPTIONS_INIT; "
     "options.retain_graph = FLAM_TRUE; flam_autograd_backward(&loss, 1, &options)",
     "backward_with(&[x], BackwardOptions::default().retain_graph(true))?"},
    {"=True", " = FLAM_TRUE", " = true"},
    {"=False", " = FLAM_FALSE", " = false"},
    {"=None", " = NULL", " = None"},
    {" is None", " is NULL", " is None"},
    {" be None", " be NULL", " be None"},
    {" got None", " got NULL", " got None"},
    {"not None", "not NULL", "not None"},
    {"was True", "was true", "was true"},
    {"is True", "is true", "is true"},
    {"is False", "is false", "is false"},
};

constexpr Phrase kDtypes[] = {
    {"float32", "FLAM_F32", "Dtype::F32"},
    {"float64", "FLAM_F64", "Dtype::F64"},
    {"float16", "FLAM_F16", "Dtype::F16"},
    {"bfloat16", "FLAM_BF16", "Dtype::Bf16"},
    {"int64", "FLAM_I64", "Dtype::I64"},
    {"int32", "FLAM_I32", "Dtype::I32"},
    {"int16", "FLAM_I16", "Dtype::I16"},
    {"int8", "FLAM_I8", "Dtype::I8"},
    {"uint8", "FLAM_U8", "Dtype::U8"},
    {"bool", "FLAM_BOOL", "Dtype::Bool"},
    {"complex64", "FLAM_C64", "Dtype::C64"},
    {"complex128", "FLAM_C128", "Dtype::C128"},
    {"dtype", "dtype", "dtype"},
};

// What is written like a function of C and is none: attributes, methods of an object that a text
// does not name, and operations that others are made of.
constexpr std::string_view kNoFunctions =
    " dim size stride storage_offset numel len step update unscale_ grid_sampler constant_pad_nd "
    "conv_transpose conv_weight_gradient convolution zero copy index_put cauchy exponential "
    "geometric log_normal random uniform standard_gamma_grad log_standard_gamma "
    "log_standard_gamma_grad avg_pool_backward max_pool_backward ctc_loss_backward checkpoint "
    "linalg.vector_norm nn.functional. distributed forward ";

std::string_view chosen(const Phrase& p, Language language) {
  return language == Language::rust ? p.rust : p.c;
}

const Phrase* find(std::span<const Phrase> table, std::string_view word) {
  for (const Phrase& p : table) {
    if (p.python == word) return &p;
  }
  return nullptr;
}

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// `"cuda:1"` as C makes it: a value, so that it stands in a call.
std::string device_of_c(std::string_view quoted) {
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  const size_t colon = text.find(':');
  std::string out = "flam_device_make(FLAM_";
  for (char c : text.substr(0, colon)) out += char(std::toupper(static_cast<unsigned char>(c)));
  return out + ", " + std::string(colon == text.npos ? "-1" : text.substr(colon + 1)) + ")";
}

// As functions of the library are spelled.
bool is_lower(char c) { return is_name(c) && !std::isupper(static_cast<unsigned char>(c)); }

// A dtype or a device, as an argument of the language.
std::string argument(std::string_view python, Language language) {
  if (const Phrase* p = find(kDtypes, python)) return std::string(chosen(*p, language));
  const bool quoted = python.size() > 1 && python.front() == '"';
  if (!quoted) return std::string(python);
  return language == Language::rust ? "Device::parse(" + std::string(python) + ")?"
                                    : device_of_c(python);
}

// The dtype and the device of a call in C that takes both.
std::string place_of_c(std::string_view python) {
  const std::string given = argument(python, Language::c);
  return python.starts_with('"') ? "FLAM_DTYPE_NONE, " + given : given + ", FLAM_DEVICE_NONE";
}

std::string filled(std::string_view pattern, std::string_view object, std::string_view arguments,
                   Language language) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    if (rest.starts_with("$x")) {
      out += object.empty() ? "x" : object;
      ++i;
    } else if (rest.starts_with("$a")) {
      out += argument(arguments, language);
      ++i;
    } else if (rest.starts_with("$p")) {
      out += place_of_c(arguments);
      ++i;
    } else if (rest.starts_with("$to")) {
      out += arguments.starts_with('"') ? "to_device" : "to_dtype";
      i += 2;
    } else {
      out += pattern[i];
    }
  }
  return out;
}

// `linalg.solve` or `add` as C's function.
std::string function_of_c(std::string_view name) {
  std::string out = "flam_";
  for (char c : name) out += c == '.' ? '_' : c;
  return out;
}

// `torch.linalg.solve` is `linalg.solve` in Rust and `flam_linalg_solve` in C, `torch.save` what
// wrote a file. Without `torch.` a name is a function of C where it is called.
std::string own_name(std::string_view name, bool called, Language language) {
  if (name == "torch.save") return std::string(name);
  const bool in_c = language == Language::c;
  if (in_c && name == "autograd.grad") return "flam_grad";
  if (in_c && name == "multi_dot") return "flam_linalg_multi_dot";
  std::string_view bare = name;
  for (std::string_view p : {"torch.nn.functional.", "torch.utils.", "torch."}) {
    if (!name.starts_with(p) || name.size() == p.size()) continue;
    bare = name.substr(p.size());
    break;
  }
  const bool qualified = bare.size() < name.size() || bare.starts_with("linalg.");
  const bool named = qualified || (called && bare.find('.') == bare.npos);
  const bool ours =
      bare.front() != '_' && !bare.starts_with("flam_") && std::ranges::all_of(bare, is_lower) &&
      kNoFunctions.find(" " + std::string(bare) + " ") == kNoFunctions.npos && !find(kDtypes, bare);
  return in_c && named && ours ? function_of_c(bare) : std::string(bare);
}

// Whether a call is written down there, "add(input: f32[2] on cpu)", or a function named, "add()".
bool is_written_call(std::string_view text, size_t open) {
  if (text.substr(open).starts_with("()")) return true;
  size_t end = open + 1;
  while (end < text.size() && is_name(text[end])) ++end;
  return end > open + 1 && text.substr(end).starts_with(": ");
}

// The call of `name` whose "(" stands at `open`; empty where it is none that a table knows.
std::string call(std::string_view text, std::string_view name, size_t open, size_t* end,
                 Language language) {
  const size_t close = text.find(')', open);
  const size_t dot = name.rfind('.');
  const std::string_view last = dot == name.npos ? name : name.substr(dot + 1);
  const std::string_view object = dot == name.npos ? std::string_view() : name.substr(0, dot);
  const Phrase* p = find(kMethods, name);
  if (!p) p = find(kCalls, last);
  if (!p || close == text.npos) return {};
  *end = close + 1;
  return filled(chosen(*p, language), object, text.substr(open + 1, close - open - 1), language);
}

std::string with_calls(std::string_view text, Language language) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_name(text[end])) ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    const std::string_view name = text.substr(i, end - i);
    size_t after = end;
    const bool called = end < text.size() && text[end] == '(';
    const bool written = called && is_written_call(text, end);
    const bool fact = written && text[end + 1] != ')';
    const std::string said = called && !fact ? call(text, name, end, &after, language) : "";
    out += said.empty() ? own_name(name, written, language) : said;
    i = said.empty() ? end : after;
  }
  return out;
}

const Phrase* starting(std::span<const Phrase> table, std::string_view text) {
  for (const Phrase& p : table) {
    if (text.starts_with(p.python)) return &p;
  }
  return nullptr;
}

std::string with_words(std::string_view text, Language language) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const Phrase* found = starting(kSentences, text.substr(i));
    if (!found) found = starting(kWords, text.substr(i));
    if (found) {
      out += chosen(*found, language);
      i += found->python.size();
    } else {
      out += text[i++];
    }
  }
  return out;
}

}  // namespace

std::string worded(std::string_view text, Language language) {
  if (language == Language::python) return std::string(text);
  return with_calls(with_words(text, language), language);
}

}  // namespace flambeau
