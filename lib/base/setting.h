// Environment variables whose value is a word, or several that commas separate, or a number: what
// each accepts stands in one table, for whoever reads one, for the warning and for `doctor`. A word
// is taken whole, and one that is not accepted never goes unsaid.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace flambeau {

// Whether the variable has the word; one whose value is not understood has none.
bool setting_has(std::string_view name, std::string_view word);

// How many threads FLAMBEAU_NUM_THREADS says; 0 where it says nothing that is understood.
int setting_threads();

// `NAME has "x"; accepted are ...` of that variable, or of all; none where the value is understood.
std::vector<std::string> setting_problems(std::string_view name = {});

}  // namespace flambeau
