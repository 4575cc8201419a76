// Makes the tables of perf/studies/stragglers.json, four-stragglers.json and half-stragglers.json.
//
// The fraction m of matmuls in a healthy step follows from the slowdown by a factor of 8 without
// countermeasures. A third of it belongs to attention, whose 16 heads cannot be split, the rest to MLP columns.
// With shares u of a width U, p ranks that take x times as long need max(x u) p / U of a healthy step's matmul
// time.
//     formula    1 - m + m p / sum(1/x)
//     best cut   1 - m + m (1/3 best heads + 2/3 p / sum(1/x))
#pragma once

#include <filesystem>
#include <string>

namespace trireme::perf {

// Returns step times relative to healthy ranks, from stragglers.csv and four-stragglers.csv in `folder`.
std::string stragglers_table(const std::filesystem::path& folder);

// Returns the same with at most half of the matmuls skipped, from half-stragglers.csv.
std::string half_stragglers_table(const std::filesystem::path& folder);

}  // namespace trireme::perf
