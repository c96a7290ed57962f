// See wording.h: a walk over the text that knows a call when it sees one, and two tables of what
// such calls and words are in C and in Rust. What is in neither table stays as it is.
#include "base/wording.h"

#include <cctype>
#include <span>

namespace flambeau {
namespace {

struct Phrase {
  std::string_view python, c, rust;
};

// Calls by their last name. `$x` is what the call is a method of, `$a` its arguments. What Rust
// reads is compiled in the crate's tests/suggested.rs.
constexpr Phrase kCalls[] = {
    {"to", "flam_to($x) with $a", "$x.$to($a)?"},
    {"double", "flam_to($x) with FLAM_F64", "$x.to_dtype(Dtype::F64)?"},
    {"no_grad", "flam_grad_mode_push(0)", "Scope::no_grad()"},
    {"autocast", "flam_autocast_push with enabled 0",
     "Scope::autocast_with(device_type, None, false, true)?"},
    {"clone", "flam_clone", "deep_clone()"},
    {"detach", "flam_detach", "detach()"},
    {"reshape", "flam_reshape", "reshape()"},
    {"flatten", "flam_flatten($x) from dimension $a",
     "$x.flatten_with(FlattenOptions::default().start_dim($a))?"},
    {"backward", "flam_backward", "backward()"},
    {"state_dict", "flam_module_state_dict($x)", "$x.state_dict()?"},
    {"resize_", "flam_resize_($x) to $a", "$x.resize_(&[$a])?"},
    {"Size", "$a", "$a"},
    {"squeeze", "flam_squeeze($x) of dimension $a", "$x.squeeze_with(Some(&[$a]))?"},
};

// Calls of methods of a certain object: these come first.
constexpr Phrase kMethods[] = {
    {"model.to", "flam_module_to(model) with $a", "model.to_device($a)?"},
    {"scaler.scale", "flam_grad_scaler_scale", "scaler.scale(&loss)?"},
    {"scaler.step", "flam_grad_scaler_step", "scaler.step(&optimizer)?"},
};

constexpr Phrase kWords[] = {
    {"backward(retain_graph=True)", "flam_backward with retain_graph 1",
     "backward_with(&[x], BackwardOptions::default().retain_graph(true))?"},
    {"=True", " = 1", " = true"},
    {"=False", " = 0", " = false"},
    {"=None", " = NULL", " = None"},
    {" is None", " is NULL", " is None"},
    {" be None", " be NULL", " be None"},
    {" got None", " got NULL", " got None"},
    {"not None", "not NULL", "not None"},
    {"was True", "was 1", "was true"},
};

constexpr Phrase kDtypes[] = {
    {"float32", "FLAM_F32", "Dtype::F32"}, {"float64", "FLAM_F64", "Dtype::F64"},
    {"float16", "FLAM_F16", "Dtype::F16"}, {"bfloat16", "FLAM_BF16", "Dtype::Bf16"},
    {"int64", "FLAM_I64", "Dtype::I64"},   {"int32", "FLAM_I32", "Dtype::I32"},
    {"int16", "FLAM_I16", "Dtype::I16"},   {"int8", "FLAM_I8", "Dtype::I8"},
    {"uint8", "FLAM_U8", "Dtype::U8"},     {"bool", "FLAM_BOOL", "Dtype::Bool"},
    {"dtype", "the dtype", "dtype"},
};

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

// A dtype or a device, as an argument of the language.
std::string argument(std::string_view python, Language language) {
  if (const Phrase* p = find(kDtypes, python)) return std::string(chosen(*p, language));
  const bool quoted = python.size() > 1 && python.front() == '"';
  if (!quoted) return std::string(python);
  const std::string text(python);
  return language == Language::rust ? "Device::parse(" + text + ")?"
                                    : "flam_device_parse(" + text + ")";
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
    } else if (rest.starts_with("$to")) {
      out += arguments.starts_with('"') ? "to_device" : "to_dtype";
      i += 2;
    } else {
      out += pattern[i];
    }
  }
  return out;
}

// `torch.linalg.solve` is `linalg.solve` outside of Python, `torch.save` what wrote a file.
std::string_view without_torch(std::string_view name) {
  constexpr std::string_view prefixes[] = {"torch.nn.functional.", "torch.utils.", "torch."};
  if (name == "torch.save") return name;
  for (std::string_view p : prefixes) {
    if (name.starts_with(p) && name.size() > p.size()) return name.substr(p.size());
  }
  return name;
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
    const std::string said = called ? call(text, name, end, &after, language) : std::string();
    out += said.empty() ? std::string(without_torch(name)) : said;
    i = said.empty() ? end : after;
  }
  return out;
}

std::string with_words(std::string_view text, Language language) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const Phrase* found = nullptr;
    for (const Phrase& p : kWords) {
      if (text.substr(i).starts_with(p.python)) {
        found = &p;
        break;
      }
    }
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
