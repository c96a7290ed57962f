// Error texts in the caller's language. They are written once, in PyTorch's words; what is Python
// in them (calls that mend something, True and None, `torch.`) is translated for whoever reads the
// record. So no text exists three times, and a text that Python users search for stays as it is.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace flambeau {

enum class Language : int32_t { c, python, rust };  // values are the ABI's FLAM_LANGUAGE_*

std::string worded(std::string_view text, Language language);

}  // namespace flambeau
