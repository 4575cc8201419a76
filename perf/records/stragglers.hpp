// Makes the tables of perf/studies/stragglers.json, four-stragglers.json and half-stragglers.json.
//
// m is the fraction of a healthy step that matmuls take. It follows from the step time with a rank whose
// matmuls take 8 times as long, without countermeasures. A third of m belongs to attention, whose 16 heads
// cannot be split, the rest to MLP columns. If p ranks have shares u of a width U, and their matmuls take x
// times as long, all matmuls take max(x u) p / U times as long as in a healthy step. Best heads is this value
// for whole heads.
//     formula    1 - m + m p / sum(1/x)
//     best cut   1 - m + m (1/3 best heads + 2/3 p / sum(1/x))
#pragma once

#include <filesystem>
#include <string>

namespace trireme::perf {

// Returns step times relative to healthy ranks, from stragglers.csv and four-stragglers.csv in `folder`.
std::string stragglers_table(const std::filesystem::path& folder);

// Returns such a table for runs in which no rank skips more than half of its matmuls, from half-stragglers.csv;
// the column `migrate` is from stragglers.csv.
std::string half_stragglers_table(const std::filesystem::path& folder);

}  // namespace trireme::perf
